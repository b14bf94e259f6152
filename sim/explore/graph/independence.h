/* independence.h - which actions of a state are independent: neither enables or disables the other,
 * and in either order they lead to one state and violate the same. (Mazurkiewicz, "Concurrent
 * program schemes and their interpretations", 1977; Godefroid, "Partial-Order Methods for the
 * Verification of Concurrent Systems", 1996.)
 *
 * A table of kinds, of two actions that are not the same client's; what is not sure is called
 * dependent. The engine reads one column of it, which kinds are independent of every arrival, for
 * the classes of the sleep sets (successor_cache.c). Persistent sets look closer, at what a client
 * awaits, and have a test of their own. The rest of the table, and independence_of(), is what the
 * proofs in sim/docs/SOUNDNESS.md rest on: test_independence.c holds it to the model, where in
 * reachable states each pair that is called independent is tried in both orders. */
#ifndef PICKLOCK_EXPLORE_GRAPH_INDEPENDENCE_H
#define PICKLOCK_EXPLORE_GRAPH_INDEPENDENCE_H

#include "explore/graph/space.h"

enum independence {
    DEPENDENT,
    WHEN_QUIET, /* when neither tells or breaks anything: struct action.did is 0 */
    WHEN_APART, /* when they do not concern the same server */
};

/* What is done by a server itself has a row of its own. */
enum { INDEPENDENCE_SERVER = ACTION_DELAYED + 1, INDEPENDENCE_ROWS };

extern const uint8_t independence[INDEPENDENCE_ROWS][INDEPENDENCE_ROWS]; /* enum independence */

/* An action of a client, or of a server itself (client: -1). */
struct placed_action {
    const struct action *action;
    int client, server;
};

/* Of two that are not the same client's, nor the same server's. For the test of the table. */
bool independence_of(const struct placed_action *one, const struct placed_action *other);

#endif
