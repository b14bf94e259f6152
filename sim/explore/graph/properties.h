/* properties.h - property evaluation: which properties a step, or the state after it, violates;
 * as bits, 1 << enum property.
 *
 * The rules are those of checks/, a function for each occasion on which one can be violated.
 * Mirrored there: checks/ledger.c and the file of each property; test_explore_walks.c holds both
 * statements to each other at every step of random walks. */
#ifndef PICKLOCK_EXPLORE_GRAPH_PROPERTIES_H
#define PICKLOCK_EXPLORE_GRAPH_PROPERTIES_H

#include "explore/graph/state_space.h"

/* With PROPERTY_TRUTHFUL: a client was refused by what it had left behind, and that is all. */
enum { BY_LEFTOVER = 1 << PROPERTY_COUNT };

/* What is violated, but for that. */
static inline unsigned violated_otherwise(unsigned violated)
{
    bool is_leftover = violated & BY_LEFTOVER;
    return violated & ~(BY_LEFTOVER | (unsigned)is_leftover << PROPERTY_TRUTHFUL);
}

/* Do enough servers keep the lock for the last attempt of the client at that position? */
bool properties_is_owner(struct state_space *space, const uint32_t *words, int client);

unsigned properties_of_execution(const struct config *config, unsigned observed);

/* An operation of the client at that position has returned; words: before the step. */
unsigned properties_of_return(struct state_space *space, const uint32_t *words, int client,
                              unsigned did);

/* What is wrong wherever it is found; words: after the step. */
unsigned properties_of_any_state(struct state_space *space, const uint32_t *words);

static inline unsigned properties_of_state(struct state_space *space, const uint32_t *words)
{
    return space->can_states_be_wrong ? properties_of_any_state(space, words) : 0;
}

#endif
