/* long_walk.h - one long path through a state space, drawn by chance, as an audit of answers wants
 * it: all attempts are made, one client is refused many times in a row while another one holds,
 * faults strike somewhere on the way, and in the end nobody has anything under way.
 *
 * The same seed and stream draw the same path. */
#ifndef PICKLOCK_EXPLORE_SEARCH_LONG_WALK_H
#define PICKLOCK_EXPLORE_SEARCH_LONG_WALK_H

#include "base/random.h"
#include "explore/search/trace.h"

struct long_walk {
    struct random random;
    int made;      /* steps */
    int strike_at; /* behind so many a fault strikes, as soon as one can */
    int focus;     /* the client that asks while another one holds, */
    int refusals;  /* so many more times before that one goes on */
};

void long_walk_begin(struct long_walk *walk, uint64_t seed, uint64_t stream);

/* The number of the replayer's step to make; -1: the walk is over. */
int long_walk_pick(struct long_walk *walk, struct trace_replayer *replayer);

/* What an action did (enum effect_bit) that is a step from the replayer's state; 0 where that is
 * not one of a client's own. */
unsigned long_walk_did(struct trace_replayer *replayer, const struct successor *step);

#endif
