/* ring.h - states that steps led to, on their way into the table: the memory that each will need is
 * fetched meanwhile.
 *
 * Most steps change one word of a state, or two: then the fingerprint of the state before is put
 * right instead of computed anew, and no more is written down of the step than its state. */
#ifndef PICKLOCK_EXPLORE_RING_H
#define PICKLOCK_EXPLORE_RING_H

#include "explore/space.h"
#include "explore/visited.h"

/* RING_FULL: of so many, the oldest goes on. The rest is room for what is pushed without a look at
 * who waits: the moves of a client. */
enum { RING = 128, RING_FULL = 16 };

struct candidate {
    uint64_t print;
    uint32_t from;
    uint32_t words[WORDS_MAX];
};

struct ring {
    const struct visited *visited;
    unsigned popped, pushed;   /* ever */
    bool has_grant;            /* among the quick steps of the state in hand */
    uint32_t from;             /* the state in hand */
    uint32_t words[WORDS_MAX]; /* its words */
    visited_sum sum;           /* and theirs */
    struct candidate waiting[RING];
};

static inline bool ring_is_empty(const struct ring *ring)
{
    return ring->popped == ring->pushed;
}

static inline bool ring_is_full(const struct ring *ring)
{
    return ring->pushed - ring->popped >= RING_FULL;
}

/* For so many? */
static inline bool ring_has_room(const struct ring *ring, unsigned count)
{
    return ring->pushed - ring->popped + count <= RING;
}

/* The oldest one, which leaves the ring; good until the next push. */
static inline const struct candidate *ring_pop(struct ring *ring)
{
    return &ring->waiting[ring->popped++ % RING];
}

static inline void ring_add(struct ring *ring, struct candidate *it, uint64_t print, uint32_t from)
{
    it->print = print;
    it->from = from;
    ring->pushed++;
    VISITED_PREFETCH(visited_home(ring->visited, print));
}

/* Any state. */
static inline void ring_push(struct ring *ring, const uint32_t *words, uint32_t from)
{
    struct candidate *it = &ring->waiting[ring->pushed % RING];
    ring_add(ring, it, visited_print_copied(ring->visited, words, it->words), from);
}

/* From here on, states are near this one: for ring_push_near(). */
static inline void ring_approach(struct ring *ring, const uint32_t *words)
{
    words_copy(ring->words, words, ring->visited->words);
    ring->sum = visited_sum_of(ring->visited, words);
}

/* The state in hand with that sum, once the caller has put right the words that differ: all of
 * them, in what is returned. */
static inline uint32_t *ring_push_near(struct ring *ring, visited_sum sum)
{
    struct candidate *it = &ring->waiting[ring->pushed % RING];
    memcpy(it->words, ring->words, sizeof it->words / 2);
    if (ring->visited->words > WORDS_MAX / 2)
        memcpy(it->words + WORDS_MAX / 2, ring->words + WORDS_MAX / 2, sizeof it->words / 2);
    ring_add(ring, it, visited_print_of(sum), ring->from);
    return it->words;
}

#endif
