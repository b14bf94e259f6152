/* ledger.h - the account book of a history: who owned each lock at the servers when, how that
 * ended, and who believed to hold it.
 *
 * Replays EXECUTE events on a light record of every lock key (a lock and a server each), in the
 * order of events, and tells facts as they become known. Times are for leases only. Needs memory
 * for clients, locks and servers, never for events. Never: verdicts, worlds, clocks.
 *
 * Two kinds of truth (CHECKS.md): a grant happens at a server; a hold is what a client believes. A
 * scheme that needs a quorum owns a lock while a majority of servers keep its grant. A scheme that
 * lets clients judge stamps has no expiry at the server: its grant counts until its stamp has
 * passed.
 *
 * Real-time histories: an EXECUTE happened some time between from_us and time_us, and two of them
 * may stand in the wrong order when those spans overlap. What the book cannot explain yet waits a
 * moment for an event that explains it. */
#ifndef PICKLOCK_CHECKS_LEDGER_H
#define PICKLOCK_CHECKS_LEDGER_H

#include "base/bits.h"
#include "checks/change.h"
#include "history/event.h"

#include <stddef.h>

#define NEVER_US INT64_MAX
#define NO_INDEX (-1)
#define NOBODY   (-1)

enum { STRANGE_BYTES = 256, DOUBTS_MAX = 16, STANDINGS_MAX = 16 };

/* How a key stands, or stood. */
struct key_standing {
    bool is_present;
    bool is_sure; /* somebody in the history has written it, or deleted it; and, where it stood so,
                     nobody else can have written and removed a key meanwhile */
    int64_t value, expire_us, latest_us;
    int64_t until_us; /* when it stood so no more */
};

/* The last states that have ended. */
struct key_past {
    struct key_standing ended[STANDINGS_MAX];
    int next;
    int64_t since_us; /* before that, nobody knows how it stood */
};

enum doubt_kind {
    DOUBT_STRANGE,    /* of an opaque command */
    DOUBT_IMPOSSIBLE, /* of a typed one */
    DOUBT_STRANGER,   /* an acquire found a key that the history does not know of */
};

/* An execution that nothing explains which has come by now. */
struct doubt {
    enum doubt_kind kind;
    int lock, server;
    int64_t from_us, time_us;
    struct key_effect effect;
    bool is_open; /* a key of somebody unknown may have been there, if none is made behind it */
    char text[STRANGE_BYTES]; /* what is to be said of it */
};

/* How a grant ended at its server. */
enum ending {
    ENDING_NONE,    /* it lives */
    ENDING_EXPIRED, /* by itself, not before the time that its owner may count on */
    ENDING_EARLY,   /* gone before that time, and the history does not say why */
    ENDING_CUT,     /* expired early because another client had changed its expiry */
    ENDING_SHORT,   /* expired early because its own client had given it less than a lease */
    ENDING_CLOCK,   /* expired early because the server's clock was stepped */
    ENDING_BACK,    /* expired early because a replica, or a snapshot, had forgotten its renewal */
    ENDING_DELETED, /* by a command */
    ENDING_TAKEN,   /* overwritten by another attempt's value */
    ENDING_RESTART, /* the server forgot it */
    ENDING_RESTART_OLD,
    ENDING_FLUSHED, /* with all other keys */
    ENDING_FAILOVER,
    ENDING_EVICTED,
};

/* Why a command may have been executed once more than its client meant. */
enum repeat {
    REPEAT_NONE,
    REPEAT_RESENT, /* the client's library sent it again */
    REPEAT_COPIED, /* a copy of it was on its way */
};

/* A command as sentences say it, typed or opaque. */
struct quote {
    struct command command;
    char name[OPAQUE_NAME_MAX]; /* of an opaque one; "": it is typed */
    char text[OPAQUE_TEXT_MAX];
};

