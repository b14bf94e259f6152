/* ring.h - states that steps led to, on their way into the table: the memory that each will need is
 * fetched meanwhile.
 *
 * Most steps change one word of a state, or two: then the fingerprint of the state before is put
 * right instead of computed anew, and no more is written down of the step than its state. */
#ifndef PICKLOCK_EXPLORE_RING_H
#define PICKLOCK_EXPLORE_RING_H

#include "explore/space.h"
#include "explore/visited.h"

/* RING_FULL: of so many, all but the newest RING_WAITS go on, in one go: how many follow a state
 * nobody can guess. The rest is room for what is pushed without a look at who waits: the moves of
 * clients. NEAR_WORDS_MAX: words of a state next to the only server. */
enum { RING = 128, RING_FULL = 40, RING_WAITS = 12, NEAR_WORDS_MAX = 8 };

_Static_assert(EXPLORE_CLIENTS_MAX + 2 <= NEAR_WORDS_MAX, "a state in hand has no room");

/* The word after those of the state: what sleeps in it (near.h). */
struct candidate {
    _Alignas(64) uint64_t print;
    uint32_t from;
    uint32_t words[WORDS_MAX + 2];
    bool is_tick; /* it comes from there by a tick */
};

struct ring {
    const struct visited *visited;
    unsigned popped, pushed; /* ever */
    /* Of the state in hand. */
    bool has_grant;  /* among its quick steps */
    unsigned slept;  /* its steps that slept, up to the one that is under way */
    uint32_t from;   /* its number */
    uint32_t asleep; /* what sleeps: sets of enum heir_class */
    uint32_t words[NEAR_WORDS_MAX];
    visited_sum sum;
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

static inline void ring_add(struct ring *ring, struct candidate *it, uint64_t print, uint32_t from,
                            bool is_tick)
{
    it->print = print;
    it->from = from;
    it->is_tick = is_tick;
    ring->pushed++;
    VISITED_PREFETCH(visited_home(ring->visited, print));
}

/* Any state. */
static inline void ring_push(struct ring *ring, const uint32_t *words, uint32_t from, bool is_tick)
{
    struct candidate *it = &ring->waiting[ring->pushed % RING];
    it->words[ring->visited->words] = 0;
    ring_add(ring, it, visited_print_copied(ring->visited, words, it->words), from, is_tick);
}

/* From here on, states are near this one: for ring_push_near(). */
static inline void ring_approach(struct ring *ring, const uint32_t *words)
{
    memcpy(ring->words, words, sizeof ring->words / 2);
    if (ring->visited->words > NEAR_WORDS_MAX / 2)
        memcpy(ring->words + NEAR_WORDS_MAX / 2, words + NEAR_WORDS_MAX / 2,
               sizeof ring->words / 2);
    ring->sum = visited_sum_of(ring->visited, words);
}

/* The state in hand after a move of that client; nothing sleeps in it. */
static inline void ring_push_near(struct ring *ring, const struct heir *heir, int client,
                                  int clients)
{
    struct candidate *it = &ring->waiting[ring->pushed % RING];
    memcpy(it->words, ring->words, sizeof ring->words);
    it->words[client] = heir->local;
    it->words[clients] = heir->post;
    it->words[ring->visited->words] = 0;
    ring_add(ring, it, visited_print_of(ring->sum + heir->change), ring->from, false);
}

#endif
