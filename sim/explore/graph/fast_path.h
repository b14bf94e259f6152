/* fast_path.h - the actions of all clients next to the only server, where cached successors tell
 * all that there is to tell of most of them.
 *
 * Most moves lead to a state that is there already, and of many of them that is known without a
 * look at the table: they sleep. They are counted as any other step, and lead nowhere. Which: from
 * a state r, let an action a of client i and an action b of client j commute (enum
 * dependence_class), and let b be the first step of all that leads to s. Then in s
 *
 *      r --a--> u       a sleeps when i < j, or when it slept in r: clients move in the order of
 *      |        |       their positions, so r's a came before r's b. It leads to t, as u's b does:
 *      b        b       each of the two is the same move beside what the other one leaves, for
 *      v        v       either one of them is local, or the server state is what it was.
 *      s --a--> t
 *
 * Why nothing is lost: say of a step that sleeps, too, that it leads to its state. Each one does so
 * later than another step did. For all that does not sleep, be it quick, slow, or a seed, goes
 * through one queue, in and out in one order, and states are numbered and expanded in the order in
 * which they were first led to. To u r's a leads before r's b leads to s, or, if r's a slept,
 * something did so earlier still; and b is the first that leads to s. So u is expanded before s,
 * and u's b leads to t before s's a does. (u is not s: only one of the two can have changed the
 * server state, so that both would be r, and s is new. u may be r, if a changes nothing.) So the
 * first step that leads to a state never sleeps, by induction over all steps. A state is numbered
 * when it is first led to, and keeps the parent that did so: numbers, parents, depths, and the ways
 * that are told from them are those of a search in which nothing sleeps.
 *
 * A grant that nobody contests can be b, although a hold begins with it: no action that commutes
 * asks who holds the lock, and it leads from u where it led from r even if it is contested there.
 * It is never a: whether it may sleep would have to be asked of the other clients.
 *
 * What sleeps is kept with a state until it is expanded. In what was first led to in any other way
 * (time, faults, slow steps) nothing does. What sleeps violates nothing, and is no grant. But where
 * each state must be looked at, or each edge be kept, nothing may sleep: bfs.c sees to that.
 *
 * Source: sleep sets, Godefroid; there steps are left out, here only looks. */
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

/* The state in hand after an action of that client; nothing sleeps in it. */
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
