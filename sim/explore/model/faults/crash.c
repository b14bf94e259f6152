/* crash.c - a client dies, and what it had in flight dies with it.
 *
 * It does not come back: a process that starts anew is another client. What it did at the servers
 * stays. One that is idle and has nothing in mind leaves nothing behind, so that its death would
 * show nothing. */
#include "explore/model/faults/fault.h"

static void list_crash(struct action_list *list)
{
    const struct client_state *client_state = list->client_state;
    bool is_busy = client_state->phase != PHASE_IDLE || client_state->wake != NO_TIME;
    if (client_state->phase == PHASE_DEAD || !is_busy)
        return;
    struct enabled_action *action = actions_add(list, ACTION_INJECT, -1);
    action->did = DID_DISCONNECT;
    action->after.phase = PHASE_DEAD;
    client_state_settle(&action->after, list->config);
}

const struct fault_kind fault_crash_kind = {.list_client = list_crash,
                                            .depends_on_everything = true};
