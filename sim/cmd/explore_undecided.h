/* explore_undecided.h - cells of a worker that are searched by running it: what is found so, and
 * confirmed, counts. Those that asking it once has left unknown (explore_asking.h) stay so where
 * nothing is found; of those that asking does not do at all (samples) it is told in how many runs
 * nothing was. */
#ifndef PICKLOCK_CMD_EXPLORE_UNDECIDED_H
#define PICKLOCK_CMD_EXPLORE_UNDECIDED_H

#include "cmd/explore_args.h"
#include "cmd/explore_cells.h"
#include "run/worker_search.h"

enum { UNDECIDED_RUNS = 100 }; /* of a cell, at most; --budget ends them earlier */

/* worker_search_cell(), and tells how far it is: of so many cells that one. why: it is run, behind
 * its name. A heartbeat has begun. */
enum fail explore_run_cell(struct worker_search *search, struct cell *cell, const char *why, int at,
                           int count, struct failure *failure);

/* Failures end the program, as of worker_search_cell(). */
enum fail explore_undecided_run(struct cells *cells, struct worker_search *search,
                                const struct explore_args *args, struct failure *failure);

/* Has the cell a fault that asking does not decide, or is it a sample anyway? */
bool explore_is_sample(const struct cell *cell);

/* Runs all of these cells. */
enum fail explore_samples_run(struct cells *cells, struct worker_search *search,
                              const struct explore_args *args, struct failure *failure);

#endif
