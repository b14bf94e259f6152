/* verdict.h - which properties a step, or the state after it, violates; as bits, 1 << enum
 * property.
 *
 * The rules are those of checks/, a function for each of their occasions. */
#ifndef PICKLOCK_EXPLORE_VERDICT_H
#define PICKLOCK_EXPLORE_VERDICT_H

#include "explore/space.h"

/* Do enough servers keep the lock for the last attempt of the client at that position? */
bool verdict_is_owner(struct space *space, const uint32_t *words, int client);

unsigned verdict_of_execution(const struct setting *setting, unsigned judged);

/* An operation of the client at that position has returned; words: before the step. */
unsigned verdict_of_return(struct space *space, const uint32_t *words, int client, unsigned did);

/* What is wrong wherever it is found; words: after the step. */
unsigned verdict_of_any_state(struct space *space, const uint32_t *words);

static inline unsigned verdict_of_state(struct space *space, const uint32_t *words)
{
    return space->can_states_be_wrong ? verdict_of_any_state(space, words) : 0;
}

#endif
