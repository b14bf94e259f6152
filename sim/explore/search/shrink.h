/* shrink.h - delta debugging: a trace without what it does not need. (Zeller and Hildebrandt,
 * "Simplifying and isolating failure-inducing input", 2002.)
 *
 * Loops are cut, then whole actors, faults and blocks of one actor's own events dropped, again
 * and again until nothing more can go. Every candidate is replayed and must still violate the
 * property. What is left is short, and often the shortest: minimize.h proves it. */
#ifndef PICKLOCK_EXPLORE_SEARCH_SHRINK_H
#define PICKLOCK_EXPLORE_SEARCH_SHRINK_H

#include "explore/search/trace.h"

/* The path follows (trace_follows), and does so afterwards: never longer than before. */
void shrink(struct trace_replayer *replayer, struct trace *trace, enum property property);

/* Names clients and servers in the order in which they take part. */
void shrink_rename(struct trace_replayer *replayer, struct trace *trace, enum property property);

/* Moves events past neighbours that do not mind, so that one actor's stand together. */
void shrink_gather(struct trace_replayer *replayer, struct trace *trace, enum property property);

#endif
