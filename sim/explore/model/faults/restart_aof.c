/* restart_aof.c - a server dies and comes back at once with all its keys: everything was synced.
 *
 * All connections break: what was in flight is lost, executed or not. Scripts are in no file. */
#include "explore/model/faults/fault.h"

static void list_restart_aof(struct server_action_list *list)
{
    struct enabled_server_action *action = actions_add_server(list, ACTION_INJECT);
    action->breaks = true;
    server_state_restart_with_keys(&action->after);
    server_state_lose_link(&action->after, list->config);
}

const struct fault_kind fault_restart_aof_kind = {.list_server = list_restart_aof};
