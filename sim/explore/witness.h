/* witness.h - the way to a sighting, as choices that either world can replay. */
#ifndef PICKLOCK_EXPLORE_WITNESS_H
#define PICKLOCK_EXPLORE_WITNESS_H

#include "explore/search.h"

/* Fills choices (the caller frees) and faults, events of the finding. */
void witness_build(struct search *search, const struct sighting *sighting,
                   struct explore_finding *finding);

#endif
