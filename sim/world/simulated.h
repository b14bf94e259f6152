/* simulated.h - the simulated world: virtual time, the model of a server, messages in flight as
 * data.
 *
 * This is the directed form (one choice at a time, microseconds, a history of events), behind
 * scenario/world.h; the explorer searches over a compact form of the same client and model. No I/O,
 * no real clock, no malloc after world_simulated_new(). */
#ifndef PICKLOCK_WORLD_SIMULATED_H
#define PICKLOCK_WORLD_SIMULATED_H

#include "scenario/world.h"

/* Every choice but TIME takes CHOICE_TAKES_US of virtual time, so that events have distinct,
 * readable times. */
enum { CHOICE_TAKES_US = 100 };

/* run is kept. The caller frees with ops->free. */
struct world *world_simulated_new(const struct run *run);

#endif
