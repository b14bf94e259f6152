/* restart_empty.c - a server dies and comes back at once without its keys: persistence is
 * off, or the last second of it was not written yet.
 *
 * All connections break: what was in flight is lost, executed or not. */
#include "explore/model/faults/fault.h"

static void list_restart_empty(struct server_action_list *list)
{
    struct enabled_server_action *action = actions_add_server(list, ACTION_INJECT);
    action->breaks = action->forgets = true;
    server_state_restart(&action->after);
    server_state_lose_link(&action->after, list->config);
}

static void prepare_restart_empty(struct config *config, int times)
{
    (void)times;
    config->forgets = true;
}

const struct fault_kind fault_restart_empty_kind = {
    .list_server = list_restart_empty,
    .prepare = prepare_restart_empty,
};
