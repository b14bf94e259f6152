/* witness.h - the witness of a violation: the path to it, as choices that either world can
 * replay. */
#ifndef PICKLOCK_EXPLORE_SEARCH_WITNESS_H
#define PICKLOCK_EXPLORE_SEARCH_WITNESS_H

#include "explore/search/trace.h"
#include "explore/search/bfs.h"

/* Fills choices (the caller frees) and faults, events of the finding. */
void witness_build(struct search *search, const struct violation *violation,
                   struct explore_finding *finding);

/* The same path, to a step that violates, with every step by name: also those that are no choices
 * of a schedule. Adds to the path. */
void witness_trace(struct search *search, const struct violation *violation, struct trace *trace);

#endif
