/* ghost_fences.h - ghost state of fence-order: in which order the lock was granted, and which
 * fence each grant carries. Kept only where critical sections write the resource.
 *
 * The rules are those of checks/fence_order.c. For every attempt that may still write, or be
 * told of its grant: the rank of that grant among the others, and whether a later one has
 * written already. What came before is in two fences. Ranks only order: they are counted anew in
 * every state. */
#ifndef PICKLOCK_EXPLORE_MODEL_GHOST_FENCES_H
#define PICKLOCK_EXPLORE_MODEL_GHOST_FENCES_H

#include "base/bits.h"
#include "explore/model/options.h"

#define FENCE_FLAGS(BIT)                                                                           \
    BIT(FENCE_OWNED)      /* the rank is of its grant */                                           \
    BIT(FENCE_SWAPPED)    /* of its GETSET, taken for lost: the grant, if it is told so */         \
    BIT(FENCE_DISOWNED)   /* it is the owner no longer */                                          \
    BIT(FENCE_SUPERSEDED) /* one that was granted later has written the resource */                \
    BIT(FENCE_OF_BEFORE)  /* it is of before a server forgot, and nobody has written since */
BITS(fence_flag, FENCE_FLAGS);

enum { FENCE_MAX = UINT16_MAX };

struct fence_entry {
    uint8_t rank;  /* from 1, by the time of the grant; 0: none */
    uint8_t flags; /* enum fence_flag */
    /* Until it is told: the largest fence carried by earlier grants, the smallest by later ones; 0:
     * none */
    uint16_t above, below;
};

BITS_FIT(FENCE_FLAGS, struct fence_entry, flags);

struct ghost_fences {
    struct fence_entry last[EXPLORE_CLIENTS_MAX], before[EXPLORE_CLIENTS_MAX]; /* attempts */
    uint16_t fence; /* the largest that was carried */
};

/* It is interned byte by byte: there is no gap between the members. */
_Static_assert(sizeof(struct fence_entry) == 6 && sizeof(struct ghost_fences) % 2 == 0,
               "struct ghost_fences has gaps");

/* What a step did to one client. */
struct fence_client {
    bool is_owner;         /* servers keep its lock */
    bool may_hold;         /* its last attempt may still be granted */
    bool may_write;        /* or write */
    bool may_write_before; /* and the one before that */
    bool has_swapped;      /* its GETSET was just taken for lost */
};

/* And what else; the client that took it, or -1. */
struct fence_step {
    int client;
    bool begins;     /* a new attempt */
    bool is_granted; /* is told of its grant, with this fence */
    int fence;
    unsigned observed; /* enum observed, of an execution */
    bool forgets;      /* a server did; owners that it brings back are no new ones */
    struct fence_client clients[EXPLORE_CLIENTS_MAX];
};

/* Follows a step; true: fence-order is violated by it. */
bool ghost_fences_follow(struct ghost_fences *fences, int clients, const struct fence_step *step);

void ghost_fences_rename(struct ghost_fences *fences, const uint8_t *new_position);

#endif
