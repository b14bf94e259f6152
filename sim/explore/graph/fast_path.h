/* fast_path.h - the fast path: successors of a state with one server, from the successor cache,
 * with sleep sets. (Godefroid, "Partial-Order Methods for the Verification of Concurrent
 * Systems", 1996. There, transitions in the sleep set are not explored; here they are counted,
 * and only the look into the table is skipped.)
 *
 * Most actions lead to a state that is in the table already, and of many this is known without a
 * look. From a state r, let an action a of client i and an action b of client j be independent
 * (enum dependence_class), and let b be the first step that leads to s. Then in s
 *
 *     r --a--> u       a is in the sleep set of s when i < j, or when it was in that of r: clients
 *     |        |       act in the order of their positions, so r's a came before r's b. It leads to
 *     b        b       t, as u's b does: each of the two is the same action beside what the other
 *     v        v       one leaves, for one of them is local, or the server state is what it was.
 *     s --a--> t
 *
 * Why nothing is lost: say of a skipped step, too, that it leads to its state. Each skipped step
 * does so later than another step did. For all steps that are not skipped go through one queue,
 * in and out in one order, and states are numbered and expanded in the order in which they were
 * first led to. To u r's a leads before r's b leads to s, or, if r's a was skipped, something
 * did so earlier still; and b is the first that leads to s. So u is expanded before s, and u's b
 * leads to t before s's a does. (u is not s: only one of the two actions can have changed the
 * server state, so that both would be r, and s is new. u may be r, if a changes nothing.) So the
 * first step that leads to a state is never skipped, by induction over all steps. A state is
 * numbered when it is first led to, and keeps that parent: numbers, parents, depths and paths
 * are those of a search without sleep sets.
 *
 * A grant that nobody contests can be b, although a hold begins with it: no independent action
 * asks who holds the lock, and it leads from u where it led from r even if it is contested
 * there. It is never a: whether it may be skipped would have to be asked of the other clients.
 *
 * A sleep set is kept with a state until it is expanded. It is empty after time, faults and
 * steps that are not cached. What is skipped violates nothing, and is no grant. Where each state
 * must be looked at, or each edge be kept, there are no sleep sets: search/bfs.c sees to that.
 * test_sleep_sets.c holds numbers and parents of all states to those of a search without. */
#ifndef PICKLOCK_EXPLORE_GRAPH_FAST_PATH_H
#define PICKLOCK_EXPLORE_GRAPH_FAST_PATH_H

#include "explore/graph/successor_cache.h"
#include "explore/store/insert_queue.h"

_Static_assert(EXPLORE_CLIENTS_MAX + 2 <= FAST_WORDS_MAX, "a state in hand has no room");

/* The state in hand; all is borrowed. */
struct fast_path {
    struct state_space *space;
    struct insert_queue *queue;
    const uint32_t *words;
    /* Makes an action of a client that is not to be pushed just so. */
    void (*step)(const struct fast_path *fast, int client, const struct cached_successor *cached);
    const void *context;
};

enum fast_path_end { FAST_IDLE, FAST_URGENT, FAST_UNDONE };

/* The state in hand after an action of that client; its sleep set is empty. */
static inline void insert_queue_push_changed(struct insert_queue *queue,
                                             const struct cached_successor *cached, int client,
                                             int clients)
{
    struct queued_state *it = &queue->waiting[queue->pushed % QUEUE];
    memcpy(it->words, queue->words, sizeof queue->words);
    it->words[client] = cached->client_state;
    it->words[clients] = cached->server_state;
    it->words[queue->visited->words] = 0;
    insert_queue_add(queue, it, fingerprint_of_sum(queue->sum + cached->change), queue->from,
                     false);
}

/* Pushes what they lead to, in their order. FAST_URGENT: one of the actions is; FAST_UNDONE:
 * nothing was done, for a list cannot be made, or the queue has no room. */
enum fast_path_end fast_path_expand(const struct fast_path *fast);

#endif
