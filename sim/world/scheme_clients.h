/* scheme_clients.h - clients that run the run's scheme, in C, step by step (client.h). */
#ifndef PICKLOCK_WORLD_SCHEME_CLIENTS_H
#define PICKLOCK_WORLD_SCHEME_CLIENTS_H

#include "world/clients.h"

/* run is kept. epoch_us: what their clocks say at world time 0. Ended by ops->free. */
struct clients *scheme_clients_new(const struct run *run, int64_t epoch_us);

#endif
