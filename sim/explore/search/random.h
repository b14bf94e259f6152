/* random.h - random search: seeded runs from the start, in slices of one strategy after another.
 *
 * For what is too large to be searched exhaustively. The same seed gives the same outcome, byte
 * for byte, unless the clock ends it. What was violated is shortened (shrink.h, minimize.h);
 * what was not is unknown, never safe. */
#ifndef PICKLOCK_EXPLORE_SEARCH_RANDOM_H
#define PICKLOCK_EXPLORE_SEARCH_RANDOM_H

#include "explore/search/explore.h"

/* Fills what a random search has to say: the options are good, the outcome is zeroed but for how
 * witnesses are replayed. FAIL_INPUT: the scheme broke a rule. */
enum fail random_search(const struct explore_options *options, struct explore_outcome *outcome,
                        struct failure *failure);

#endif
