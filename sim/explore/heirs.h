/* heirs.h - what a client's moves lead to next to the only server, computed once for each pair of
 * their records.
 *
 * Most moves change one word of a state, or two, and there is no more to tell of them. What they
 * lead to is listed here, beside those moves of which there is more: for these steps.c must be
 * asked. */
#ifndef PICKLOCK_EXPLORE_HEIRS_H
#define PICKLOCK_EXPLORE_HEIRS_H

#include "explore/visited.h"

struct space;

enum heir_kind {
    HEIR_QUICK, /* these words, and that is all */
    HEIR_GRANT, /* the same, when nobody else holds the lock: then it is granted */
    HEIR_SLOW,
};

/* One move. */
struct heir {
    visited_sum change;   /* of a state's sum */
    uint32_t local, post; /* after it */
    uint16_t move;        /* of the local's: which of them, from 0 */
    uint8_t kind;         /* enum heir_kind */
    uint8_t hearing;      /* enum hearing */
};

/* The moves of a client, in their order. */
struct heir_list {
    uint64_t key;
    uint32_t start;
    uint8_t count;
    uint8_t count_free; /* up to the last that costs no fault */
    bool is_urgent;     /* of the local */
};

struct heirs {
    struct heir_list *lists; /* hash table, at most half full; key 0: empty */
    struct heir *heirs;
    uint32_t lists_count, lists_size, heirs_count, heirs_size;
    bool are_too_many;             /* no more are made, and it is not worth while to look for one */
    const struct visited *visited; /* whose sums; borrowed */
};

void heirs_init(struct heirs *heirs);
void heirs_close(struct heirs *heirs);
size_t heirs_bytes(const struct heirs *heirs);

/* Makes the list that is not there. NULL: there are too many. */
const struct heir_list *heirs_list(struct heirs *heirs, struct space *space, uint64_t key);

static inline uint64_t heirs_key(uint32_t local, uint32_t post, int client)
{
    return ((uint64_t)local << 32 | (uint64_t)post << 4 | (uint64_t)client) + 1;
}

static inline uint32_t heirs_home(const struct heirs *heirs, uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & (heirs->lists_size - 1);
}

/* Of the client at that position, which is that local, beside that post; or NULL. It is good, and
 * the heirs are, until the next look. */
static inline const struct heir_list *heirs_of(struct heirs *heirs, struct space *space,
                                               uint32_t local, uint32_t post, int client)
{
    uint64_t key = heirs_key(local, post, client);
    uint32_t mask = heirs->lists_size - 1;
    for (uint32_t at = heirs_home(heirs, key);; at = (at + 1) & mask) {
        if (heirs->lists[at].key == key)
            return &heirs->lists[at];
        if (heirs->lists[at].key == 0)
            return heirs_list(heirs, space, key);
    }
}

#endif
