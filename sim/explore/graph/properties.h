/* properties.h - property evaluation: which properties a step, or the state after it, violates;
 * as bits, 1 << enum property.
 *
 * The rules are those of checks/, a function for each occasion on which one can be violated.
 * Mirrored there: checks/ledger.c and the file of each property; test_explore_walks.c holds both
 * statements to each other at every step of random walks. */
#ifndef PICKLOCK_EXPLORE_GRAPH_PROPERTIES_H
#define PICKLOCK_EXPLORE_GRAPH_PROPERTIES_H

#include "explore/graph/space.h"

/* Beside the properties that a step violates: two of them by what a lost or late message has left
 * behind, and that is all. Of truthful: a client was refused by it. Of no-orphan: its client was
 * told nothing else ("failed"), or it came when all was over. */
enum {
    REFUSED_BY_LEFTOVER = 1 << PROPERTY_COUNT,
    ORPHAN_BY_LEFTOVER = 2 << PROPERTY_COUNT,
    BY_LEFTOVER = REFUSED_BY_LEFTOVER | ORPHAN_BY_LEFTOVER,
    LEFTOVER_BITS = 2
};

/* Which properties are violated by a leftover alone. */
static inline unsigned violated_by_leftover(unsigned violated)
{
    unsigned refused = violated & REFUSED_BY_LEFTOVER ? 1u << PROPERTY_TRUTHFUL : 0;
    unsigned orphan = violated & ORPHAN_BY_LEFTOVER ? 1u << PROPERTY_NO_ORPHAN : 0;
    return refused | orphan;
}

/* Which properties are violated, for these options. */
static inline unsigned violated_for(const struct explore_options *options, unsigned violated)
{
    unsigned passed_over = violated_by_leftover(violated) & ~options->leftovers_too;
    if (options->leftovers == LEFTOVERS_NEVER)
        violated &= ~passed_over;
    return violated & ~(unsigned)BY_LEFTOVER;
}

/* Do enough servers keep the lock for the last attempt of the client at that position? */
bool properties_is_owner(struct state_space *space, const uint32_t *words, int client);

/* Does any server have the lock key, whosever it is? */
bool properties_is_key_there(const struct state_space *space, const uint32_t *words);

/* Has the server the client's lock only now? words before and after what befell it. */
bool properties_brings_back(struct state_space *space, const uint32_t *before,
                            const uint32_t *after, int client, int server);

unsigned properties_of_execution(const struct config *config, unsigned observed);

/* An operation of the client at that position has returned; words: before the step. */
unsigned properties_of_return(struct state_space *space, const uint32_t *words, int client,
                              unsigned did);

/* words: before the client was told that it has extended (did: DID_EXTEND), or that the lock is not
 * its own (DID_NOT_MINE). */
unsigned properties_of_extend(struct state_space *space, const uint32_t *words, int client,
                              unsigned did);

/* What is wrong wherever it is found; words: after the step. */
unsigned properties_of_any_state(struct state_space *space, const uint32_t *words);

static inline unsigned properties_of_state(struct state_space *space, const uint32_t *words)
{
    return space->can_states_be_wrong ? properties_of_any_state(space, words) : 0;
}

#endif
