/* post.h - one server of the explorer, in a normal form: the lock key, the fence, who owns the
 * lock, who watches it.
 *
 * A command is executed by redis/model.c itself, on a model made of the record and taken apart
 * again. */
#ifndef PICKLOCK_EXPLORE_POST_H
#define PICKLOCK_EXPLORE_POST_H

#include "base/bits.h"
#include "explore/setting.h"
#include "redis/model.h"

enum { POST_NOBODY = 0 }; /* owner: 0, or position + 1 */

/* Whose the lock is, in the sense of checks/ledger.h: who acquired it, and how long that counts.
 * For the judge: the server does not know. */
struct claim {
    uint8_t owner;
    uint8_t rounds; /* the owner's attempts left: which of its attempts it was */
    int16_t left;   /* ticks, at least 0, see claim_counts(); NO_TIME: for ever */
};

/* May its owner still count on it? A claim by stamp lasts a unit longer than its lease. */
static inline bool claim_counts(const struct setting *setting, const struct claim *claim)
{
    return claim->left == NO_TIME || claim->left > (setting->scheme->uses_client_clock ? 1 : 0);
}

struct stock {
    int32_t value;            /* of the lock key; 0 when absent */
    int32_t fence;            /* newest that was minted, 0: none */
    int32_t resource;         /* the guarded resource: the newest fence that it has seen, 0: none */
    int32_t counter;          /* the guarded counter, see access.h */
    int16_t left;             /* ticks, NO_TIME: does not expire */
    uint8_t type;             /* enum model_type of the lock key */
    uint8_t has_counter;      /* the key is there */
    uint8_t is_counter_known; /* for the judge: somebody has read or written it since the
                                 server forgot its keys */
    uint8_t is_tentative;     /* claimed by GETSET: stands unless the acquire says "refused" */
    struct claim claim;
    struct claim previous; /* is_tentative: what it was written over */
};

enum post_replica { REPLICA_IN_STEP, REPLICA_CUT, REPLICA_PROMOTED };

struct post {
    struct stock stock;
    struct stock replica; /* REPLICA_CUT: what it had when it was cut off */
    uint8_t replica_state;
    uint8_t watching;     /* bit a client: its WATCH is on */
    uint8_t changed;      /* bit a client: the lock has changed since */
    uint8_t knows_script; /* as struct model; stays 0 where no command asks for it */
};

BITS_FIT_COUNT(EXPLORE_CLIENTS_MAX, struct post, watching);
BITS_FIT_COUNT(EXPLORE_CLIENTS_MAX, struct post, changed);

/* has_counter: the guarded counter is there from the start. */
void post_init(struct post *post, bool has_counter);

/* Executes a command of the client at that position, on the connection that it uses; POST_NO_WATCH:
 * on another one. */
enum { POST_NO_WATCH = -1 };
struct reply post_execute(struct post *post, const struct setting *setting, int position,
                          const struct command *command);

/* A tick passes; are_stamps_kept as in local_age(). */
void post_tick(struct post *post, bool are_stamps_kept);

/* Its clock jumps ahead by so many ticks: keys expire, claims do not. */
void post_jump(struct post *post, int ticks);

/* The connections of a client, or of all (-1), are gone. */
void post_disconnect(struct post *post, int position);

void post_restart(struct post *post);
void post_evict(struct post *post);
void post_flush_scripts(struct post *post);
void post_cut(struct post *post);
void post_failover(struct post *post);

void post_rename(struct post *post, const uint8_t *new_position);
int post_newest_past(const struct post *post);

/* What it knows of the client at a position, as a small number; equal for clients that it cannot
 * tell apart. */
unsigned post_mentions(const struct post *post, int position);

#endif
