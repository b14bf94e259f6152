/* fault_server_clock.c - a server's clock jumps ahead by a lease: what it keeps expires at once,
 * while whoever counts on it keeps the right time. A redis-server takes its expiries from the wall
 * clock. */
#include "explore/fault.h"

static void list_server_clock(struct server_listing *list)
{
    struct server_draft *draft = moves_add_server(list, MOVE_STRIKE);
    draft->ticks = list->setting->ttl;
    post_jump(&draft->after, draft->ticks);
}

const struct fault_kind fault_server_clock_kind = {.list_server = list_server_clock,
                                                   .becomes = {1, {CHOICE_SERVER_CLOCK}}};