/* Who did something to a key, with what, and how that client stood then. */
struct change {
    int client, attempt;
    enum operation op;
    struct quote sent;
    enum did did;       /* to that key */
    enum effect wanted; /* was to */
    int64_t time_us, index;
    enum repeat repeat;     /* of that command in that attempt */
    bool is_clock_struck;   /* that client's clock had been stepped */
    int64_t own_end_us;     /* when its own lease ended (had it one); NEVER_US: not known */
    enum ending own_ending; /* how its own grant at that server had ended before */
    int own_ended_by;       /* the client whose command ended it, or NOBODY */
    int64_t own_ended_us;
};

/* A key that its client does not know (any more) that it has: its operation returned, and not with
 * "granted". */
struct left {
    bool is_left;
    enum operation op; /* that returned, and how */
    enum result result;
    int64_t since_us;
    bool has_come_late;   /* after the return: what was told was true then */
    bool had_to_refuse;   /* its acquire, whose own lease was over */
    bool was_smooth;      /* nothing had befallen that attempt by then; and if it was cancelled,
                             nothing has since */
    int64_t cancelled_us; /* when it was; NEVER_US: it was not */
};

struct grant {
    int client, attempt; /* client NOBODY: written by nobody that the history knows */
    struct quote sent;   /* what wrote it */
    int64_t index;       /* of its EXECUTE; NO_INDEX: there is no grant */
    int64_t from_us, time_us;
    int64_t asked_us;    /* when that left its client, or not before; NEVER_US: not known */
    int64_t until_us;    /* the owner may count on the key until then */
    int64_t lease_us;    /* so long, from when it was given; NEVER_US: it has no end */
    bool is_tentative;   /* by GETSET: it stands only when the acquire says "granted" */
    bool is_touched;     /* another client changed its expiry or its value */
    bool is_kept_idly;   /* a renewal was sent while its owner did not believe (any more) */
    bool is_heard;       /* its client has heard the reply that told it of it */
    int16_t unanswered;  /* what its attempt sent that server since it stands, and nothing was heard
                            of */
    struct change touch; /* the last one who did */
    bool is_entered;     /* a late acquire of its client's found it, and did something with it */
    int entries;         /* acquires that did, and were told "granted", more than releases since */
    bool is_behind;      /* its client had been told "granted": of a late request, or a copy */
    bool is_renewed;     /* so it was, and its client holds by it: it has renewed it, or it was
                            written over what it had */
    bool is_copied;      /* behind another one of its attempt there, by a message that came twice */
    bool is_asked_anew;  /* a foreign acquire had been refused there, and has asked for it since */
    enum ending ending;
    int64_t ended_us, ended_index;
    struct change by; /* DELETED, TAKEN */
    struct left left; /* while it lives */
    bool is_restored; /* a replica or a snapshot brought it back: this one */
    enum fault_keys restored_by;
    int64_t restored_index; /* of that event */
};

/* The lock key at one server. */
struct ledger_key {
    bool is_present;
    int64_t value;
    int64_t expire_us;     /* not before that, the server's clock included; NEVER_US: no expiry */
    int64_t latest_us;     /* gone (or a dead stamp) after that for sure */
    bool is_clock_shifted; /* by a step of the server's clock */
    bool is_set_back;      /* a replica, or a snapshot, has an older expiry of the same lock */
    int64_t shifted_us;    /* how much longer it lives for it */
    int64_t stepped_us;    /* is_clock_shifted: when that was, the last time */
    struct grant grant;    /* the last one, alive or ended */
    struct grant previous; /* what a tentative grant was written over */
    struct grant again;    /* of a later acquire of its client's, if that is told "granted" */
};

/* Keys as they were at some time, one a server. */
struct ledger_copy {
    struct ledger_key *keys; /* NULL: there is none of any server */
    bool *is_kept;           /* which there are */
};

