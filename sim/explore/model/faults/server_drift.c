/* server_drift.c - a server's clock runs twice as fast from then on: what it keeps expires in half
 * the time, while whoever counts on it keeps the right time.
 *
 * Twice, because that is what whole ticks can tell: a key loses two of them at each. A clock that
 * runs slow keeps keys for longer than anybody counts on, and breaks nothing but patience. */
#include "explore/model/faults/fault.h"

static void list_server_drift(struct server_action_list *list)
{
    if (list->server_state->is_fast)
        return;
    struct enabled_server_action *action = actions_add_server(list, ACTION_INJECT);
    action->ticks = 1;
    action->after.is_fast = true;
}

const struct fault_kind fault_server_drift_kind = {.list_server = list_server_drift};
