/* breadth_first.h - for tests that look at every step: states in the order in which they are first
 * led to, each in hand once. */
#ifndef PICKLOCK_TEST_BREADTH_FIRST_H
#define PICKLOCK_TEST_BREADTH_FIRST_H

#include "explore/graph/successors.h"
#include "explore/store/fingerprint_set.h"

struct breadth {
    struct state_space space;
    struct successors successors;
    struct fingerprint_set visited;
    uint32_t next;             /* state */
    uint32_t words[WORDS_MAX]; /* in hand */
};

/* Is it new? */
static inline bool breadth_put(struct breadth *it, const uint32_t *words)
{
    bool is_new;
    fingerprint_set_put(&it->visited, fingerprint_of(&it->visited, words), words, 0, &is_new);
    return is_new;
}

/* The options are borrowed; take is what the stepper calls. */
static inline void breadth_open(struct breadth *it, const struct explore_options *options,
                                void (*take)(void *context, const struct successor *step),
                                void *context)
{
    memset(it, 0, sizeof *it);
    space_init(&it->space, options);
    successors_init(&it->successors, &it->space, options);
    it->successors.take = take;
    it->successors.context = context;
    fingerprint_set_init(&it->visited, space_words(&it->space), 1, true);
    it->space.cache.visited = &it->visited;
    successors_start(&it->successors, options, it->words);
    breadth_put(it, it->words);
}

/* Takes the next one in hand; false: there is none, or so many were. */
static inline bool breadth_next(struct breadth *it, uint32_t most)
{
    if (it->next == it->visited.count || it->next == most)
        return false;
    memcpy(it->words, fingerprint_set_words(&it->visited, it->next++),
           (size_t)it->visited.words * sizeof *it->words);
    return true;
}

static inline void breadth_close(struct breadth *it)
{
    fingerprint_set_close(&it->visited);
    space_close(&it->space);
}

#endif
