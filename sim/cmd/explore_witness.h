/* explore_witness.h - what becomes of the witnesses that were found: schedules and histories, and
 * the proof on real Redis. */
#ifndef PICKLOCK_CMD_EXPLORE_WITNESS_H
#define PICKLOCK_CMD_EXPLORE_WITNESS_H

#include "cmd/explore_cells.h"
#include "run/worker_replays.h"

/* Replays every witness on a real redis-server and fills cells->on_redis; one that it does not
 * follow is told on stderr, those that it did not come to in results. FAIL_UNAVAILABLE: no server.
 */
enum fail explore_witness_confirm(struct cells *cells, const struct explore_args *args,
                                  struct results *results, struct failure *failure);

/* Writes each violated property of a cell into the run folder, as a schedule and as the history of
 * its replay in the simulated world (program, not NULL: of that worker), and says so in its row.
 * results: that the cells were added to. replays: what was replayed already; NULL: nothing. */
enum fail explore_witness_write(const struct cells *cells, struct results *results,
                                struct worker_program *program, struct worker_replays *replays,
                                const char *folder, struct failure *failure);

#endif