struct ledger_lock {
    struct ledger_key *keys;      /* one a server */
    struct key_past *pasts;       /* likewise */
    struct ledger_copy replicas;  /* what those that are cut off keep */
    struct ledger_copy snapshots; /* what servers have saved */
    int first_holder;             /* believers, linked through ledger_client.next; NOBODY: none */
    int64_t holders;
    int64_t quiet_us;        /* since then no sign of life: nobody believes, nobody was given it */
    int64_t busy_index;      /* the last event that found or made a key there */
    int64_t unseen_us;       /* until then a request that nobody saw executed may have made a key,
                                or kept one */
    struct waiting *waiting; /* EXECUTE events that nothing explains yet */
    int waiting_count, waiting_size;
};

/* A client's GETSET that it will probably judge as "refused". */
struct swap {
    int64_t index; /* NO_INDEX: none */
    int server;
    struct quote sent;
    int64_t from_us, time_us;
};

/* That a client was told that it does not have the lock. */
struct told_none {
    enum result told; /* how; RESULT_NONE: it was not, or was told otherwise since */
    int64_t time_us;
};

/* A client and its last attempt. What each event needs stands together, in front: what thousands of
 * clients have does not fit into a cache. */
struct ledger_client {
    int lock, attempt; /* attempt 0: none yet */
    /* Who asks again for the lock that it holds goes on holding it. Its attempts are two records:
     * the one that it holds by is in its place, but for events of the other one. */
    struct ledger_client *beside; /* the other one; NULL: there was none yet */
    bool is_beside;               /* this is the one that asks again */
    bool is_acquiring, is_releasing, is_dead;
    int accesses;                /* called, and not returned */
    int64_t call_us, call_index; /* of the acquire */
    bool was_free;               /* nobody's key was there at the call */
    unsigned
        refused_itself;  /* bit a server: it said "taken" to this attempt because of the client's
                            own key, of this attempt or one before, and of nobody's since */
    int64_t won_us;      /* when the try left that won the lock, or not before; of a foreign lock */
    int64_t answered_us; /* not before that a server last executed a command of it on the key, other
                            than one that only deletes, or that finds no key and leaves none */
    enum result acquired; /* how the acquire returned; RESULT_NONE: not yet */
    int64_t acquired_us;
    int64_t release_index; /* of the release's call */
    int release_attempt;   /* so it was called */
    unsigned refused; /* bit a server: it said "taken" to this attempt because of another's key */
    unsigned refused_unknown; /* the same, because of a key that the history does not know */
    unsigned lost; /* bit a server: it said that this attempt's key is gone; why is not known */
    unsigned release_found, release_missed, release_met, release_gave;
    /* bit a server: its release was executed there on the lock key, which was its client's, or
     * nobody knows whose, or was changed; there was none of its; that was another client's, and
     * stayed so; it removed one of its, of whatever attempt, and was no copy */
    enum result released; /* how its release returned; RESULT_NONE: not yet */
    int64_t released_us;
    bool is_release_owed; /* an earlier release of this attempt was not answered: what is executed
                             may be that one's */
    struct told_none none, had_none; /* in this attempt; the same, when it called release last */
    unsigned entered; /* bit a server: its acquire found its client's own key, of an attempt before,
                         and did something with it */
    bool has_entered; /* and was told "granted" */
    bool is_holding;  /* it believes so */
    bool is_late;     /* told after its own lease */
    bool may_be_late; /* so it is, if what won it left early, and nobody saw when that was; or its
                         timers rang late, and without that it would have been told in time */
    int64_t rang_late_us; /* all together, since it called acquire: of the machine, or of us */
    bool is_inferred;     /* that it was granted the lock nobody told; the wire shows it */
    int next, prev;
    int64_t held_us, held_index; /* when the hold began; NO_INDEX: it never did */
    int64_t own_end_us;          /* end of the own lease; NEVER_US: a lock without one */
    int64_t fence;
    int owned;           /* servers that keep the grant */
    int64_t owned_index; /* of the event that made it the owner; NO_INDEX: never was */
    int64_t owned_us;
    int64_t disowned_index; /* of the event that ended that; NO_INDEX: not yet */
    int64_t skew_us;        /* of its clock, as far as faults stepped it, at rate_since_us */
    int64_t gains_us;       /* what it gains a second, since then */
    int64_t rate_since_us;
    bool is_clock_struck;
    bool has_seen; /* its last GET of the lock key in this attempt said */
    int64_t seen;
    int64_t sent_us;     /* when its last request on the main lane left */
    int64_t *asked_us;   /* one a server: the same of the last one to it; or not before */
    int *on_way;         /* one a server: what its acquire has sent there and was not executed */
    unsigned asked_anew; /* bit a server: refused there, it has asked again, and nothing else of its
                            was on the way there */
    bool has_heard;
    struct quote asked; /* what the last reply that it heard was to */
    struct reply heard;
    int64_t lease_us;     /* of its last attempt, where each grant has its own; NEVER_US: none */
    int64_t called_us;    /* its operation under way */
    int64_t cancelled_us; /* when its acquire was; NEVER_US: it was not */
    bool is_struck;       /* that attempt, by a fault of its own or of a server */
    int former_attempt; /* up to this one its keys are no leftovers: it crashed since, or held it */
    int reentered; /* up to this one it asked again for what it held, and has not crashed since */
    int previous;  /* the attempt before, and when that became the owner */
    int64_t previous_owned_index;
    struct grant *grants;   /* one a server: of this attempt, once ended; see ledger_grant() */
    struct grant *own_keys; /* one a server: what refused it, with refused_itself; what its release
                               removed, with release_gave */
    bool is_extending;      /* it was asked to, and has not been answered: */
    unsigned extended;      /* bit a server: that gave its lock the lease anew, */
    int64_t extended_by_us; /* so long; the last one. */
    int64_t extend_us;      /* When the first request left that did; NEVER_US: none has */
    int64_t *renewals;  /* one a server: when the oldest unanswered renewal left; NEVER_US: none */
    int last_attempt;   /* the latest that it has begun, be that another one than this */
    int unanswered;     /* inferred calls that had no return when its next one came */
    int extends_called; /* and not answered */
    int last_release, last_extend; /* the latest attempt in which it has called that */
    struct swap swap;
    struct {
        enum repeat how; /* the last command that was repeated */
        struct command command;
        struct opaque opaque; /* its name "": it is typed */
        int attempt;
        unsigned servers; /* bits: on their way there */
    } repeated;
};

