/* ledger_parts.h - what the files of the ledger share: ledger.c, ledger_client.c, ledger_grant.c,
 * ledger_key.c, ledger_lease.c, ledger_wait.c, ledger_doubt.c, ledger_fault.c, ledger_again.c,
 * ledger_left.c, ledger_order.c, ledger_stranger.c.
 * Nobody else includes it. */
#ifndef PICKLOCK_CHECKS_LEDGER_PARTS_H
#define PICKLOCK_CHECKS_LEDGER_PARTS_H

#include "checks/ledger.h"

enum explained {
    EXPLAINED, /* the book agrees with the reply */
    UNEXPLAINED,
    UNEXPLAINED_HARMLESS, /* and the command changed nothing */
    UNEXPLAINED_LOSS,     /* nor did that one, but it tells its client that its own key is gone */
};
/* An EXECUTE that is about the lock key, and what it did to it. */
struct execution {
    const struct event *event;
    struct key_effect effect;
};
enum explained ledger_explains(struct ledger *ledger, const struct execution *execution);
/* Takes it as it is: the reply is right, the book is made to agree. */
void ledger_apply(struct ledger *ledger, const struct execution *execution);
/* Takes from it what the client has seen. */
void ledger_look(struct ledger *ledger, const struct execution *execution);
void ledger_execute(struct ledger *ledger, const struct execution *execution);
/* Was it the client's last command that was repeated, in that attempt? */
bool ledger_is_repeated(const struct ledger_client *client, const struct event *event);
/* An operation has returned: what its client has at the servers, and believes not to have. */
void ledger_leave(struct ledger *ledger, const struct event *event);
/* Its request has left, of whatever operation but an extend. */
void ledger_note_asked(struct ledger_client *client, const struct event *event);
/* What left for that server, or was heard from it, while a grant of its attempt stands there. */
void ledger_note_sent(struct ledger *ledger, const struct event *event);
void ledger_note_heard(struct ledger *ledger, const struct event *event);
/* What it says of whether its client has the lock. */
void ledger_note_none(struct ledger_client *client, const struct event *event);
/* The client's next call begins: what it was not answered until now may be answered behind it. */
void ledger_note_unanswered(struct ledger_client *client, const struct event *event);
void ledger_release_called(struct ledger_client *client, const struct event *event);
/* A grant has begun: has it come too late for its attempt? */
struct left ledger_came_late(const struct ledger *ledger, const struct grant *grant, int lock);
/* An acquire has returned: a tentative grant stands or falls. */
void ledger_judge_swap(struct ledger *ledger, const struct event *event);
/* The same: what an attempt before had is this one's since it gave it a lease anew; or was entered
 * once more. */
void ledger_judge_again(struct ledger *ledger, const struct event *event);

/* --- ledger_lease.c --- */

/* A client is told that it has the lock: when its own lease ends, and whether it has by then. */
void ledger_note_lease(const struct ledger *ledger, const struct event *event);
/* A key ends: so does what an acquire that is not answered yet has made of it. */
void ledger_end_again(struct ledger *ledger, int lock, int server);
void ledger_fault(struct ledger *ledger, const struct event *event);
/* A fault has struck that client. Who was cancelled may tidy up behind its answer: what befalls it
 * meanwhile may be why it did not. */
void ledger_strike(struct ledger *ledger, int number);
/* Did that fault strike nobody? Who is cancelled leaves what it waits for by itself, at once. */
bool ledger_is_own_doing(const struct ledger_client *client, const struct event *event);
void ledger_tell(struct ledger *ledger, enum fact_kind kind, const struct event *event, int lock,
                 int server, int client, const struct grant *grant);
/* The key is gone for a reason that time or the history must give. */
void ledger_gone(struct ledger *ledger, const struct event *event, int lock, int server,
                 int64_t time_us);
void ledger_end(struct ledger *ledger, const struct event *event, int lock, int server,
                enum ending ending, int64_t time_us);

/* A client that has not asked for anything yet; its lists are its own. */
void ledger_client_init(struct ledger_client *client, int servers);
void ledger_client_close(struct ledger_client *client);
/* The record of that attempt of a client at that lock; NULL: it has none, or none any more. */
struct ledger_client *ledger_record(struct ledger *ledger, int client, int attempt, int lock);
/* It asks again for what it holds: a record beside that one is in its place from here on. */
void ledger_ask_again(struct ledger *ledger, int client);
/* Its record of that attempt, if there is one, comes into its place. */
void ledger_turn_to(struct ledger *ledger, int client, int attempt);
/* --- ledger_order.c --- */

/* A call, before the book takes it. Of a client one attempt is kept, and of a holder one beside it:
 * what is said of another one at the same time would be lost. */
void ledger_note_order(struct ledger *ledger, const struct event *event);
/* An access returns that was not called. */
bool ledger_lacks_access(const struct ledger *ledger, const struct event *event);
/* A release's command is executed, or one by which a foreign client was asked to extend, and nobody
 * called that in its attempt, nor in a later one. What is renewed in the background nobody calls;
 * nor does a history that is inferred from the wire make an operation of all that it tells. */
