/* turns.h - whose turn it is, where one order is searched for many: see order.h. */
#ifndef PICKLOCK_EXPLORE_TURNS_H
#define PICKLOCK_EXPLORE_TURNS_H

#include "explore/space.h"

/* Who leads, in a word of budgets: position + 1, LEAD_TIME, or nobody. */
enum { LEAD_NOBODY = 0, LEAD_TIME = 7, LEAD_SHIFT = 28 };
_Static_assert((int)EXPLORE_CLIENTS_MAX < (int)LEAD_TIME, "time leads like a client");
_Static_assert(EXPLORE_FAULTS_MAX * BUDGET_BITS <= LEAD_SHIFT, "budgets and the lead share bits");

static inline int turns_lead(uint32_t budgets)
{
    return (int)(budgets >> LEAD_SHIFT);
}

static inline uint32_t turns_with_lead(uint32_t budgets, int lead)
{
    return (budgets & ((1u << LEAD_SHIFT) - 1)) | (uint32_t)lead << LEAD_SHIFT;
}

/* One move, of a client (or -1) or of a server itself, and who leads after it. */
struct turn {
    int client, server;
    uint32_t move;
    int lead;
    int doomed; /* nothing else matters than what follows at that server, until it breaks its
                   connections: turns_before_doom(); -1: none */
};

/* Each client may have to list all that there is, and so may everybody together, three times over.
 */
enum {
    DOOM_MAX = EXPLORE_CLIENTS_MAX * PARCELS_MAX + SERVER_MOVES_MAX,
    TURNS_MAX = (EXPLORE_CLIENTS_MAX + 3) *
                (EXPLORE_CLIENTS_MAX * MOVES_MAX + SERVERS_MAX * SERVER_MOVES_MAX)
};

/* Lists what must be looked at in a state in which no time passes. payable: bit a fault. Returns
 * how many; -1: everything must. */
int turns_list(struct space *space, const uint32_t *words, uint32_t payable, struct turn *turns);

/* The same where a server is doomed. */
int turns_before_doom(struct space *space, const uint32_t *words, uint32_t payable, int server,
                      int lead, struct turn *turns);

/* Is there only one thing that can happen, and nothing to choose? Then such a state need not be
 * kept. False also where nothing is known of it. */
bool turns_only(struct space *space, const uint32_t *words, uint32_t payable, struct turn *turn);

#endif
