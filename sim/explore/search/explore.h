/* explore.h - every interleaving of a scheme up to a bound: "holds up to here", or the shortest
 * schedule that breaks it. Or, where there are too many: as many as a random search gets to.
 *
 * Breadth-first over hashed states, faults before events: a witness has the fewest faults, then the
 * fewest events. The scheme's own step function, world/client.c and redis/model.c are run; nothing
 * is modelled a second time. A witness is a list of choices that either world can replay. Pure: no
 * I/O; the clock is the caller's, asked only to keep to the deadline. */
#ifndef PICKLOCK_EXPLORE_SEARCH_EXPLORE_H
#define PICKLOCK_EXPLORE_SEARCH_EXPLORE_H

#include "explore/search/outcome.h"

/* One search. *outcome: explore_outcome_free. FAIL_INPUT: options out of bounds, with why. */
enum fail explore(const struct explore_options *options, struct explore_outcome *outcome,
                  struct failure *failure);
void explore_outcome_free(struct explore_outcome *outcome);

const char *explore_end_words(enum explore_end end);

#endif
