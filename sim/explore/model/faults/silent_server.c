/* silent_server.c - a server answers nothing for a while: its network is gone, or its machine
 * stands still. Then it goes on, with its keys and with what has reached it meanwhile.
 *
 * Nothing passes between it and anybody, in either direction, and nothing is closed: clients wait,
 * or time out, and connect anew, which does not help. Its keys expire meanwhile. When it is over,
 * what still stands before it goes on at once; what was given up on, when it likes. */
#include "explore/model/faults/fault.h"

static void list_silent_server(struct server_action_list *list)
{
    if (list->server_state->reach == REACH_OPEN)
        server_state_reach(&actions_add_server(list, ACTION_INJECT)->after, REACH_SILENT,
                           fault_outage_ticks(list->config));
    else if (list->server_state->reach == REACH_SILENT)
        server_state_reach(&actions_add_server(list, ACTION_DELAYED)->after, REACH_OPEN, 0);
}

const struct fault_kind fault_silent_server_kind = {
    .list_server = list_silent_server, .depends_on_everything = true, .ends_requests = true};
