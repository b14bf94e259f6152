/* explore_pace.h - how fast a search is, and how long it may still take: of what a command says
 * while it searches (heartbeat.h). */
#ifndef PICKLOCK_CMD_EXPLORE_PACE_H
#define PICKLOCK_CMD_EXPLORE_PACE_H

#include "cmd/heartbeat.h"
#include "explore/model/options.h"

/* Fills in what is told of the search itself: its states, their rate, its depth, its time left. */
void explore_pace(const struct explore_progress *progress, struct heartbeat_figures *figures);

#endif
