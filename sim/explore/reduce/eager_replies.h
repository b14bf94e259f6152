/* eager_replies.h - eager reply delivery: a client that only counts its replies hears none of
 * them before all are there, and then all in a fixed order. (A batching reduction: the
 * deliveries are independent of each other and of all that comes between.)
 *
 * Why nothing is lost (REDUCE_EAGER). Take any path on from a state, and a reply in it that the
 * client hears while another of its requests has yet to be answered. That the reply only counts
 * was tried: whichever of the replies there are, and whichever give-ups are possible, come
 * first, the client does nothing, and ends up the same. So the delivery may move to any later
 * place before the client's next step of another kind: nobody else sees it, and it looks at no
 * clock. Time cannot pass in between, because the missing request is urgent: a fault that
 * excuses it (late, stalled) is as good just before that time passes. Faults that hit a reply,
 * or the client, before it was heard can do no less than after; so this holds as long as none
 * can hit all replies of a server at once (fault_hits_all_replies()); a failover only can once
 * a replica was cut off, before which a reply is heard as well after that. When all are there
 * the order is free, for the same reason: they are heard one after the other, in a fixed order
 * and with nothing in between (CLIENT_HEARING); who is to be hit, or late, is so before.
 *
 * Every path keeps its length, for only the order of its events has changed. Tests:
 * test_explore_reductions.c. */
#ifndef PICKLOCK_EXPLORE_REDUCE_EAGER_REPLIES_H
#define PICKLOCK_EXPLORE_REDUCE_EAGER_REPLIES_H

#include "explore/graph/reduction.h"
#include "explore/model/actions.h"

/* Marks the actions of the list that are left out, and adds the delivery in one batch.
 */
void eager_replies_filter(struct action_list *list);

/* Of which messages, that are replies or lost, the end is only counted, but for the last of all:
 * bit a message; 0: none, or more than counting comes of one. *is_waiting: a request has yet to be
 * answered. */
unsigned eager_replies_counted(const struct client_state *client_state, const struct config *config,
                               bool *is_waiting);

#endif
