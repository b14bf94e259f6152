/* breadth_first.h - for tests that look at every step: states in the order in which they are first
 * led to, each in hand once. */
#ifndef PICKLOCK_TEST_BREADTH_FIRST_H
#define PICKLOCK_TEST_BREADTH_FIRST_H

#include "explore/steps.h"
#include "explore/visited.h"

struct breadth {
    struct space space;
    struct stepper stepper;
    struct visited visited;
    uint32_t next;             /* state */
    uint32_t words[WORDS_MAX]; /* in hand */
};

/* Is it new? */
static inline bool breadth_put(struct breadth *it, const uint32_t *words)
{
    bool is_new;
    visited_put(&it->visited, visited_print(&it->visited, words), words, 0, &is_new);
    return is_new;
}

/* The options are borrowed; take is what the stepper calls. */
static inline void breadth_open(struct breadth *it, const struct explore_options *options,
                                void (*take)(void *context, const struct step_taken *step),
                                void *context)
{
    memset(it, 0, sizeof *it);
    space_init(&it->space, options);
    stepper_init(&it->stepper, &it->space, options);
    it->stepper.take = take;
    it->stepper.context = context;
    visited_init(&it->visited, space_words(&it->space), 1, true);
    it->space.heirs.visited = &it->visited;
    stepper_start(&it->stepper, options, it->words);
    breadth_put(it, it->words);
}

/* Takes the next one in hand; false: there is none, or so many were. */
static inline bool breadth_next(struct breadth *it, uint32_t most)
{
    if (it->next == it->visited.count || it->next == most)
        return false;
    memcpy(it->words, visited_words(&it->visited, it->next++),
           (size_t)it->visited.words * sizeof *it->words);
    return true;
}

static inline void breadth_close(struct breadth *it)
{
    visited_close(&it->visited);
    space_close(&it->space);
}

#endif
