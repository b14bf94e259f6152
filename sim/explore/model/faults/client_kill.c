/* client_kill.c - a server ends all its connections: CLIENT KILL by an operator or a balancer, or
 * its own limits (timeout, maxclients, client-output-buffer-limit).
 *
 * What was in flight is lost, executed or not; keys and scripts stay. */
#include "explore/model/faults/fault.h"

static void list_client_kill(struct server_action_list *list)
{
    if (list->server_state->reach != REACH_OPEN)
        return;
    struct enabled_server_action *action = actions_add_server(list, ACTION_INJECT);
    action->breaks = true;
    server_state_disconnect(&action->after, -1);
}

const struct fault_kind fault_client_kill_kind = {.list_server = list_client_kill};
