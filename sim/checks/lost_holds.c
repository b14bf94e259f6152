/* lost_holds.c - see lost_holds.h. */
#include "checks/lost_holds.h"

#include "base/memory.h"

#include <stdlib.h>

/* Of a lock: who held it when a server forgot it last. */
struct lost_hold {
    int client, attempt; /* NOBODY: nobody, or it is over */
    int server;
    int64_t fault; /* which one, from 1 */
};

struct lost_holds {
    const struct ledger *ledger;
    struct lost_hold *locks;
    int64_t faults, met; /* so many; the last that a hold has met */
};

struct lost_holds *lost_holds_new(const struct ledger *ledger)
{
    struct lost_holds *losses = memory_new(1, sizeof *losses);
    losses->ledger = ledger;
    losses->locks = memory_new((size_t)ledger->head->locks, sizeof *losses->locks);
    for (int i = 0; i < ledger->head->locks; i++)
        losses->locks[i].client = NOBODY;
    return losses;
}

void lost_holds_free(struct lost_holds *losses)
{
    free(losses->locks);
    free(losses);
}

static void forgotten(struct lost_holds *losses, const struct event *event)
{
    const struct ledger *ledger = losses->ledger;
    losses->faults++;
    for (int i = 0; i < ledger->head->locks; i++) {
        const int holder = ledger->locks[i].first_holder;
        if (holder == NOBODY)
            continue;
        losses->locks[i] = (struct lost_hold){.client = holder,
                                              .attempt = ledger->clients[holder].attempt,
                                              .server = event->server,
                                              .fault = losses->faults};
    }
}

bool lost_holds_event(struct lost_holds *losses, const struct event *event)
{
    if (event->kind == EVENT_FAULT && fault_forgets(event->fault))
        forgotten(losses, event);
    if (event->kind != EVENT_EXECUTE || event->op != OP_ACQUIRE || event->client < 0)
        return false;
    struct lost_hold *lost = &losses->locks[event->lock];
    if (lost->client == NOBODY || lost->client == event->client || lost->server != event->server)
        return false;
    const struct ledger_client *client = &losses->ledger->clients[lost->client];
    const bool is_met = client->is_holding && client->attempt == lost->attempt &&
                        client->lock == event->lock && lost->fault != losses->met;
    lost->client = NOBODY;
    if (is_met)
        losses->met = lost->fault;
    return is_met;
}