BITS_FIT_COUNT(SERVERS_MAX, struct ledger_client, refused);
BITS_FIT_COUNT(SERVERS_MAX, struct ledger_client, refused_itself);
BITS_FIT_COUNT(SERVERS_MAX, struct ledger_client, refused_unknown);
BITS_FIT_COUNT(SERVERS_MAX, struct ledger_client, lost);
BITS_FIT_COUNT(SERVERS_MAX, struct ledger_client, extended);
BITS_FIT_COUNT(SERVERS_MAX, struct ledger_client, asked_anew);
BITS_FIT_COUNT(SERVERS_MAX, struct ledger_client, release_gave);
BITS_FIT_COUNT(SERVERS_MAX, struct ledger_client, entered);

enum fact_kind {
    FACT_GRANT,      /* an attempt's value stands in a key */
    FACT_ENDED,      /* a grant ended: grant->ending says how */
    FACT_TOUCHED,    /* another client changed a living grant: grant->touch */
    FACT_HOLD,       /* a client believes from here on */
    FACT_RENEWED,    /* its own lease moved on; before_us: its end until now */
    FACT_HOLD_ENDED, /* by a release, a notice, a crash, an exit: event says which */
};

struct fact {
    enum fact_kind kind;
    const struct event *event; /* which told it; NULL: the end of the history */
    int64_t time_us, index;
    int lock, server, client;
    const struct grant *grant; /* GRANT, ENDED, TOUCHED; borrowed */
    int64_t before_us;         /* RENEWED */
};

