/* heirs.h - what a client's moves lead to next to the only server, computed once for each pair of
 * their records.
 *
 * Most moves change one word of a state, or two, and there is no more to tell of them. What they
 * lead to is listed here, beside those moves of which there is more: for these steps.c must be
 * asked. */
#ifndef PICKLOCK_EXPLORE_HEIRS_H
#define PICKLOCK_EXPLORE_HEIRS_H

#include "explore/explore.h"
#include "explore/visited.h"

struct space;

enum heir_kind {
    HEIR_QUICK, /* these words, and that is all */
    HEIR_GRANT, /* the same, when nobody else holds the lock: then it is granted */
    HEIR_SLOW,
};

/* What a move has to do with the server; bits, for sets of them. Two moves of different clients
 * commute when one of them is local, or when both only read. */
enum heir_class {
    HEIR_LOCAL = 1,  /* nothing: it is what it is beside every post, and quick beside every one */
    HEIR_READS = 2,  /* what it is depends on the post, which it leaves as it is */
    HEIR_WRITES = 4, /* the post is another one after it */
    HEIR_GRANTS = 8, /* HEIR_GRANT: what it violates depends on the other clients, but not where it
                        leads to */
    HEIR_OTHER = 16, /* all else: HEIR_SLOW, and what not every client hears */
};

/* Sets of classes, one for each client, in one number: the first client's in the lowest bits. */
enum { CLASS_BITS = 5 };
_Static_assert(32 / EXPLORE_CLIENTS_MAX >= CLASS_BITS, "a client's classes have no room");

/* One move. */
struct heir {
    visited_sum change;   /* of a state's sum */
    uint32_t local, post; /* after it */
    uint32_t commutes;    /* with which moves of the others: sets of classes */
    uint8_t move;         /* of the local's: which of them, from 0 */
    uint8_t kind;         /* enum heir_kind */
    uint8_t hearing;      /* enum hearing */
    uint8_t class;        /* enum heir_class */
};

/* Which of a client's moves are possible: without a budget none that costs a fault. */
enum heir_wealth { HEIR_RICH, HEIR_POOR, HEIR_WEALTHS };

/* Beside the classes of a list's moves. */
enum list_note { LIST_CLASSES = 31, LIST_URGENT = 32, LIST_HOLDS = 64 };

/* The moves of a client, in their order. */
struct heir_list {
    uint64_t key;
    uint32_t start;
    uint8_t counts[HEIR_WEALTHS]; /* up to the last one that is possible */
    uint8_t notes[HEIR_WEALTHS];  /* of these: their classes, and enum list_note of the local */
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

static inline uint32_t heirs_home(uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);
}

/* Where that key is, or would be. */
static inline struct heir_list *heirs_seek(const struct heirs *heirs, uint64_t key)
{
    uint32_t mask = heirs->lists_size - 1, at = heirs_home(key) & mask;
    while (heirs->lists[at].key != key && heirs->lists[at].key != 0)
        at = (at + 1) & mask;
    return &heirs->lists[at];
}

/* Of the client at that position, which is that local, beside that post; or NULL. It is good, and
 * the heirs are, until the next look. */
static inline const struct heir_list *heirs_of(struct heirs *heirs, struct space *space,
                                               uint32_t local, uint32_t post, int client)
{
    uint64_t key = heirs_key(local, post, client);
    const struct heir_list *list = heirs_seek(heirs, key);
    return list->key ? list : heirs_list(heirs, space, key);
}

#endif
