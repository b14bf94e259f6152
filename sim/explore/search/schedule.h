/* schedule.h - a step of the explorer as choices of a schedule, which either world can make. */
#ifndef PICKLOCK_EXPLORE_SEARCH_SCHEDULE_H
#define PICKLOCK_EXPLORE_SEARCH_SCHEDULE_H

#include "explore/graph/successors.h"

enum { TRANSLATED_MAX = 1 + EXPLORE_CLIENTS_MAX };

/* The lease of a schedule, and a tick of it: one unit and one percent, so that a lease of n ticks
 * is over after n of them and not before, however many choices lie in between (each takes some of
 * the time), and so that stamps in whole seconds count ticks. */
int64_t translate_lease_us(const struct config *config);
int64_t translate_tick_us(const struct config *config);

/* Fills choices (TRANSLATED_MAX); returns how many: none for a pause, which is nothing but the time
 * that passes; behind that, clocks that drift no longer. words: the state before the step; clients
 * and servers are positions in it. */
int translate_step(const struct state_space *space, const uint32_t *words,
                   const struct successor *step, struct choice *choices);

#endif
