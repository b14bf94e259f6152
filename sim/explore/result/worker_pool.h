/* worker_pool.h - a worker pool: several searches of cells at a time, in threads.
 *
 * Each search is by itself, so neither the order nor the number of jobs changes a result. */
#ifndef PICKLOCK_EXPLORE_RESULT_WORKER_POOL_H
#define PICKLOCK_EXPLORE_RESULT_WORKER_POOL_H

#include "explore/result/cell.h"

/* Called after each cell that is done, by one thread at a time; NULL: nobody watches. */
typedef void worker_pool_watch(int done, int count);

/* Runs every cell. FAIL_UNKNOWN: stopped by a signal. */
enum fail worker_pool_run(struct cell **cells, int count, int jobs, worker_pool_watch *watch,
                          struct failure *failure);

#endif
