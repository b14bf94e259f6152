/* heirs.h - what a client's moves lead to next to the only server, computed once for each pair of
 * their records.
 *
 * Most moves change one word of a state, or two, and there is no more to tell of them. What they
 * lead to is listed here, beside those moves of which there is more: for these steps.c must be
 * asked. */
#ifndef PICKLOCK_EXPLORE_HEIRS_H
#define PICKLOCK_EXPLORE_HEIRS_H

#include "base/bits.h"
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
#define HEIR_CLASSES(BIT)                                                                          \
    BIT(HEIR_LOCAL) /* nothing: it is what it is beside every post, and quick beside every one */  \
    BIT(HEIR_READS) /* what it is depends on the post, which it leaves as it is */                 \
    BIT(HEIR_WRITES) /* the post is another one after it */                                        \
    BIT(HEIR_GRANTS) /* HEIR_GRANT: what it violates depends on the other clients, not where it leads */ \
    BIT(HEIR_OTHER) /* all else: HEIR_SLOW, and what not every client hears */
BITS(heir_class, HEIR_CLASSES);

/* Sets of classes, one for each client, in one number: the first client's in the lowest bits. */
enum { CLASS_BITS = HEIR_CLASSES_WIDTH };
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

BITS_FIT(HEIR_CLASSES, struct heir, class);

/* Which of a client's moves are possible: without a budget none that costs a fault. */
enum heir_wealth { HEIR_RICH, HEIR_POOR, HEIR_WEALTHS };

/* Beside the classes of a list's moves. LIST_MADE: of every list that is there. */
enum list_note {
    LIST_CLASSES = HEIR_CLASSES_ALL,
    LIST_URGENT = 1 << HEIR_CLASSES_WIDTH,
    LIST_HOLDS = LIST_URGENT << 1,
    LIST_MADE = LIST_HOLDS << 1,
};
_Static_assert(LIST_MADE <= UINT8_MAX, "a list's notes are a byte");

/* The moves of a client, in their order. */
struct heir_list {
    uint32_t start;
    uint8_t counts[HEIR_WEALTHS]; /* up to the last one that is possible */
    uint8_t notes[HEIR_WEALTHS];  /* of these: their classes, and enum list_note of the local */
};

/* Lists lie in blocks, of so many locals whose numbers follow each other, beside one post and of
 * one client: records of which one leads to the other are often numbered so, and a search looks for
 * lists in a few cache lines. */
enum { BLOCK_BITS = 4, BLOCK_LISTS = 1 << BLOCK_BITS };

struct heirs {
    /* Where each block begins in the lists, by post, then client, then locals; 0: at the first one,
     * of which no list is ever made. There is room for so many locals and posts. */
    uint32_t *blocks;
    uint32_t locals_end, posts_end;
    int clients;
    struct heir_list *lists;
    struct heir *heirs;
    uint32_t lists_made, lists_count; /* those that are there; those with a place in a block */
    uint32_t lists_size, heirs_count, heirs_size;
    bool are_too_many;             /* no more are made, and it is not worth while to look for one */
    const struct visited *visited; /* whose sums; borrowed */
};

/* Of a client at that position, which is that local, beside that post. */
struct heir_key {
    uint32_t local, post;
    int client;
};

void heirs_init(struct heirs *heirs, int clients);
void heirs_close(struct heirs *heirs);
size_t heirs_bytes(const struct heirs *heirs);

/* Makes the list that is not there. NULL: there are too many. */
const struct heir_list *heirs_list(struct heirs *heirs, struct space *space, struct heir_key key);

/* The blocks beside a post for which there is room: those of its first client. */
static inline const uint32_t *heirs_blocks(const struct heirs *heirs, uint32_t post)
{
    return heirs->blocks +
           (size_t)post * (unsigned)heirs->clients * (heirs->locals_end >> BLOCK_BITS);
}

/* Where the list of a local is, for which there is room, by the blocks of its client. */
static inline struct heir_list *heirs_seek(const struct heirs *heirs, const uint32_t *blocks,
                                           uint32_t local)
{
    return &heirs->lists[blocks[local >> BLOCK_BITS] + local % BLOCK_LISTS];
}

/* The list of that key, or NULL. It is good, and the heirs are, until the next look. */
static inline const struct heir_list *heirs_of(struct heirs *heirs, struct space *space,
                                               struct heir_key key)
{
    if (key.local < heirs->locals_end && key.post < heirs->posts_end) {
        const uint32_t *blocks = heirs_blocks(heirs, key.post) +
                                 (unsigned)key.client * (heirs->locals_end >> BLOCK_BITS);
        const struct heir_list *list = heirs_seek(heirs, blocks, key.local);
        if (list->notes[HEIR_RICH])
            return list;
    }
    return heirs_list(heirs, space, key);
}

#endif
