/* lower_bound.h - an admissible lower bound: at least so many events lie between a state and a
 * violation. The search for a shortest path leaves out every state whose bound exceeds what is
 * left of the cost bound. (A*: Hart, Nilsson and Raphael 1968; iterative deepening: Korf,
 * "Depth-first iterative-deepening", 1985.)
 *
 * Every event is an action of one client, of one server, or a tick. What a client must still do
 * itself before it holds the lock, has the counter read, or written, is counted from its own
 * state alone, whatever the servers will say: requests in flight arrive and are answered, it
 * hears that, sends the next ones. A scheme that promises waits_for_all is not granted the lock
 * before all that it waits for has ended. Two clients must hold the lock for an overlap; for a
 * lost update one must write after another one has written, or after another one has made known
 * again what a server forgot. So what both must do adds up.
 *
 * A server that breaks its connections ends what was sent to it for all clients in one event; so
 * for each time that one still may, all but one of them are taken off. Not for faults that hit
 * clients: a message that nobody waits for any more needs nobody's steps. Tests:
 * test_lower_bound.c holds every step to it. */
#ifndef PICKLOCK_EXPLORE_REDUCE_LOWER_BOUND_H
#define PICKLOCK_EXPLORE_REDUCE_LOWER_BOUND_H

#include "explore/graph/space.h"

/* Is anything known of it for all that is sought? */
bool lower_bound_suits(const struct explore_options *options);

/* Fills its annotation of a client state; the actions are listed. */
void lower_bound_annotate(struct state_space *space, struct client_facts *facts,
                          const struct client_state *client_state);

/* To the nearest of these properties (bits); breaks: how often a server may still break its
 * connections. */
int lower_bound_to(struct state_space *space, const uint32_t *words, unsigned properties,
                   int breaks);

#endif
