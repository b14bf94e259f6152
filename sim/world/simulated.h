/* simulated.h - the simulated world: virtual time, the model of a server, messages in flight as
 * data.
 *
 * The core (core.h) over servers of redis/model.h; the explorer searches over a compact form of the
 * same clients and model. No I/O, no real clock, no malloc after world_simulated_new(). */
#ifndef PICKLOCK_WORLD_SIMULATED_H
#define PICKLOCK_WORLD_SIMULATED_H

#include "world/core.h"

/* run is kept. The caller frees with ops->free. */
struct world *world_simulated_new(const struct run *run);

#endif
