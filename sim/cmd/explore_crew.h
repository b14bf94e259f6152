/* explore_crew.h - several searches of the explorer's cells at a time.
 *
 * Each search is by itself, so neither the order nor the number of jobs changes a result. */
#ifndef PICKLOCK_CMD_EXPLORE_CREW_H
#define PICKLOCK_CMD_EXPLORE_CREW_H

#include "explore/result/cell.h"

/* Runs every cell, and shows how far it is where somebody watches. FAIL_UNKNOWN: stopped by a
 * signal. */
enum fail explore_crew_run(struct cell **cells, int count, int jobs, struct failure *failure);

#endif
