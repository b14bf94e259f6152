/* scheme.h - the step interface: a lock algorithm as a pure function over flat state.
 *
 * A scheme is told what just happened (a moment) and says what it wants next (asks in an outbox).
 * It does no I/O, reads no clock but the one it is handed, draws no random number and allocates
 * nothing; the same object file runs in the simulated world and against a real redis-server.
 * skeleton.c is the commented start of a new one. After cowsql/raft's core. */
#ifndef PICKLOCK_SCHEMES_SCHEME_H
#define PICKLOCK_SCHEMES_SCHEME_H

#include "base/limits.h"
#include "redis/command.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an attempt is given. Constant from its start to its end. */
struct lease {
    int64_t
        ttl_us; /* how long the server shall keep the lock; a multiple of the scheme's unit_us */
    int64_t unit_us; /* what the scheme counts in: 1000000 for EX, EXPIRE and stamps; 1000 for PX;
                        the explorer's ticks are 1 */
    int64_t token;   /* this attempt's own value, as the scheme's token kind says */
    int servers;     /* 1, or how many redlock talks to */
    int server_kind; /* enum server_kind: which form of a command the server is said to know */
};

enum server_kind { SERVER_REDIS, SERVER_VALKEY };

/* What just happened. Every command that was sent gets exactly one of REPLY, TIMEOUT and LOST. */
enum moment_kind {
    MOMENT_START,   /* acquire, now: state is all zero */
    MOMENT_REPLY,   /* the server answered; reply holds what (an error too) */
    MOMENT_TIMEOUT, /* no answer in time: it may have happened, or may happen later */
    MOMENT_LOST,    /* the connection broke: it may have happened */
    MOMENT_WAKE,    /* the timer that out_sleep() set has rung */
    MOMENT_RELEASE, /* the critical section is over: release, now. Comes at most once, after a grant
                     */
};

struct moment {
    enum moment_kind kind;
    int server;         /* REPLY, TIMEOUT, LOST: 0 .. servers-1 */
    enum verb verb;     /* REPLY, TIMEOUT, LOST: of which command */
    struct reply reply; /* REPLY */
    int64_t now_us;     /* this client's own clock (wall clock), which may be wrong */
};

enum ask_kind {
    ASK_SEND,  /* send command to server */
    ASK_SLEEP, /* ring in sleep_us, 0: at once (replaces the timer that runs, SLEEP_NEVER stops it)
                */
    ASK_GRANTED,     /* the acquire says: you have the lock; fence as minted, or 0 */
    ASK_REFUSED,     /* the acquire says: somebody else has it */
    ASK_FAILED,      /* the acquire or release says: an error, state unknown */
    ASK_RELEASED,    /* the release says: done */
    ASK_NOT_MINE,    /* the release says: it was not mine (any more) */
    ASK_LOST,        /* while holding: the scheme has noticed that it lost the lock */
    ASK_UNSUPPORTED, /* this server cannot do what the scheme needs */
    ASK_CRASHED,     /* the source's own code would trip here (int(nil) and the like); the last */
};

/* A second connection of the same client, for what another thread of it does (a watchdog). */
enum lane { LANE_MAIN, LANE_RENEW, LANE_COUNT };

#define SLEEP_NEVER INT64_MAX
#define SERVER_ONE  0

struct ask {
    enum ask_kind kind;
    enum lane lane;         /* ASK_SEND */
    int server;             /* ASK_SEND */
    struct command command; /* ASK_SEND */
    int64_t sleep_us;       /* ASK_SLEEP */
    int64_t fence;          /* ASK_GRANTED */
};

struct outbox {
    int count; /* OUTBOX_MAX + 1: more than it holds */
    struct ask asks[OUTBOX_MAX + 1];
};

/* What no step may do. Whoever steps a scheme looks (world/client.c), and the run ends with a
 * failure that names the scheme. */
enum contract_violation {
    CONTRACT_NONE,
#define CONTRACT(id, words) CONTRACT_##id,
#include "schemes/contract.def"
#undef CONTRACT
    CONTRACT_COUNT
};

const char *contract_words(enum contract_violation violation);

/* What a token is. The world draws it; a scheme only uses lease->token. */
enum token_kind {
    TOKEN_UNIQUE, /* no two attempts ever share one */
    TOKEN_WEAK,   /* 1 .. 100000: two attempts may share one */
    TOKEN_EMPTY,  /* always VALUE_EMPTY: the undefined variable */
    TOKEN_FIXED,  /* always 1: "SET k 1" */
    TOKEN_CLIENT, /* the client's own, the same in each attempt: a worker's; no scheme draws so */
};

/* What a field of the state is, for worlds that compare states: times age, values are renamed. */
enum scheme_field {
    FIELD_STEP,  /* where the script resumes; always the first field */
    FIELD_COUNT, /* a small number, or flags */
    FIELD_TIME,  /* an instant of the client's clock, in us */
    FIELD_STAMP, /* an instant in units of lease->unit_us, as written into the key */
    FIELD_VALUE, /* a value of a key */
};

