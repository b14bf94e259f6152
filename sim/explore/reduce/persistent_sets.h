/* persistent_sets.h - the persistent set of a state: the actions that are enough where one order
 * is searched for many; partial_order.h says why. */
#ifndef PICKLOCK_EXPLORE_REDUCE_PERSISTENT_SETS_H
#define PICKLOCK_EXPLORE_REDUCE_PERSISTENT_SETS_H

#include "explore/graph/space.h"

/* Lists what must be looked at in a state in which no time passes. affordable: bit a fault. Returns
 * how many; -1: everything must. */
int persistent_sets_list(struct state_space *space, const uint32_t *words, uint32_t affordable,
                         struct selection *selections);

/* The same where a disconnect is pending. */
int persistent_sets_before_disconnect(struct state_space *space, const uint32_t *words,
                                      uint32_t affordable, int server, int owner,
                                      struct selection *selections);

/* Is there only one thing that can happen, and nothing to choose? Then such a state need not be
 * kept. False also where nothing is known of it. */
bool persistent_sets_only(struct state_space *space, const uint32_t *words, uint32_t affordable,
                          struct selection *selection);

#endif
