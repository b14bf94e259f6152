/* tell.h - an execution, told to the story as the events of an operation. */
#ifndef PICKLOCK_WATCH_TELL_H
#define PICKLOCK_WATCH_TELL_H

#include "watch/internal.h"

/* One execution, and the words for it. */
struct telling {
    struct watched_run *watching;
    const struct seen_execution *seen;
    struct watched_key *key;
    struct opaque opaque;
    struct effects effects;
    struct reply reply;
};

/* On which question they hang. */
struct condition {
    struct question *question;
    enum when when;
};

static const struct condition always = {.when = ALWAYS};

static const struct key_look no_such_key = {.expires_us = INT64_MAX, .left_us = INT64_MAX};

/* Of a grant that is told at now_us: how much of its own lease is left then, below 0: nothing, and
 * it was over so long before; never 0. */
int64_t tell_left_us(int64_t own_end_us, int64_t now_us);

/* What differs between the two looks. */
enum did tell_did(const struct telling *it, enum effect by_operation);
/* That is what it did to the key, in what is told from here on. */
void tell_effects(struct telling *it, enum did did, enum operation op);

/* --- answers.c --- */

/* Does the answer refuse? With GET a SET says what was there, and nothing where it has set the key.
 */
bool tell_is_refusal(const struct telling *it);
/* Does it make the key only where there is none, for all that its name says? */
bool tell_is_grant_like(const struct telling *it);
/* Is what it made a lock, for all that is seen? A hash of more than one field, a set: something
 * that several have at a time. Of several watched keys, what has no word of the command for its
 * value is beside a lock: a counter, a queue. */
bool tell_is_lock(const struct telling *it);
/* What looks as if the key had been taken away or overwritten while it lived, and it may have gone
 * by itself: then it had, unless its owner released it. */
bool tell_has_ended(const struct telling *it, enum did did);
/* It was granted, and gone before it could be looked at. */
bool tell_is_too_short(const struct telling *it, enum did did);
/* The same of a script or a transaction, whose answer does not tell: may it have been? asks: it is
 * known to ask for locks. */
bool tell_may_be_too_short(const struct telling *it, bool asks);
/* What such a command, so answered, never does: SET NX overwrites nothing, PEXPIRE neither, and a
 * release that says 0 deletes nothing. Somebody else did it, between the two looks. */
bool tell_is_not_its(const struct telling *it, enum did did);
/* How long the key is to live, where the answer says that the command has set that; 0: it does not.
 */
int64_t tell_gave_us(const struct telling *it);
/* Such a command: is that how the key ends behind it? */
bool tell_ends_as_said(const struct telling *it);
/* Do its words and its answer prove that the command did it, whoever else was there? It says so,
 * or what stands there then are its own words. */
bool tell_is_proved(const struct telling *it, enum did did);
/* A script of which all calls that change anything delete, and which says yes. */
bool tell_only_deletes(const struct telling *it);
/* Can it give a key that is there a time to live, whatever it was answered? */
bool tell_may_expire(const struct telling *it);
/* A script that can delete the key, and not lengthen its lease: no renewal. */
bool tell_is_release(const struct telling *it);
/* Is SET NX, SETNX or a script that is known answered otherwise than the key shows, or than it ever
 * is? Then who answers is not who was looked at (a proxy, or a replica, is between). */
bool tell_is_contradicted(const struct telling *it, enum did did);

/* --- beside.c --- */

/* What somebody else did to a lock, or may have done: nobody is blamed for it, and the history is
 * not whole. Changed beside, or in doubt: it is as if it had been so before the first look, which
 * is returned. */

/* A lock that nobody was seen to take away: its time was over, or somebody did it unseen. */
void tell_found_gone(struct telling *it);
/* It was answered that it has set when the lock ends, and that is not what is found: somebody else
 * has changed the lock behind it, and before it was looked at. Then said (written) is how it left
 * the lock. */
bool tell_changed_behind(struct telling *it, enum did did, struct key_look *said);
/* Something else has changed the key while the command was on its way. */
const struct key_look *tell_changed_beside(struct telling *it, enum did did);
/* Would somebody be blamed for what somebody else may have done? NULL: no. Else why nobody can
 * tell. */
const char *tell_doubt(struct telling *it, enum did did);
const struct key_look *tell_doubted(struct telling *it, enum did did, const char *why);

/* As it was left, or left by whoever was there. */
void tell_leave_key(const struct telling *it);

/* --- doubts.c --- */

/* What would hold is unknown, for that reason. Takes words. */
void doubt_say(struct watched_run *watching, char *words);
/* Whose a command is that names no token; the caller frees. did: "released". */
char *doubt_author(const struct telling *it, const struct author *author, const char *did);
/* One token comes from two processes, the holder's and that of the command: they are not proved to
 * be one client. Nothing, where it is not so. */
enum twofold { TWOFOLD_GRANTED, TWOFOLD_ASKS, TWOFOLD_NAMES };
void doubt_twofold(struct telling *it, int holder, enum twofold what);
/* The holder goes on behind a DEL of its lock that named no token, and is answered as if that had
 * been its own: so does a watchdog that looks once more, and who releases twice. */
void doubt_delete(struct telling *it, struct holder *holder);
/* Who sets key and expiry in two commands sends the second one, and a DEL without a token came
 * between: that it was its own, of a lock without expiry, is not proved. */
void doubt_late_expiry(struct telling *it, enum did did);
/* Somebody uses the value that a lock had before it was given another one: perhaps that was not its
 * owner's doing. */
void doubt_rewrite(struct telling *it);

/* --- tell.c --- */

void tell_event(struct telling *it, int holder, enum event_kind kind, enum operation op,
                enum result result, struct condition on);
/* An operation of one command, from its call to its return. */
void tell_operation(struct telling *it, int holder, enum operation op, enum result result,
                    struct condition on);
/* By somebody nobody knows. */
void tell_unknown(struct telling *it, enum operation op, struct condition on);

#endif
