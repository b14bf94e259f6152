/* minimize.h - exact minimization: is there a shorter violation than the one that was found?
 *
 * The breadth-first search, fewest faults first and then fewest events, ended as soon as each
 * property was either met, and then on a shortest path, or nothing shorter than its trace is
 * left to look at. Where that is too much, another one among those alone who take part in the
 * trace, and with no other faults: it proves nothing, but finds much. */
#ifndef PICKLOCK_EXPLORE_SEARCH_MINIMIZE_H
#define PICKLOCK_EXPLORE_SEARCH_MINIMIZE_H

#include "explore/search/trace.h"

/* States of the search when the options set no limit. */
enum { MINIMIZE_STATES = 1 << 20 };

/* paths: one a property, empty where none was found, all good in the replayer; each becomes the
 * shortest that the search met. Other properties may be met on the way: their paths are filled as
 * well. Returns a bit for each property whose path is proved to be the shortest. *states: among how
 * many nothing shorter was. */
unsigned minimize(struct trace_replayer *replayer, const struct explore_options *options,
                  struct trace traces[PROPERTY_COUNT], uint64_t *states);

#endif
