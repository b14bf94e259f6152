/* eager_replies.h - eager reply delivery: a client that only counts its replies hears none of
 * them before all are there, and then all in a fixed order. (A batching reduction: of orders that
 * commute one is searched, as in Lipton, "Reduction: a method of proving properties of parallel
 * programs", 1975.) sim/docs/SOUNDNESS.md has the proof; REDUCE_EAGER.
 *
 * A delivery is deferred while another request of the client has yet to be answered. It may be
 * when it commutes with whatever may come before the client's next step of another kind:
 *   - the client has no other step until then: it does not hold the lock, and no timer is due;
 *   - a delivery only counts: nothing is sent, told or set by it before the last one;
 *   - in whatever order they come, with time-outs of late messages among them, it ends the same;
 *   - it is the same later: after the ticks of a stall, after jumps of the client's clock;
 *   - nothing else is on the connection of the reply, that would be lost with it;
 *   - what is late excuses itself: it is not waited for, nor heard in the batch;
 *   - no fault can strike all replies of a server at once (fault_hits_all_replies()): where
 *     one may, nothing is deferred.
 *
 * Every path keeps its length. Tests: test_eager_replies.c, one for each condition;
 * test_explore_reductions.c, all schemes and faults. */
#ifndef PICKLOCK_EXPLORE_REDUCE_EAGER_REPLIES_H
#define PICKLOCK_EXPLORE_REDUCE_EAGER_REPLIES_H

#include "explore/graph/reduction.h"
#include "explore/model/actions.h"

/* Marks the actions of the list that are left out, and adds the delivery in one batch.
 */
void eager_replies_filter(struct action_list *list);

/* Whatever ends next of what the attempt under way waits for, does it only count, as long as
 * something is left to wait for? */
bool eager_replies_only_count(const struct client_state *client_state, const struct config *config);

/* Of which messages, that are replies or lost, the end is only counted, but for the last of all:
 * bit a message; 0: none, or more than counting comes of one. *is_waiting: a request has yet to be
 * answered. */
unsigned eager_replies_counted(const struct client_state *client_state, const struct config *config,
                               bool *is_waiting);

#endif
