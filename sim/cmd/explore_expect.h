/* explore_expect.h - which replays will come, so that their processes are started ahead. */
#ifndef PICKLOCK_CMD_EXPLORE_EXPECT_H
#define PICKLOCK_CMD_EXPLORE_EXPECT_H

#include "cmd/explore_cells.h"
#include "run/worker_replays.h"

/* Of those cells from that one on, none of which was finished. Who acts may turn out to be somebody
 * else: then processes have been started for nothing, and no more. */
void explore_expect_replays(struct worker_replays *replays, struct cells *cells, int first,
                            const struct worker_program *program);

#endif
