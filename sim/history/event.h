/* event.h - one event of a history: the vocabulary that both worlds write and every check reads.
 *
 * Order is the order of the events (index), never their time: times are for leases. An operation
 * whose RETURN never comes, or says FAILED, is indeterminate: it may have happened, or may happen
 * later. */
#ifndef PICKLOCK_HISTORY_EVENT_H
#define PICKLOCK_HISTORY_EVENT_H

#include "base/bits.h"
#include "base/limits.h"
#include "history/effect.h"
#include "history/fault.h"
#include "redis/command.h"
#include "schemes/scheme.h"

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
#define EVENT(id, name, fields) EVENT_##id,
#include "history/events.def"
#undef EVENT
    EVENT_COUNT
};

enum operation {
    OP_ACQUIRE,
    OP_RELEASE,
    OP_EXTEND, /* what a scheme does on its own while it holds (LANE_RENEW) */
    OP_ACCESS, /* the critical section's own commands: counter, list, resource */
    OP_COUNT
};

/* How an operation ended. Its outcome in the sense of histories: ok, fail (did not happen), info
 * (unknown). */
enum result {
    RESULT_NONE,
    RESULT_GRANTED,     /* acquire, ok */
    RESULT_REFUSED,     /* acquire, fail */
    RESULT_RELEASED,    /* release, ok */
    RESULT_NOT_MINE,    /* release, extend, fail */
    RESULT_DONE,        /* extend, access, ok */
    RESULT_STALE,       /* access, fail: the resource refused the fence */
    RESULT_FAILED,      /* any, info */
    RESULT_CANCELLED,   /* any, info: it was cancelled; an acquire did not end with the lock */
    RESULT_UNSUPPORTED, /* any, fail: the server cannot do it */
    RESULT_CRASHED,     /* any, info: the scheme's own code tripped */
    RESULT_COUNT
};

enum outcome { OUTCOME_OK, OUTCOME_FAIL, OUTCOME_INFO };

struct event {
    int64_t index;   /* from 0, without gaps */
    int64_t time_us; /* world time since the run began: steered where clocks are steered */
    int64_t from_us; /* EXECUTE: not before this; else equal to time_us */
    enum event_kind kind;
    int client;  /* 0 .. clients-1, or -1: nobody */
    int server;  /* 0 .. servers-1, or -1 */
    int lock;    /* which lock of the run: 0 in directed runs */
    int attempt; /* of this client, from 1: an acquire and all that belongs to it */
    enum operation op;
    enum lane lane;
    struct command command;
    struct reply reply;
    enum result result;
    int64_t token;
    int64_t fence;
    bool has_fence; /* RETURN of an acquire: `fence` was told, be it 0 */
    int64_t amount_us;
    enum fault fault; /* of a FAULT event */
    bool is_inferred; /* CALL, RETURN, NOTICE: nobody said so; it was concluded from the wire */
    /* What foreign programs need; NULL where there is none. Borrowed by whoever takes the event,
     * until he returns: who keeps an event keeps copies. */
    const struct opaque *opaque;   /* the command: then `command` says nothing */
    const struct effects *effects; /* EXECUTE of an opaque command */
    const char *token_text;        /* the token is a text; `token` its value_number() */
};

/* What a foreign lock promises, as its history's head says. What is not promised is not judged. */
#define PROMISE_BITS(BIT)                                                                          \
    BIT(PROMISE_EXPIRY)  /* a key of its always has a time to live */                              \
    BIT(PROMISE_NOTICE)  /* it tells its holder of a loss by the end of the lease */               \
    BIT(PROMISE_FENCE)   /* a grant carries a fencing token */                                     \
    BIT(PROMISE_EXTENDS) /* it renews its lease while it is held */                                \
    BIT(PROMISE_TOKEN)   /* the lock key says which attempt wrote it */                            \
    BIT(PROMISE_QUORUM)  /* a majority of the servers grants */                                    \
    BIT(PROMISE_EXITS)   /* its process ends when it knows that its lock is gone */                \
    BIT(PROMISE_LEASES)  /* each grant's lease is the time to live that its key was given */
