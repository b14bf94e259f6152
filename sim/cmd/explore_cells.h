/* explore_cells.h - the cells that `picklock explore` was asked for: scheme x faults, each
 * searched.
 */
#ifndef PICKLOCK_CMD_EXPLORE_CELLS_H
#define PICKLOCK_CMD_EXPLORE_CELLS_H

#include "cmd/explore_args.h"
#include "cmd/output.h"
#include "explore/result/minimal_faults.h"
#include "explore/result/worker_pool.h"

/* Cells, and what --confirm found, for each cell and property. */
struct cells {
    struct cell *rows;
    enum confirmed (*on_redis)[PROPERTY_COUNT];
    int count;
    int first_row; /* of the results that they were added to */
    struct minimal_faults
        *minimals; /* with --frontier, one a scheme of the shard; its rows are borrowed by `rows` */
    int minimals_count;
};

/* Makes and searches every cell that falls to the shard; *whole: how many all shards have (with
 * --frontier: schemes). In any case: cells_close. FAIL_UNKNOWN: stopped by a signal. */
enum fail cells_fill(struct cells *cells, const struct explore_args *args,
                     const struct scheme_list *wanted, const struct shard *shard, int64_t *whole,
                     struct failure *failure);

/* That a signal ended it early: the results are then unknown as a whole. */
void cells_note_interruption(const struct cells *cells, const struct explore_args *args,
                             struct results *results);

/* Appends the rows of the cells, and notes what they rest on. */
void cells_add_rows(struct cells *cells, const struct explore_args *args, struct results *results);

void cells_close(struct cells *cells);

/* Searches the cells, so many at a time, and tells how far that is (heartbeat.h). deadline_us: for
 * all of them, 0: none. As worker_pool_run(). */
enum fail cells_search(struct cell **cells, int count, int jobs, int64_t deadline_us,
                       struct failure *failure);

#endif