struct ledger {
    const struct history_head *head;
    const struct places *places; /* of its clients; NULL: each is one of the history's */
    const struct scheme *scheme; /* NULL: foreign */
    unsigned promises;           /* bit enum promise: of the scheme, or of the history's head */
    bool is_stated;              /* these are; else a foreign lock is judged by what it does */
    bool has_told, has_inferred; /* answers to clients that were told, or inferred from the wire */
    int quorum;
    bool has_lease;  /* own leases end */
    bool has_leases; /* each grant has one of its own: the time to live that its key was given */
    bool has_stamps; /* clients judge expiry */
    int64_t lease_us, unit_us, error_us;
    int64_t index; /* of the event in hand, or the last one */
    struct ledger_client *clients;
    struct ledger_lock *locks;
    int64_t holders;      /* of all locks: believers */
    bool has_sends;       /* it tells when requests were sent, */
    bool has_hears;       /* and when replies were heard */
    bool lacks_calls;     /* something returned, or was executed, that nobody had called; or who was
                             told that it has not the lock worked */
    bool lacks_returns;   /* a client went on, and how what it had called ended is not told */
    bool has_two_at_once; /* a client asked for one lock while it had another, or went back to an
                             attempt before its last: from then on calls and returns say nothing */
    bool has_endless;     /* a key has stood there without an expiry */
    bool has_stranger;    /* a key was there that nobody in the history wrote */
    bool is_closed; /* nobody else writes to the keys: a reply that they do not explain is none */
    bool is_struck; /* by a fault of a server */
    char impossible[STRANGE_BYTES]; /* the first such; "": none */
    char strange[STRANGE_BYTES];    /* the first effect that nothing in the history explains; "" */
    char stranger[STRANGE_BYTES];   /* the first refusal by no key that the history knows of; "" */
    bool may_be_kept; /* by a fault of a server a key may live longer than is known, or be back */
    struct unseen *unseen; /* ledger_stranger.c */
    struct doubt doubts[DOUBTS_MAX];
    int doubts_count;
    int64_t gains_us[SERVERS_MAX]; /* what the clock of each server gains a second */
    void (*take)(void *context, const struct fact *fact);
    void *context;
};

/* head and scheme (may be NULL) are kept; take is called with every fact. ledger: caller's memory.
 */
void ledger_init(struct ledger *ledger, const struct history_head *head,
                 const struct scheme *scheme, void (*take)(void *context, const struct fact *fact),
                 void *context);
void ledger_event(struct ledger *ledger, const struct event *event);
/* That client's clock is the other one's. */
void ledger_copy_clock(struct ledger *ledger, int client, int other);
/* Is it of one attempt? What befalls a client befalls it in whatever attempt. */
bool ledger_is_of_attempt(const struct event *event);
/* The record of the event's attempt comes into its client's place, for whoever looks at it; and
 * goes out of it again when all have taken the event. */
void ledger_turn(struct ledger *ledger, const struct event *event);
void ledger_turn_back(struct ledger *ledger, int client);
/* What waits is taken as it is; keys that have expired by then end. */
void ledger_finish(struct ledger *ledger, int64_t end_us);
void ledger_close(struct ledger *ledger);

/* Its expiry may have come already, and be what the answer was about: an EXEC that is aborted by it
 * tells the book nothing. */
bool ledger_may_be_gone(const struct ledger *ledger, const struct ledger_key *key, int64_t time_us);

/* Did the grant come when the answer that this operation ends with had been given at that server
 * already? Of a request that was late, or of a copy; or brought back behind the call of a release.
 */
bool ledger_came_behind(const struct ledger_client *client, enum operation op, int server,
                        const struct grant *grant);

/* Have as many servers as it takes given the client's lock its lease anew, since it was asked to
 * extend it last? */
bool ledger_has_extended(const struct ledger *ledger, int client);

/* A reply that no server can have given, or that only somebody unknown explains; NULL: none is seen
 * to be. */
const char *ledger_impossible(const struct ledger *ledger);
/* An effect of an opaque command that nothing in the history explains: before it the key was
 * another one than it had been left, and no time and no fault had made it so. As a sentence without
 * its full stop; NULL: there is none. Borrowed. */
const char *ledger_strange(const struct ledger *ledger);
/* A refusal, or what an acquire read, that only the key of somebody whom the history does not know
 * explains; NULL: there is none. Known when the history has ended. */
