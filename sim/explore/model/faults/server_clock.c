/* server_clock.c - a server's clock jumps ahead by a lease: what it keeps expires at once,
 * while whoever counts on it keeps the right time. A redis-server takes its expiries from the wall
 * clock. */
#include "explore/model/faults/fault.h"
#include "explore/model/subject.h"

static void list_server_clock(struct server_action_list *list)
{
    struct server_action_draft *draft = actions_add_server(list, ACTION_INJECT);
    draft->ticks = list->config->ttl;
    subject_pass(list->config, &draft->after, draft->ticks);
    server_state_jump(&draft->after, draft->ticks);
}

const struct fault_kind fault_server_clock_kind = {.list_server = list_server_clock};
