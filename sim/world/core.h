/* core.h - a directed world, whatever carries it out: one choice at a time, one set of rules.
 *
 * Keeps messages and connections; says which choices are possible, and in which words they are
 * refused; writes every event. What happens at servers and on connections is the backend's
 * (backend.h), what clients do is theirs (clients.h). Behind scenario/world.h. Pure: no I/O, no
 * real clock, no malloc after core_new(). */
#ifndef PICKLOCK_WORLD_CORE_H
#define PICKLOCK_WORLD_CORE_H

#include "world/backend.h"
#include "world/clients.h"

/* Where choices alone move time, every choice but TIME takes so long, so that events have distinct,
 * readable times. */
enum { CHOICE_TAKES_US = 100 };

/* Wall clock at world time 0 where time is steered: 2026-01-01T00:00:00Z. */
#define STEERED_EPOCH_US (INT64_C(1767225600) * 1000000)

/* Numbers of a client's connections, from 1: each channel to each server uses one at a time, and
 * each message may be on one that its channel has left. */
enum { CONNECTION_NONE, CONNECTIONS_MAX = LANE_COUNT * SERVERS_MAX + MESSAGES_MAX + 1 };

/* run is kept; backend and clients are taken: they end with the world. The caller frees with
 * ops->free. */
struct world *core_new(const struct run *run, struct backend *backend, struct clients *clients);

/* Its clients; the world's own. */
const struct clients *core_clients(const struct world *world);

#endif
