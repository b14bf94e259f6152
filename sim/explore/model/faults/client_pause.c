/* client_pause.c - a server holds what may write for a while: CLIENT PAUSE, as an operator says it
 * before a failover. Then it goes on, in any order, with what waits there.
 *
 * Reads and replies pass meanwhile, and nothing is closed. Its keys expire. Who gives up on what is
 * held ends its connection, and the server drops it. */
#include "explore/model/faults/fault.h"

static void list_client_pause(struct server_action_list *list)
{
    if (list->server_state->reach == REACH_OPEN)
        server_state_reach(&actions_add_server(list, ACTION_INJECT)->after, REACH_READ_ONLY,
                           fault_outage_ticks(list->config));
    else if (list->server_state->reach == REACH_READ_ONLY)
        server_state_reach(&actions_add_server(list, ACTION_DELAYED)->after, REACH_OPEN, 0);
}

const struct fault_kind fault_client_pause_kind = {
    .list_server = list_client_pause, .depends_on_everything = true, .ends_requests = true};