BITS(promise, PROMISE_BITS);

enum { HISTORY_WHY_MAX = 400 };

/* What a run was: the first line of a history file, and what checks must know. */
/* The client that stands for whoever nobody knows, in a history that was seen on the wire. */
#define NAME_OF_NOBODY_KNOWN "unknown who"

struct history_head {
    char scheme[NAME_MAX_BYTES];
    char scenario[NAME_MAX_BYTES]; /* or "stress" */
    char world[16];                /* "sim", "redis" */
    char server_version[32];       /* "7.0.15", or "" */
    int clients, servers, locks;
    char (*names)[NAME_MAX_BYTES]; /* clients names: "A", "B", ...; kept by whoever made the head */
    int64_t lease_us;              /* the scheme's, rounded to its unit */
    int64_t unit_us;               /* the scheme's */
    int64_t clock_error_us; /* how far server expiry and our times may disagree: 0 where steered */
    uint64_t seed;
    char program[NAME_MAX_BYTES]; /* of a foreign lock: what it is, "redis-py 4.3 Lock"; else "" */
    bool has_promises;            /* a foreign lock of which is said what it promises ... */
    unsigned promises;            /* ... bit enum promise */
    char (*processes)[NAME_MAX_BYTES]; /* clients names: in which process each of them is; two of
                                          one process share the name. NULL: not said. Kept likewise
                                          */
    bool anybody_releases;             /* nobody owns a lock: whoever releases it has released it */
    bool refuses_holder; /* who has a lock and asks for it again is refused; else nobody says it */
    bool is_closed;      /* nobody else writes to its keys, and none was there when it began */
    bool has_all_commands; /* whatever its clients sent to servers since it began is in it */
    bool is_directed;      /* a scenario, or a schedule, said who asks when */
    bool is_streamed;      /* it was there while it was written, so it may have no end */
    char incomplete[HISTORY_WHY_MAX]; /* why it is not whole, so that nothing holds; "": it is */
};

/* There nothing is missing, and all is so that an open history must say. */
bool head_is_simulated(const struct history_head *head);
/* So it is of what its clients and servers did, where the head says it. */
bool head_has_all(const struct history_head *head);
/* A scenario, or a schedule, said who does what when. */
bool head_is_directed(const struct history_head *head);

/* Makes an event that is kept its own copies of what it points to, until event_drop(). */
void event_keep(struct event *event);
void event_drop(struct event *event);

/* The event's command for people: all of it (text: size bytes), or its name alone. */
const char *event_command(const struct event *event, char *text, size_t size);
const char *event_command_name(const struct event *event);

/* Do both tell of the same command, for all that is known? Of typed ones: of the same verb. */
bool event_is_same_command(const struct event *one, const struct event *two);

/* Whoever takes events as they come: the log, the checks, a progress line. */
struct event_sink {
    void (*take)(void *context, const struct event *event); /* borrows event */
    void *context;
};

const char *event_name(enum event_kind kind);
const char *operation_name(enum operation op); /* "acquire", "release", "extend", "access" */
const char *result_name(enum result result);   /* "granted", "refused", ... */
enum outcome result_outcome(enum result result);
bool result_is_of(enum result result, enum operation op); /* may such an operation end so? */

const char *promise_name(enum promise promise); /* "expiry", ... */
bool promise_read(const char *name, enum promise *promise);

/* Is the command about that key of the lock? */
static inline bool event_is_on(const struct event *event, enum key key)
{
    return event->opaque ? event->opaque->keys >> key & 1 : event->command.key == key;
}

bool event_read(const char *name, enum event_kind *kind);
bool operation_read(const char *name, enum operation *op);
bool result_read(const char *name, enum result *result);

#endif
