/* successor_cache.h - the successor cache: what the actions of a client lead to next to the only
 * server, computed once for each pair of client state and server state.
 *
 * Most actions change one word of a state, or two, and nothing else is to be known of them.
 * Their successors are cached here with the change of the fingerprint; of the other actions it
 * is cached that successors.c must be asked. */
#ifndef PICKLOCK_EXPLORE_GRAPH_SUCCESSOR_CACHE_H
#define PICKLOCK_EXPLORE_GRAPH_SUCCESSOR_CACHE_H

#include "base/bits.h"
#include "explore/model/options.h"
#include "explore/store/fingerprint_set.h"

struct state_space;

enum cached_kind {
    CACHED_WHOLE, /* these words, and that is all */
    CACHED_GRANT, /* the same, when nobody else holds the lock: then it is granted */
    CACHED_NOT,
};

/* What an action has to do with the server; bits, for sets of them. Two actions of different
 * clients commute when one of them is local (independence.h: WHEN_QUIET), or when both only read.
 */
#define DEPENDENCE_CLASSES(BIT)                                                                    \
    BIT(CLASS_LOCAL)  /* nothing: it is what it is beside every server state, and quick beside     \
                         every one */                                                              \
    BIT(CLASS_READS)  /* what it is depends on the server state, which it leaves as it is */       \
    BIT(CLASS_WRITES) /* the server state is another one after it */                               \
    BIT(CLASS_GRANTS) /* CACHED_GRANT: what it violates depends on the other clients, not where it \
                         leads */                                                                  \
    BIT(CLASS_OTHER)  /* all else: CACHED_NOT, and what not every client hears */
BITS(dependence_class, DEPENDENCE_CLASSES);

/* Sets of classes, one for each client, in one number: the first client's in the lowest bits. */
enum { CLASS_BITS = DEPENDENCE_CLASSES_WIDTH };
_Static_assert(32 / EXPLORE_CLIENTS_MAX >= CLASS_BITS, "a client's classes have no room");

/* One action. */
struct cached_successor {
    fingerprint_sum change;              /* of a state's sum */
    uint32_t client_state, server_state; /* after it */
    uint32_t commutes;                   /* with which actions of the others: sets of classes */
    uint8_t action;                      /* of the client state's: which of them, from 0 */
    uint8_t kind;                        /* enum cached_kind */
    uint8_t hearing;                     /* enum hearing */
    uint8_t class;                       /* enum dependence_class */
};

BITS_FIT(DEPENDENCE_CLASSES, struct cached_successor, class);

/* Which of a client's actions are possible: without a budget none that costs a fault. */
enum budget_case { WITH_BUDGET, WITHOUT_BUDGET, BUDGET_CASES };

/* Beside the classes of a list's moves. LIST_MADE: of every list that is there. */
enum list_note {
    LIST_CLASSES = DEPENDENCE_CLASSES_ALL,
    LIST_URGENT = 1 << DEPENDENCE_CLASSES_WIDTH,
    LIST_HOLDS = LIST_URGENT << 1,
    LIST_MADE = LIST_HOLDS << 1,
};
_Static_assert(LIST_MADE <= UINT8_MAX, "a list's notes are a byte");

/* The actions of a client, in their order. */
struct cached_list {
    uint32_t start;
    uint8_t counts[BUDGET_CASES]; /* up to the last one that is possible */
    uint8_t
        notes[BUDGET_CASES]; /* of these: their classes, and enum list_note of the client state */
};

/* Lists lie in blocks, of so many client states whose numbers follow each other, beside one server
 * state and of one client: records of which one leads to the other are often numbered so, and a
 * search looks for lists in a few cache lines. */
enum { BLOCK_BITS = 4, BLOCK_LISTS = 1 << BLOCK_BITS };

struct successor_cache {
    /* Where each block begins in the lists, by server state, then client, then client states; 0: at
     * the first one, of which no list is ever made. There is room for so many client states and
     * server states. */
    uint32_t *blocks;
    uint32_t client_states_end, server_states_end;
    int clients;
    struct cached_list *lists;
    struct cached_successor *entries;
    uint32_t lists_made, lists_count; /* those that are there; those with a place in a block */
    uint32_t lists_size, entries_count, entries_size;
    bool are_too_many; /* no more are made, and it is not worth while to look for one */
    const struct fingerprint_set *visited; /* whose sums; borrowed */
};

/* Of a client at that position, which is that client state, beside that server state. */
struct cache_key {
    uint32_t client_state, server_state;
    int client;
};

void successor_cache_init(struct successor_cache *cache, int clients);
void successor_cache_close(struct successor_cache *cache);
size_t successor_cache_bytes(const struct successor_cache *cache);

/* Makes the list that is not there. NULL: there are too many. */
const struct cached_list *successor_cache_make(struct successor_cache *cache,
                                               struct state_space *space, struct cache_key key);

/* The blocks beside a server state for which there is room: those of its first client. */
static inline const uint32_t *successor_cache_blocks(const struct successor_cache *cache,
                                                     uint32_t server_state)
{
    return cache->blocks + (size_t)server_state * (unsigned)cache->clients *
                               (cache->client_states_end >> BLOCK_BITS);
}

/* Where the list of a client state is, for which there is room, by the blocks of its client. */
static inline struct cached_list *successor_cache_seek(const struct successor_cache *cache,
                                                       const uint32_t *blocks,
                                                       uint32_t client_state)
{
    return &cache->lists[blocks[client_state >> BLOCK_BITS] + client_state % BLOCK_LISTS];
}

/* The list of that key, or NULL. It is good, and the cached successors are, until the next look. */
static inline const struct cached_list *
successor_cache_of(struct successor_cache *cache, struct state_space *space, struct cache_key key)
{
    if (key.client_state < cache->client_states_end &&
        key.server_state < cache->server_states_end) {
        const uint32_t *blocks = successor_cache_blocks(cache, key.server_state) +
                                 (unsigned)key.client * (cache->client_states_end >> BLOCK_BITS);
        const struct cached_list *list = successor_cache_seek(cache, blocks, key.client_state);
        if (list->notes[WITH_BUDGET])
            return list;
    }
    return successor_cache_make(cache, space, key);
}

#endif
