/* insert_queue.h - the insert queue: successors on their way into the fingerprint set. The
 * memory that each will need is prefetched while it waits.
 *
 * Most steps change one word of a state, or two: then the fingerprint of the state before is
 * corrected instead of computed anew, and only the state is written down. */
#ifndef PICKLOCK_EXPLORE_STORE_INSERT_QUEUE_H
#define PICKLOCK_EXPLORE_STORE_INSERT_QUEUE_H

#include "explore/store/fingerprint_set.h"

/* QUEUE_FULL: of so many, all but the newest QUEUE_KEPT go on, in one go: how many follow a state
 * nobody can guess. The rest is room for what is pushed without a look at who waits: the actions of
 * clients. FAST_WORDS_MAX: words of a state next to the only server. */
enum { QUEUE = 128, QUEUE_FULL = 40, QUEUE_KEPT = 12, FAST_WORDS_MAX = 8 };

/* The word after those of the state: its sleep set (fast_path.h). */
struct queued_state {
    _Alignas(64) uint64_t fingerprint;
    uint32_t from;
    uint32_t words[FINGERPRINT_WORDS_MAX + 2];
    bool is_tick; /* it comes from there by a tick */
};

struct insert_queue {
    const struct fingerprint_set *visited;
    unsigned popped, pushed; /* ever */
    /* Of the state in hand. */
    bool has_grant;     /* among its cached steps */
    unsigned skipped;   /* its steps that were skipped, up to the one that is under way */
    uint32_t from;      /* its number */
    uint32_t sleep_set; /* its sleep set: sets of enum dependence_class */
    uint32_t words[FAST_WORDS_MAX];
    fingerprint_sum sum;
    struct queued_state waiting[QUEUE];
};

static inline bool insert_queue_is_empty(const struct insert_queue *queue)
{
    return queue->popped == queue->pushed;
}

static inline bool insert_queue_is_full(const struct insert_queue *queue)
{
    return queue->pushed - queue->popped >= QUEUE_FULL;
}

/* For so many? */
static inline bool insert_queue_has_room(const struct insert_queue *queue, unsigned count)
{
    return queue->pushed - queue->popped + count <= QUEUE;
}

/* The oldest one, which leaves the queue; good until the next push. */
static inline const struct queued_state *insert_queue_pop(struct insert_queue *queue)
{
    return &queue->waiting[queue->popped++ % QUEUE];
}

static inline void insert_queue_add(struct insert_queue *queue, struct queued_state *it,
                                    uint64_t fingerprint, uint32_t from, bool is_tick)
{
    it->fingerprint = fingerprint;
    it->from = from;
    it->is_tick = is_tick;
    queue->pushed++;
    FINGERPRINT_PREFETCH(fingerprint_set_home(queue->visited, fingerprint));
}

/* Any state. */
static inline void insert_queue_push(struct insert_queue *queue, const uint32_t *words,
                                     uint32_t from, bool is_tick)
{
    struct queued_state *it = &queue->waiting[queue->pushed % QUEUE];
    it->words[queue->visited->words] = 0;
    insert_queue_add(queue, it, fingerprint_of_copied(queue->visited, words, it->words), from,
                     is_tick);
}

/* From here on, states are near this one: for insert_queue_push_changed(). */
static inline void insert_queue_approach(struct insert_queue *queue, const uint32_t *words)
{
    memcpy(queue->words, words, sizeof queue->words / 2);
    if (queue->visited->words > FAST_WORDS_MAX / 2)
        memcpy(queue->words + FAST_WORDS_MAX / 2, words + FAST_WORDS_MAX / 2,
               sizeof queue->words / 2);
    queue->sum = fingerprint_sum_of(queue->visited, words);
}

#endif
