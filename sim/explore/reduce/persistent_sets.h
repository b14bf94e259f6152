/* persistent_sets.h - whose turn it is, where one order is searched for many: see partial_order.h.
 */
#ifndef PICKLOCK_EXPLORE_REDUCE_PERSISTENT_SETS_H
#define PICKLOCK_EXPLORE_REDUCE_PERSISTENT_SETS_H

#include "explore/graph/state_space.h"

/* Who leads, in a word of budgets: position + 1, OWNER_TIME, or nobody. */
enum { OWNER_NOBODY = 0, OWNER_TIME = 7, OWNER_SHIFT = 28 };
_Static_assert((int)EXPLORE_CLIENTS_MAX < (int)OWNER_TIME, "time leads like a client");
_Static_assert(EXPLORE_FAULTS_MAX *BUDGET_BITS <= OWNER_SHIFT, "budgets and the lead share bits");

static inline int persistent_owner(uint32_t budgets)
{
    return (int)(budgets >> OWNER_SHIFT);
}

static inline uint32_t persistent_with_owner(uint32_t budgets, int owner)
{
    return (budgets & ((1u << OWNER_SHIFT) - 1)) | (uint32_t)owner << OWNER_SHIFT;
}

/* One action, of a client (or -1) or of a server itself, and who leads after it. */
struct selection {
    int client, server;
    uint32_t action;
    int owner;
    int pending_disconnect; /* nothing else matters than what follows at that server, until it
                   breaks its connections: persistent_sets_before_disconnect(); -1: none */
};

/* Each client may have to list all that there is, and so may everybody together, three times over.
 */
enum {
    DISCONNECT_SELECTIONS_MAX = EXPLORE_CLIENTS_MAX * CLIENT_MESSAGES_MAX + SERVER_ACTIONS_MAX,
    SELECTIONS_MAX = (EXPLORE_CLIENTS_MAX + 3) *
                     (EXPLORE_CLIENTS_MAX * ACTIONS_MAX + SERVERS_MAX * SERVER_ACTIONS_MAX)
};

/* Lists what must be looked at in a state in which no time passes. payable: bit a fault. Returns
 * how many; -1: everything must. */
int persistent_sets_list(struct state_space *space, const uint32_t *words, uint32_t affordable,
                         struct selection *selections);

/* The same where a server is doomed. */
int persistent_sets_before_disconnect(struct state_space *space, const uint32_t *words,
                                      uint32_t affordable, int server, int owner,
                                      struct selection *selections);

/* Is there only one thing that can happen, and nothing to choose? Then such a state need not be
 * kept. False also where nothing is known of it. */
bool persistent_sets_only(struct state_space *space, const uint32_t *words, uint32_t affordable,
                          struct selection *selection);

#endif
