/* failover.c - a replica is cut off, and later promoted with what it had then: replication is
 * asynchronous, so what was granted in between is forgotten.
 *
 * It strikes when the replica is cut off, which nobody sees. The promotion follows at any later
 * time, if at all; then all connections break. */
#include "explore/model/faults/fault.h"

static void list_failover(struct server_action_list *list)
{
    if (list->server_state->replica_state == REPLICA_IN_STEP)
        server_state_cut(&actions_add_server(list, ACTION_INJECT)->after);
    if (list->server_state->replica_state != REPLICA_CUT)
        return;
    struct enabled_server_action *action = actions_add_server(list, ACTION_DELAYED);
    action->breaks = action->forgets = true;
    server_state_failover(&action->after);
    /* That it has no replica any more is worth a mark only while another one may be cut off. */
    if (!list->config->has_replicas)
        action->after.replica_state = REPLICA_IN_STEP;
}

static void prepare_failover(struct config *config, int times)
{
    config->has_replica = config->forgets = true;
    config->has_replicas = times > 1;
}

const struct fault_kind fault_failover_kind = {
    .list_server = list_failover,
    .prepare = prepare_failover,
};
