/* refusing_server.c - a server refuses all connections for a while: its process is being started
 * again with its data, a firewall or a balancer sends everybody away. Then it is there again, with
 * its keys.
 *
 * Its connections break, with all that is in flight on them, and who sends to it hears at once that
 * there is no connection: no time-out passes between two tries. */
#include "explore/model/faults/fault.h"

static void list_refusing_server(struct server_action_list *list)
{
    if (list->server_state->reach == REACH_OPEN) {
        struct enabled_server_action *action = actions_add_server(list, ACTION_INJECT);
        action->breaks = true;
        server_state_reach(&action->after, REACH_REFUSED, fault_outage_ticks(list->config));
        server_state_disconnect(&action->after, -1);
    } else if (list->server_state->reach == REACH_REFUSED) {
        server_state_reach(&actions_add_server(list, ACTION_DELAYED)->after, REACH_OPEN, 0);
    }
}

const struct fault_kind fault_refusing_server_kind = {
    .list_server = list_refusing_server, .depends_on_everything = true, .ends_requests = true};
