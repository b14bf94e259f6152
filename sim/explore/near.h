/* near.h - the moves of all clients next to the only server, where heirs tell all that there is to
 * tell of most of them.
 *
 * Most moves lead to a state that is there already, and of many of them that is known without a
 * look at the table: they sleep. They are counted as any other step, and lead nowhere. Which: from
 * a state r, let a move a of client i and a move b of client j commute (enum heir_class), and let b
 * be the first step of all that leads to s. Then in s
 *
 *      r --a--> u       a sleeps when i < j, or when it slept in r: clients move in the order of
 *      |        |       their positions, so r's a came before r's b. It leads to t, as u's b does:
 *      b        b       each of the two is the same move beside what the other one leaves, for
 *      v        v       either one of them is local, or the post is what it was.
 *      s --a--> t
 *
 * Why nothing is lost: say of a step that sleeps, too, that it leads to its state. Each one does so
 * later than another step did. For all that does not sleep, be it quick, slow, or a seed, goes
 * through one ring, in and out in one order, and states are numbered and expanded in the order in
 * which they were first led to. To u r's a leads before r's b leads to s, or, if r's a slept,
 * something did so earlier still; and b is the first that leads to s. So u is expanded before s,
 * and u's b leads to t before s's a does. (u is not s: only one of the two can have changed the
 * post, so that both would be r, and s is new. u may be r, if a changes nothing.) So the first step
 * that leads to a state never sleeps, by induction over all steps. A state is numbered when it is
 * first led to, and keeps the parent that did so: numbers, parents, depths, and the ways that are
 * told from them are those of a search in which nothing sleeps.
 *
 * A grant that nobody contests can be b, although a hold begins with it: no move that commutes asks
 * who holds the lock, and it leads from u where it led from r even if it is contested there. It is
 * never a: whether it may sleep would have to be asked of the other clients.
 *
 * What sleeps is kept with a state until it is expanded. In what was first led to in any other way
 * (time, faults, slow steps) nothing does. What sleeps violates nothing, and is no grant. But where
 * each state must be looked at, or each edge be kept, nothing may sleep: search.c sees to that.
 *
 * Source: sleep sets, Godefroid; there steps are left out, here only looks. */
#ifndef PICKLOCK_EXPLORE_NEAR_H
#define PICKLOCK_EXPLORE_NEAR_H

#include "explore/ring.h"

/* The state in hand; all is borrowed. */
struct near {
    struct space *space;
    struct ring *ring;
    const uint32_t *words;
    /* Makes a move of a client that is not to be pushed just so. */
    void (*step)(const struct near *near, int client, const struct heir *heir);
    const void *context;
};

enum near_end { NEAR_IDLE, NEAR_URGENT, NEAR_UNDONE };

/* Pushes what they lead to, in their order. NEAR_URGENT: one of the moves is; NEAR_UNDONE: nothing
 * was done, for a list cannot be made, or the ring has no room. */
enum near_end near_expand(const struct near *near);

#endif
