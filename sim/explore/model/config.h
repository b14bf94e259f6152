/* config.h - what stays the same through one search: the scheme, the bounds, the faults.
 *
 * Time in the explorer is ticks. A tick is TICK_US for the scheme's arithmetic; every stored
 * instant is near EPOCH_US (now), so that a state holds what remains and not when. The lease is a
 * few ticks; a key is gone when as many have passed. Values are told apart by their range: small
 * numbers, tokens, stamps (units of a tick near EPOCH_TICKS). */
#ifndef PICKLOCK_EXPLORE_MODEL_CONFIG_H
#define PICKLOCK_EXPLORE_MODEL_CONFIG_H

#include "explore/model/options.h"
#include "schemes/scheme.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TICK_US = 1000,
    EPOCH_TICKS = 1 << 20,
    EPOCH_US = EPOCH_TICKS * TICK_US,
    PAST_TICKS = 3,
    STAMP_REACH = 500, /* a number within so many ticks of EPOCH_TICKS is a stamp */
    TOKEN_BASE = 1 << 24,
    TOKENS_EACH = 4096, /* a client's tokens: TOKEN_BASE + position * TOKENS_EACH + number */
    POSITION_SELF =
        63,            /* a client's own tokens, in its own record: it does not know its position */
    TOKEN_SHARED = 77, /* what all draw under "token-collision" */
    NO_TIME = -1,      /* no timer, no expiry */
    LEFT_FAR = INT16_MAX, /* a key that lives so many ticks, or more, does not expire in a search */
};

struct subject;

/* How fast a clock runs. */
enum clock_rate { RATE_TRUE, RATE_HALF, RATE_DOUBLE };

struct config {
    const struct scheme *scheme;
    struct subject *subject; /* who answers for its clients and servers: subject.h */
    bool is_plugin;          /* the scheme is a user's: what it declares is looked at */
    int clients, rounds, servers;
    int ttl;            /* the lease, in ticks */
    int jump;           /* a client clock's, in ticks: config_jump() */
    int clock_jumps;    /* so many there may be, of one clock */
    int progress_ticks; /* ticks in which a lock that nobody holds must be granted to somebody */
    int past; /* the lease and PAST_TICKS: what is this long past is past for everybody, whatever
                 the clocks still do */
    bool has_fault[FAULT_COUNT]; /* has a budget, and something to strike */
    bool has_lease;              /* own leases end */
    bool is_eager;               /* REDUCE_EAGER */
    bool has_partial_order;      /* see partial_order.h: lengths do not matter, nor most orders */
    bool has_lower_bound;        /* see lower_bound.h: long ways do not matter */
    bool writes_stamps;          /* the scheme shows others what its client's clock says */
    int call_left_min;           /* of client_state.call_left: further down makes no difference */
    enum section section;        /* what a critical section does */
    bool keeps_count;            /* the guarded counter has its real value: it may be forgotten */
    struct lease lease;          /* of every attempt, but for its token */
    bool repeats_commands;       /* one may be executed twice */
    bool has_extends, has_short_waits; /* as of the options */
    bool judges_grants;  /* was who is told "granted" granted it? Of a foreign program */
    bool judges_guesses; /* as of the options */
    /* What faults ask for: fault_kind.prepare. */
    bool is_collision;              /* all draw the same token */
    bool keeps_commands;            /* of what was executed: it may be needed again */
    bool saves;                     /* a server may save its keys, and restart with those */
    bool has_replica, has_replicas; /* one may be cut off; and then another one */
    bool forgets;                   /* a server its keys */
    uint32_t breakers; /* faults that break all connections of a server, at once or later: bits */
};

BITS_FIT_COUNT(FAULT_COUNT, struct config, breakers);

/* So many servers decide. */
static inline int config_quorum(const struct config *config)
{
    return config->scheme->needs_quorum ? config->servers / 2 + 1 : 1;
}

/* A clock jumps by so many ticks: past the lease, and the rounding of stamps. */
static inline int config_jump(int lease_ticks)
{
    return lease_ticks + 2;
}

void config_init(struct config *config, const struct explore_options *options);

static inline bool is_stamp(int64_t value)
{
    return value > EPOCH_TICKS - STAMP_REACH && value < EPOCH_TICKS + STAMP_REACH;
}

static inline bool is_token(int64_t value)
{
    return value >= TOKEN_BASE && value < TOKEN_BASE + (POSITION_SELF + 1) * TOKENS_EACH;
}

static inline int token_position(int64_t token)
{
    return (int)((token - TOKEN_BASE) / TOKENS_EACH);
}

/* What a further try of the same attempt draws; 0: there were too many. Attempts have numbers below
 * the steps between tries. */
static inline int64_t token_of_next_try(int64_t token)
{
    enum { EACH_TRY = EXPLORE_ROUNDS_MAX + 1 };
    return (token - TOKEN_BASE) % TOKENS_EACH + EACH_TRY < TOKENS_EACH ? token + EACH_TRY : 0;
}

static inline int64_t token_at(int64_t token, int position)
{
    return TOKEN_BASE + position * TOKENS_EACH + (token - TOKEN_BASE) % TOKENS_EACH;
}

/* 64-bit values in 32: the two that are no numbers sit at the low end. */
static inline int32_t narrow(int64_t value)
{
    if (value == VALUE_NIL)
        return INT32_MIN;
    if (value == VALUE_EMPTY)
        return INT32_MIN + 1;
    assert(value > INT32_MIN + 1 && value <= INT32_MAX);
    return (int32_t)value;
}

static inline int64_t widen(int32_t value)
{
    if (value == INT32_MIN)
        return VALUE_NIL;
    if (value == INT32_MIN + 1)
        return VALUE_EMPTY;
    return value;
}

/* A value after a tick (a stamp moves away, up to a bound; are_stamps_kept: only one that is not
 * past yet) and after clients changed places. */
int32_t value_aged(int32_t value, bool are_stamps_kept);
int32_t value_renamed(int32_t value, const uint8_t *new_position);

#endif