struct scheme {
    const char *name;    /* "set-nx-px-cad" */
    const char *summary; /* one line: how it acquires, how it releases */
    const char *source; /* where it comes from, so that it can be looked up: sim/docs/ARTICLES.md */
    void (*step)(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out);
    const enum scheme_field *fields; /* every member of the state is an int64_t; one row a member */
    int fields_count;                /* at most SCHEME_FIELDS_MAX */
    enum token_kind token;
    int64_t unit_us;        /* see lease.unit_us */
    bool is_naive;          /* shown on the naive side of tables: known to be wrong, with why */
    bool promises_expiry;   /* a key of its always has a time to live ("always-expires") */
    bool promises_notice;   /* tells its holder of a loss by the end of the lease ("loss-notice") */
    bool promises_token;    /* the lock key holds a token of the attempt: "no-orphan" can be told */
    bool mints_fence;       /* a grant carries a fencing token */
    bool uses_client_clock; /* expiry is decided from stamps by clients, not by the server */
    bool needs_script; /* sends EVALSHA: what it is answered depends on the scripts that the server
                          knows */
    bool needs_quorum; /* talks to lease->servers servers, a majority grants */
    bool is_even_handed; /* needs_quorum: it does the same with every server and counts answers: no
                            server's number is in its state, and no order among them matters. The
                            explorer then takes one server for another */
    bool waits_for_all;  /* needs_quorum: what it asks of servers it asks of them at once, and then
                            does nothing but count  until each has answered, timed out or broken the
                            connection. The explorer relies on it */
    bool needs_replica; /* asks with WAIT whether a replica has what it wrote: its servers have one,
                           also the one that was promoted */
    bool needs_delex; /* its release is DELEX (Redis 8.4), or DELIFEQ (Valkey 9): older servers know
                         neither */
    const char *weakness; /* is_naive: why, in one line; else NULL */
};

/* The table: schemes.def, a row a scheme. */
extern const struct scheme *const schemes[];
extern const int schemes_count;

/* Makes a scheme from outside the table (a user's shared object) known by its name; keeps it.
 * False: SCHEME_PLUGINS_MAX are known already. Not part of schemes[]. */
bool scheme_add(const struct scheme *scheme);

/* Is it one that scheme_add() made known? */
bool scheme_is_plugin(const struct scheme *scheme);

/* The scheme of that name, or NULL. */
const struct scheme *scheme_named(const char *name);

/* Bytes of the scheme's state. */
static inline size_t scheme_state_size(const struct scheme *scheme)
{
    return (size_t)scheme->fields_count * sizeof(int64_t);
}

/* The lease that a scheme makes of what was asked for: rounded up to its unit. */
int64_t scheme_lease_us(const struct scheme *scheme, int64_t asked_us);

/* --- what a step may ask for (outbox.c) --- */
void out_send(struct outbox *out, enum lane lane, int server, struct command command);
void out_setnx(struct outbox *out, int server, int64_t value);
void out_set_nx_px(struct outbox *out, int server, const struct lease *lease);
void out_set_nx_ex(struct outbox *out, int server, const struct lease *lease);
void out_get(struct outbox *out, int server);
void out_getset(struct outbox *out, int server, int64_t value);
void out_expire(struct outbox *out, int server, int64_t ttl_us);
void out_del(struct outbox *out, int server);
void out_compare_and_delete(struct outbox *out, int server, const struct lease *lease);
void out_compare_and_delete_by_sha(struct outbox *out, int server, const struct lease *lease);
void out_compare_and_expire(struct outbox *out, enum lane lane, int server,
                            const struct lease *lease);
void out_sleep(struct outbox *out, int64_t sleep_us);
void out_granted(struct outbox *out);
void out_granted_with_fence(struct outbox *out, int64_t fence);
void out_refused(struct outbox *out);
void out_failed(struct outbox *out);
void out_released(struct outbox *out);
void out_not_mine(struct outbox *out);
void out_lost(struct outbox *out);
void out_unsupported(struct outbox *out);
void out_crashed(struct outbox *out);

/* --- the script: the order of the source is the order of the file --- */

/* Opens the script: what follows runs from MOMENT_START, or from behind the AWAIT that it stopped
 * at. Steps are an enum whose first row is START (0). Not inside an own switch: SCRIPT_END finds
 * that out. */
#define SCRIPT(self)                                                                               \
    switch ((self)->at) {                                                                          \
    case 0:

/* Stops here until the next moment. Each step name once. */
#define AWAIT(self, step)                                                                          \
    do {                                                                                           \
        (self)->at = (step);                                                                       \
        return;                                                                                    \
    case (step):;                                                                                  \
    } while (0)

/* The end of an attempt: later moments change nothing. */
#define SCRIPT_RETURN(self)                                                                        \
    do {                                                                                           \
        (self)->at = SCRIPT_OVER;                                                                  \
        return;                                                                                    \
    } while (0)

#define SCRIPT_END(self)                                                                           \
    (self)->at = SCRIPT_OVER;                                                                      \
    return;                                                                                        \
    case SCRIPT_OVER:                                                                              \
        return;                                                                                    \
    default:                                                                                       \
        (self)->at = SCRIPT_LOST;                                                                  \
        return;                                                                                    \
        }

#define SCRIPT_OVER 127
#define SCRIPT_LOST 126 /* at a step that the script does not know: a contract violation */

#endif
