/* iterative.h - cost-bounded search in rounds: paths of at most so many events are looked for, then
 * of more, until what is sought is found. (Iterative deepening: Korf, "Depth-first
 * iterative-deepening: an optimal admissible tree search", 1985; here each round is breadth-first.)
 *
 * The next bound is that of the nearest state that was left out, and some room: no shorter path is
 * passed over. The room doubles, so that all rounds together cost little more than the last.
 * Conditions: reduce/lower_bound.h. Tests: test_lower_bound.c. */
#ifndef PICKLOCK_EXPLORE_SEARCH_ITERATIVE_H
#define PICKLOCK_EXPLORE_SEARCH_ITERATIVE_H

#include "explore/search/bfs.h"

struct iterative {
    const struct explore_options *options; /* borrowed */
    int faults;                            /* that what is sought takes, and no fewer */
    int events, room;                      /* of a path in this round, at most; more in the next */
    bool is_over;                          /* it was found, or a limit was reached */
};

/* False: no bound is known for what is sought, and nothing is begun. */
bool iterative_open(struct iterative *it, const struct explore_options *options, int faults);

/* The search of this round, to be run. */
void iterative_begin(const struct iterative *it, struct search *search);

/* It has run; has_all: it has found all that is sought. False: there is no further round. */
bool iterative_goes_on(struct iterative *it, const struct search *search, bool has_all);

#endif
