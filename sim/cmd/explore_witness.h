/* explore_witness.h - what becomes of the witnesses that were found: schedules, and the proof on
 * real Redis. */
#ifndef PICKLOCK_CMD_EXPLORE_WITNESS_H
#define PICKLOCK_CMD_EXPLORE_WITNESS_H

#include "cmd/explore_cells.h"

/* A schedule a violated property of a cell, into the folder out (made where missing). */
enum fail explore_witness_write(const struct cells *cells, const char *out,
                                struct failure *failure);

/* Replays every witness on a real redis-server and fills cells->on_redis; *unconfirmed: how many it
 * did not follow, each told on stderr. FAIL_UNAVAILABLE: no server. */
enum fail explore_witness_confirm(struct cells *cells, const struct explore_args *args,
                                  int *unconfirmed, struct failure *failure);

#endif