bool ledger_lacks_call(const struct ledger *ledger, const struct event *event);
/* What nobody saw begin is a part of a history that is not whole. */
void ledger_note_missing(struct ledger *ledger, const struct event *event, const char *what);

/* What it holds is another attempt's from here on, if it asked again; it believes in one. */
void ledger_forget_former(struct ledger *ledger, int client);

static inline bool grant_is_of(const struct grant *grant, int client, int attempt)
{
    return grant->index != NO_INDEX && grant->client == client && grant->attempt == attempt;
}

/* --- one execution: ledger_key.c, ledger_grant.c --- */

/* What one EXECUTE is about. */
struct context {
    struct ledger *ledger;
    const struct event *event;
    struct ledger_lock *lock;
    struct ledger_key *key;
    struct key_effect effect;
    bool is_strangers; /* ledger_is_strangers(), before it was executed */
};

/* Is it of the event's attempt? */
static inline bool grant_is_own(const struct grant *grant, const struct event *event)
{
    return grant->client == event->client && grant->attempt == event->attempt;
}

/* Its holder, asked to extend, put another value over its own key: the lock was there all along. */
static inline bool context_renews(const struct context *context)
{
    return context->event->op == OP_EXTEND && context->effect.before == BEFORE_PRESENT &&
           context->key->is_present && grant_is_own(&context->key->grant, context->event);
}

/* Its value stands in the key from here on. */
void ledger_grant_begin(struct context *context, bool is_tentative);

/* What comes behind the answer is not what its client holds by, nor what it says that it has not:
 * that had ended in its own way. */
bool grant_is_beside_the_point(const struct ledger_client *client, const struct grant *grant,
                               int server);
/* The execution ends whatever grant there is. */
void ledger_end_by(struct context *context, enum ending ending);
/* The execution as a change of the key. */
struct change ledger_change(const struct context *context);
/* The key's expiry is that of the execution from here on, or none. */
void ledger_set_expiry(struct context *context);
/* For how long a grant is given by the execution; NEVER_US: without an end. */
int64_t ledger_given_us(const struct context *context);
/* What the owner may count on from here. */
int64_t ledger_counts_until_us(const struct context *context);
/* When a stamp that this attempt writes passes: not before, and surely after. */
void ledger_stamp_times(const struct context *context, int64_t *until_us, int64_t *latest_us);
/* Somebody was given the lock, or has renewed it: a sign of life, if a majority of servers keep it.
 */
void ledger_had_again(struct context *context);

/* --- ledger_doubt.c --- */

#define BUT_THERE   "the key was there, and its time was not over"
#define BUT_ANOTHER "the key had another value"

/* Of a typed command it proves a stranger, where there can be one. */
void ledger_note_impossible(const struct context *context, const char *but);
/* What a section writes is a number, or a list, always: one that is not, somebody else wrote. */
void ledger_check_type(struct ledger *ledger, const struct event *event);
/* Whoever looked at the key before and behind a command saw what the history has not: somebody else
 * changed it, or what is told is not so. */
void ledger_note_strange(const struct context *context, const char *but);
/* How a key stands, and did before that execution. */
struct key_standing ledger_key_standing(const struct ledger_key *key);
void ledger_note_standing(const struct context *context, const struct key_standing *before);
/* UNEXPLAINED_HARMLESS: it is strange, unless the key may have stood so at any time at which it may
 * have happened, be it by what comes yet. */
void ledger_doubt(struct ledger *ledger, const struct execution *execution);
/* From from_us till till_us nobody knows how that key stood. */
void ledger_lose_sight(struct ledger *ledger, int lock, int server, int64_t from_us,
                       int64_t till_us);
/* When a key ends, and did before that execution, which says that it was lengthened, or shortened.
 */
struct key_expiry {
    bool is_sure;
    int64_t expire_us, latest_us, set_us;
};
struct key_expiry ledger_key_expiry(const struct ledger_key *key);
void ledger_check_length(const struct context *context, const struct key_expiry *before);
/* Nothing comes any more. */
void ledger_settle_doubts(struct ledger *ledger);

/* The key holds what the history does not know the writer of. */
void ledger_found_unknown(struct context *context);
/* That the server cannot have answered so, or somebody unknown was there. */
void ledger_print_impossible(char text[STRANGE_BYTES], const struct context *context,
                             const char *but);

/* --- ledger_stranger.c --- */

/* Two clocks may differ by one part in so many. */
enum { DRIFT = 1000 };

void ledger_unseen_init(struct ledger *ledger);
/* Any event: what was asked, and what nobody saw of it. */
void ledger_note_unseen(struct ledger *ledger, const struct event *event);
void ledger_settle_unseen(struct ledger *ledger);
/* An acquire found a key there: is it none that the history knows of, as the book stands? */
bool ledger_is_strangers(const struct context *context);
/* So it is, unless what comes yet explains it. */
void ledger_doubt_stranger(const struct context *context);
/* The key stands so behind that execution: that may explain what was found before. */
void ledger_know_keys(const struct context *context, const struct key_standing *now);

#endif
