/* witness.h - the way to a sighting, as choices that either world can replay. */
#ifndef PICKLOCK_EXPLORE_WITNESS_H
#define PICKLOCK_EXPLORE_WITNESS_H

#include "explore/path.h"
#include "explore/search.h"

/* Fills choices (the caller frees) and faults, events of the finding. */
void witness_build(struct search *search, const struct sighting *sighting,
                   struct explore_finding *finding);

/* The same way, to a step that violates, with every step by name: also those that are no choices of
 * a schedule. Adds to the path. */
void witness_path(struct search *search, const struct sighting *sighting, struct path *path);

#endif
