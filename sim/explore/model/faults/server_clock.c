/* server_clock.c - a server's clock jumps ahead by a lease: what it keeps expires at once,
 * while whoever counts on it keeps the right time. A redis-server takes its expiries from the wall
 * clock. */
#include "explore/model/faults/fault.h"
#include "explore/model/subject.h"

static void list_server_clock(struct server_action_list *list)
{
    struct enabled_server_action *action = actions_add_server(list, ACTION_INJECT);
    action->ticks = list->config->ttl;
    subject_pass(list->config, &action->after, action->ticks);
    server_state_jump(&action->after, action->ticks);
}

const struct fault_kind fault_server_clock_kind = {.list_server = list_server_clock};
