/* slow_work.c - a critical section lasts longer than a tick, as long as it likes.
 *
 * The client works: it is no pause. Its timers ring in time and replies are heard, so that a
 * watchdog can renew the lease meanwhile. The mildest of all faults, and the one that happens
 * daily: a lock that is broken by it is broken. */
#include "explore/model/faults/fault.h"

static void list_slow_work(struct action_list *list)
{
    const struct client_state *client_state = list->client_state;
    if (client_state->phase != PHASE_HOLDING || client_state->flags & CLIENT_SLOW)
        return;
    actions_add(list, ACTION_INJECT, -1)->after.flags |= CLIENT_SLOW;
}

/* In a schedule it is the time that passes before the release. */
const struct fault_kind fault_slow_work_kind = {.list_client = list_slow_work};
