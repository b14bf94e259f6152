/* partial_order.h - partial-order reduction for quorums: of paths that differ only in the order
 * of independent events, one is searched. (Persistent sets: Godefroid, "Partial-Order Methods
 * for the Verification of Concurrent Systems", 1996; stubborn and ample sets: Valmari 1989,
 * Peled 1993. As far as they are of use here; the rest is particular to quorums.)
 *
 * Requests to different servers are independent (graph/independence.h). A search that is only to
 * tell whether a property is violated, and not by which shortest path, can leave out nearly all of
 * their orders (REDUCE_ORDER). What it finds violated is searched for once more without this
 * reduction, for the shortest path. It requires a scheme that promises waits_for_all; one that acts
 * while it waits, asks while it holds the lock, or writes a token that is not its own is noticed
 * (breaks_promise) and searched in every order. sim/docs/SOUNDNESS.md has the conditions.
 *
 * The owner of the persistent set. Take any path on from a state in which requests are in
 * flight, and its first event that is no arrival. It is an action of one client (or a tick), and
 * only what was executed before that client's own requests, at the same server, can matter to
 * it. That client becomes the owner: its servers are worked off one after the other; at each,
 * what is there arrives in every order until the owner's own request has; what else is in flight
 * is put off until the owner has acted. What is put off is independent of the owner's action: it
 * is about another client's state and, at a server, about what the owner has done with; and to
 * the verdict on the owner's action it could only take away that the owner owns keys, which
 * violates nothing. Actions of other clients that come later come later here as well, and those
 * that were possible before the set had an owner were tried then. Time passes when nobody has an
 * urgent request left: it owns the set only when nobody who waits must act before. Where two
 * requests at a server come to the same in either order, one order is enough; and a state in
 * which only one thing can happen is not kept.
 *
 * Abandoned messages. What nobody waits for any more may come before the owner's own requests,
 * as all that arrives there, and before its last action; where no client is held to an owner, at
 * any time. A compare-and-delete among them is as good as gone when its attempt is over and its
 * token is nowhere, nor on its way: nothing brings it back.
 *
 * Refusals. One that leaves no key behind costs no attempt (apply_client()): it depends on what
 * happens at the servers that have a key of that attempt, so that all of it may come before.
 *
 * Injected faults. A fault of a request depends on nothing but the request: it may as well come
 * before the first of its client's requests is executed. One of a reply, a pause or a clock's
 * jump may as well come when no request is in flight any more. A fault of a server depends on
 * what arrives there, and comes where the owner's request does. But when a server breaks all its
 * connections this depends on what was sent to it, too: so it may do so before any client sends
 * anew, after some of what arrives there (a pending disconnect: nothing else happens until
 * then). A crash depends on everything: while its budget lasts, every order is searched. So does a
 * server that goes out of reach, and what it is near to is not known before it is back: until then,
 * too, every order is searched (apply_wants_every_order()).
 *
 * Replies. What a client only counts (eager_replies.h says how that is known) is counted at
 * once, where no fault can hit a reply any more: then it makes no difference which server said
 * what. All but the last one, which decides. Where a server may break all its connections at
 * once, each waiting reply of that server may be heard just before that, or be lost; and any
 * other may be heard after it, and decide. So nothing is counted then.
 *
 * Critical sections. Their commands are requests like others: each is the only one of its
 * client, and to the first server. What a write of the counter does to what others have read of
 * it belongs to its execution: it depends on nothing but what arrives there.
 *
 * Progress. From a state that is left out, what is in flight can be executed; where that leads
 * is a state that is not left out, and it is stuck if the first was.
 *
 * Tests: test_partial_order_conditions.c, test_abandoned.c; test_partial_order.c: schemes and
 * faults. */
#ifndef PICKLOCK_EXPLORE_REDUCE_PARTIAL_ORDER_H
#define PICKLOCK_EXPLORE_REDUCE_PARTIAL_ORDER_H

#include "explore/graph/space.h"

/* Can it be used for a search with such options? */
bool partial_order_suits(const struct explore_options *options);

/* Takes strikes that come at another time just as well off the list. */
void partial_order_filter(struct action_list *list);

/* A record when its replies are counted that are only counted, and what is lost, but for the last.
 */
uint32_t partial_order_count_replies(struct state_space *space, uint32_t client_state);

/* And when every waiting reply of that server is heard that is only counted; the same number: there
 * is none. */
uint32_t partial_order_hear_server(struct state_space *space, uint32_t client_state, int server);

/* A record without compare-and-deletes that nobody waits for, of the client at that position, that
 * will find at that server nothing that they match. */
uint32_t partial_order_drop_abandoned(struct state_space *space, uint32_t client_state,
                                      int position, int server, uint32_t server_state);

/* Fills its annotation of a client state; the actions are listed. */
void partial_order_annotate(struct state_space *space, struct client_facts *facts,
                            const struct client_state *client_state);

#endif
