/* change.h - what an execution did to a key: the one place where a typed command becomes an effect.
 *
 * A reply says whether the key was there before; so that a history needs no model to be replayed,
 * and a ledger can see where the server knew something that the history does not. An opaque
 * command's effects are told by the history itself. Source: the columns effect, compares and expiry
 * of redis/commands.def. */
#ifndef PICKLOCK_CHECKS_CHANGE_H
#define PICKLOCK_CHECKS_CHANGE_H

#include "history/event.h"

/* On command->key. DID_NOTHING where the reply proves nothing. */
struct key_effect change_read(const struct command *command, const struct reply *reply);

/* The effect of an EXECUTE, of either kind, on that key of its lock; DID_NOTHING: none. */
struct key_effect change_on(const struct event *event, enum key key);

/* Is it worth asking? */
static inline bool change_may_be_on(const struct event *event, enum key key)
{
    return event_is_on(event, key) || event->command.verb == VERB_SET_MINT;
}

/* Is the key another one behind it: its value, its expiry, or that it is there? */
static inline bool change_is_any(const struct key_effect *effect)
{
    return effect->did != DID_NOTHING && effect->did != DID_READ && effect->did != DID_REFUSED &&
           effect->did != DID_FAILED;
}

/* Was the value written, whatever had been there? */
static inline bool change_is_write(const struct key_effect *effect)
{
    return effect->did == DID_CREATED || effect->did == DID_OVERWRITTEN;
}

/* Is the value before known? */
static inline bool change_knows_old(const struct key_effect *effect)
{
    return effect->has_old && !effect->is_unlike;
}

#endif
