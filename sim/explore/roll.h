/* roll.h - who was granted the lock after whom, and carries which fence: what the judge of
 * fence-order remembers. Kept only where critical sections write the resource.
 *
 * The rules are those of checks/fence_order.c: of every attempt that may still write, or be told of
 * its grant, the rank of that grant among the others, and whether a later one has written already;
 * what came before is in two fences. Ranks only order: they are counted anew in every state. */
#ifndef PICKLOCK_EXPLORE_ROLL_H
#define PICKLOCK_EXPLORE_ROLL_H

#include "base/bits.h"
#include "explore/explore.h"

#define ROLL_FLAGS(BIT)                                                                            \
    BIT(ROLL_OWNED)      /* the rank is of its grant */                                            \
    BIT(ROLL_SWAPPED)    /* of its GETSET, taken for lost: the grant, if it is told so */          \
    BIT(ROLL_DISOWNED)   /* it is the owner no longer */                                           \
    BIT(ROLL_SUPERSEDED) /* one that was granted later has written the resource */
BITS(roll_flag, ROLL_FLAGS);

enum { ROLL_FENCE_MAX = UINT16_MAX };

struct roll_entry {
    uint8_t rank;  /* from 1, by the time of the grant; 0: none */
    uint8_t flags; /* enum roll_flag */
    /* Until it is told: the largest fence carried by earlier grants, the smallest by later ones; 0:
     * none */
    uint16_t above, below;
};

BITS_FIT(ROLL_FLAGS, struct roll_entry, flags);

struct roll {
    struct roll_entry last[EXPLORE_CLIENTS_MAX], before[EXPLORE_CLIENTS_MAX]; /* attempts */
    uint16_t fence; /* the largest that was carried */
};

/* Rolls are interned byte by byte: there are none between the members. */
_Static_assert(sizeof(struct roll_entry) == 6 && sizeof(struct roll) % 2 == 0, "a roll has holes");

/* What a step did to one client. */
struct roll_client {
    bool is_owner;         /* servers keep its lock */
    bool may_hold;         /* its last attempt may still be granted */
    bool may_write;        /* or write */
    bool may_write_before; /* and the one before that */
    bool has_swapped;      /* its GETSET was just taken for lost */
};

/* And what else; the client that took it, or -1. */
struct roll_step {
    int client;
    bool begins;     /* a new attempt */
    bool is_granted; /* is told of its grant, with this fence */
    int fence;
    unsigned judged; /* enum judged, of an execution */
    bool forgets;    /* a server did; owners that it brings back are no new ones */
    struct roll_client clients[EXPLORE_CLIENTS_MAX];
};

/* Follows a step; true: fence-order is violated by it. */
bool roll_follow(struct roll *roll, int clients, const struct roll_step *step);

void roll_rename(struct roll *roll, const uint8_t *new_position);

#endif
