/* flush_all.c - all keys of a server are deleted: FLUSHALL, by an operator, a test or a deployment
 * that took it for a cache.
 *
 * Nothing breaks: what is in flight arrives, and clients are told nothing. */
#include "explore/model/faults/fault.h"

static void list_flush_all(struct server_action_list *list)
{
    struct enabled_server_action *action = actions_add_server(list, ACTION_INJECT);
    action->forgets = true;
    server_state_flush_keys(&action->after);
}

static void prepare_flush_all(struct config *config, int times)
{
    (void)times;
    config->forgets = true;
}

const struct fault_kind fault_flush_all_kind = {
    .list_server = list_flush_all,
    .prepare = prepare_flush_all,
};
