/* evict.c - a server is short of memory and evicts the lock key, as it would any other that
 * may expire or, by its strategy, any at all. */
#include "explore/model/faults/fault.h"

static void list_evict(struct server_action_list *list)
{
    if (list->server_state->keyspace.type != MODEL_ABSENT)
        server_state_evict(&actions_add_server(list, ACTION_INJECT)->after);
}

const struct fault_kind fault_evict_kind = {.list_server = list_evict};
