/* explore_minimal_faults.h - `picklock explore --frontier`: the minimal fault sets of several
 * schemes, searched side by side, and what is printed of them. */
#ifndef PICKLOCK_CMD_EXPLORE_MINIMAL_FAULTS_H
#define PICKLOCK_CMD_EXPLORE_MINIMAL_FAULTS_H

#include "cmd/explore_asking.h"
#include "explore/result/minimal_faults.h"

#include <stdio.h>

/* At most so many states for two faults at once, where the rows carry no limit of their own. */
enum { FRONTIER_STATES = 500000 };

/* All sets of a weight are searched before the next is chosen. As worker_pool_run. */
enum fail explore_minimal_faults_run(struct minimal_faults *minimals, int count, int jobs,
                                     struct failure *failure);

/* The same of a worker, by asking it: all sets at once, since they share its answers. */
enum fail explore_minimal_faults_ask(struct minimal_faults *minimal, struct explore_asking *asking,
                                     const struct explore_args *args, struct failure *failure);

/* A paragraph a scheme, a line a property. */
void explore_minimal_faults_print(FILE *out, const struct minimal_faults *minimals, int count);

#endif