const char *ledger_stranger(const struct ledger *ledger);

/* Does the lock promise that? */
bool ledger_promises(const struct ledger *ledger, enum promise promise);

/* Why nothing is known of what clients were told; NULL: it is. */
const char *ledger_untold(const struct ledger *ledger);

/* The grant that a client's last attempt has, or had, at a server; index NO_INDEX: none. Borrowed.
 */
const struct grant *ledger_grant(const struct ledger *ledger, int client, int server);

/* Has the network delivered a message of that attempt to that server twice? */
static inline bool ledger_is_copied(const struct ledger_client *client, int attempt, int server)
{
    return client->repeated.how == REPEAT_COPIED && client->repeated.attempt == attempt &&
           client->repeated.servers >> server & 1;
}

/* Was the own lease that it had by that grant of its last attempt over when it was answered? Then
 * it must refuse, whatever it has. Where nobody saw when its request left, it may have left at its
 * call. */
bool ledger_must_refuse(const struct ledger *ledger, const struct grant *grant, int64_t told_us);

/* Did the acquire that got it delete it again before it was answered? Then that was an earlier try,
 * and not what its client holds by. What a copy on its way deletes it has not given back. */
bool ledger_is_given_back(const struct ledger *ledger, const struct grant *grant);
/* Has its client, a scheme of ours, never heard that it was granted it, or what became of something
 * that it sent there since? Then a message was lost, or is late, be its fault told or not. False
 * where nobody saw replies arrive. */
bool ledger_is_unheard(const struct ledger *ledger, const struct grant *grant);
/* Has that client asked the server again, in the same attempt, since it asked for that grant? False
 * where nobody saw requests leave. */
bool ledger_is_asked_again(const struct ledger *ledger, int client, int server,
                           const struct grant *grant);

/* The lease of that client's last attempt; NEVER_US: not known (yet), or without an end. */
static inline int64_t ledger_lease_us(const struct ledger *ledger, int client)
{
    return ledger->has_leases ? ledger->clients[client].lease_us : ledger->lease_us;
}

/* The end of a lease of that length which counts from then. */
static inline int64_t ledger_lease_end_us(int64_t from_us, int64_t lease_us)
{
    return lease_us == NEVER_US ? NEVER_US : from_us + lease_us;
}

/* How long that server takes for what is so long by its own clock. */
int64_t ledger_lasts_us(const struct ledger *ledger, int server, int64_t own_us);

/* What the client's clock is ahead at that time. */
int64_t ledger_skew_us(const struct ledger_client *client, int64_t time_us);

/* Takes what waits on a lock as it is: somebody must know now. */
void ledger_settle(struct ledger *ledger, int lock);

/* Is a key of that lock there at that time, for all that is known? A dead stamp is not. */
bool ledger_is_free(const struct ledger *ledger, int lock, int64_t time_us);

/* Was that client's lock free all along, from its call of acquire until then? False of a quorum,
 * which may also be missed because servers do not answer, or because the vote is split. */
bool ledger_was_free(const struct ledger *ledger, int client, int64_t time_us);

/* Has that client asked again for a lock that it had? A lock may be one that its holder enters
 * again, as often as he likes. */
static inline bool ledger_may_reenter(const struct ledger *ledger, int client)
{
    return !ledger->head->refuses_holder && ledger->clients[client].reentered > 0;
}

/* Has that client left this grant behind in an earlier attempt than its last? */
bool ledger_is_leftover(const struct ledger *ledger, const struct grant *grant, int client);

/* A majority of servers keep the last attempt's grant, and at that time it still counts. */
bool ledger_is_owner(const struct ledger *ledger, int client, int64_t time_us);

/* When that attempt became the owner (event index), NO_INDEX: never, or too long ago to know. */
int64_t ledger_owned_index(const struct ledger *ledger, int client, int attempt);

/* The event's command, for sentences. */
void ledger_quote(struct quote *quote, const struct event *event);

#endif
