/* shrink.h - a schedule without what it does not need.
 *
 * Loops are cut, then whole actors, faults and blocks of one actor's own events dropped, again and
 * again until nothing more can go. Every candidate is made anew and must still violate the
 * property. What is left is short, and often the shortest: minimise.h knows. */
#ifndef PICKLOCK_EXPLORE_SHRINK_H
#define PICKLOCK_EXPLORE_SHRINK_H

#include "explore/path.h"

/* The path follows (path_follows), and does so afterwards: never longer than before. */
void shrink(struct stage *stage, struct path *path, enum property property);

/* Names clients and servers in the order in which they take part. */
void shrink_rename(struct stage *stage, struct path *path, enum property property);

/* Moves events past neighbours that do not mind, so that one actor's stand together. */
void shrink_gather(struct stage *stage, struct path *path, enum property property);

#endif
