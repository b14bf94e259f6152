/* server_state.h - a server state: one server of the explorer, in a normal form: its keyspace,
 * who watches the lock key, and a replica that was cut off; with the ghost state that says who
 * owns the lock.
 *
 * A command is executed by redis/model.c itself, on a model that is made of the server state and
 * taken apart again. */
#ifndef PICKLOCK_EXPLORE_MODEL_SERVER_STATE_H
#define PICKLOCK_EXPLORE_MODEL_SERVER_STATE_H

#include "base/bits.h"
#include "explore/model/config.h"
#include "redis/model.h"

enum { GHOST_NOBODY = 0 }; /* owner: 0, or position + 1 */

/* Whose the lock is, in the sense of checks/ledger.h: who acquired it, and how long that counts.
 * For the ghost state: the server does not know. */
struct ghost_owner {
    uint8_t owner;
    uint8_t rounds; /* the owner's attempts left: which of its attempts it was */
    int16_t left;   /* ticks, at least 0, see ghost_counts(); NO_TIME: for ever */
};

/* May its owner still count on it? Ownership by stamp lasts a unit longer than its lease. */
static inline bool ghost_counts(const struct config *config, const struct ghost_owner *ghost)
{
    return ghost->left == NO_TIME || ghost->left > (config->scheme->uses_client_clock ? 1 : 0);
}

struct keyspace {
    int32_t value;            /* of the lock key; 0 when absent */
    int32_t fence;            /* newest that was minted, 0: none */
    int32_t resource;         /* the guarded resource: the newest fence that it has seen, 0: none */
    int32_t counter;          /* the guarded counter, see workload.h */
    int16_t left;             /* ticks, NO_TIME: does not expire */
    uint8_t type;             /* enum model_type of the lock key */
    uint8_t has_counter;      /* the key is there */
    uint8_t is_counter_known; /* for the ghost state: somebody has read or written it since the
                                 server forgot its keys */
    uint8_t is_tentative;     /* claimed by GETSET: stands unless the acquire says "refused" */
    struct ghost_owner ghost;
    struct ghost_owner previous; /* is_tentative: what it was written over */
    uint8_t is_restored; /* for the ghost state: a replica or a snapshot has brought the lock back,
                            to an attempt that had ended, or had begun to release it */
};

enum replica_link { REPLICA_IN_STEP, REPLICA_CUT, REPLICA_PROMOTED };

struct server_state {
    struct keyspace keyspace;
    struct keyspace replica; /* REPLICA_CUT: what it had when it was cut off */
    struct keyspace saved;   /* has_saved: what it saved */
    uint8_t replica_state;
    uint8_t watching;     /* bit a client: its WATCH is on */
    uint8_t changed;      /* bit a client: the lock has changed since */
    uint8_t knows_script; /* as struct model; stays 0 where no command asks for it */
    uint8_t reach;        /* enum server_reach */
    uint8_t out_left;     /* ticks that it may be out of reach yet */
    uint8_t is_fast;      /* its clock runs twice as fast */
    uint8_t has_saved;
    uint8_t behind;        /* bit a client: as struct model_watch; 0 where nobody asks with WAIT */
    uint8_t has_lost_link; /* REPLICA_CUT: from a process that is gone. As above */
};

BITS_FIT_COUNT(EXPLORE_CLIENTS_MAX, struct server_state, watching);
BITS_FIT_COUNT(EXPLORE_CLIENTS_MAX, struct server_state, changed);
BITS_FIT_COUNT(EXPLORE_CLIENTS_MAX, struct server_state, behind);

/* has_counter: the guarded counter is there from the start. */
void server_state_init(struct server_state *server_state, bool has_counter);

/* `second` of the reply to an opaque command: its number (subject.h) in the low bits, and above
 * them what was written to the lock key, whether it shows or not. Those are no tokens. */
enum { REPLY_NUMBER_BITS = 24, REPLY_WROTE_VALUE = 1 << 26, REPLY_WROTE_EXPIRY = 1 << 27 };

static inline uint32_t reply_number(int64_t second)
{
    return (uint32_t)second & ((1u << REPLY_NUMBER_BITS) - 1);
}

/* Executes a command of the client at that position, on the connection that it uses;
 * SERVER_NO_WATCH: on another one. */
enum { SERVER_NO_WATCH = -1 };
struct reply server_state_execute(struct server_state *server_state, const struct config *config,
                                  int position, const struct command *command);

/* Ticks by its own clock, at each tick. */
static inline int server_state_rate(const struct server_state *server_state)
{
    return server_state->is_fast ? 2 : 1;
}

/* A tick passes; are_stamps_kept as in client_state_age(). */
void server_state_tick(struct server_state *server_state, bool are_stamps_kept);

/* It is out of reach from here on, for so many ticks at most; or within reach again (REACH_OPEN).
 */
void server_state_reach(struct server_state *server_state, enum server_reach reach, int ticks);

/* Its clock jumps ahead by so many ticks: keys expire, ghost owners do not. */
void server_state_jump(struct server_state *server_state, int ticks);

/* The connections of a client, or of all (-1), are gone. */
void server_state_disconnect(struct server_state *server_state, int position);

void server_state_restart(struct server_state *server_state);
void server_state_restart_with_keys(struct server_state *server_state);
void server_state_save(struct server_state *server_state);
void server_state_restart_with_saved(struct server_state *server_state);
void server_state_flush_keys(struct server_state *server_state);
void server_state_evict(struct server_state *server_state);
void server_state_flush_scripts(struct server_state *server_state);
void server_state_cut(struct server_state *server_state);
void server_state_failover(struct server_state *server_state);
/* What was brought back is the lock of an attempt that still acquires it, or holds it. */
void server_state_note_kept(struct server_state *server_state);
/* Another process took its place: a replica that was cut off does not find that one. */
void server_state_lose_link(struct server_state *server_state, const struct config *config);

void server_state_rename(struct server_state *server_state, const uint8_t *new_position);
int server_state_newest_past(const struct server_state *server_state);

/* What it knows of the client at a position, as a small number; equal for clients that it cannot
 * tell apart. */
unsigned server_state_mentions(const struct server_state *server_state, int position);

#endif
