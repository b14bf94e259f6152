/* fault_failover.c - a replica is cut off, and later promoted with what it had then: replication is
 * asynchronous, so what was granted in between is forgotten.
 *
 * It strikes when the replica is cut off, which nobody sees. The promotion follows at any later
 * time, if at all; then all connections break. */
#include "explore/fault.h"

static void list_failover(struct server_listing *list)
{
    if (list->post->replica_state == REPLICA_IN_STEP)
        post_cut(&moves_add_server(list, MOVE_STRIKE)->after);
    if (list->post->replica_state != REPLICA_CUT)
        return;
    struct server_draft *draft = moves_add_server(list, MOVE_FOLLOW);
    draft->breaks = draft->forgets = true;
    post_failover(&draft->after);
    /* That it has no replica any more is worth a mark only while another one may be cut off. */
    if (!list->setting->has_replicas)
        draft->after.replica_state = REPLICA_IN_STEP;
}

static void prepare_failover(struct setting *setting, int times)
{
    setting->has_replica = setting->forgets = true;
    setting->has_replicas = times > 1;
}

const struct fault_kind fault_failover_kind = {
    .list_server = list_failover,
    .prepare = prepare_failover,
    .strikes_all_replies = true,
    .becomes = {1, {CHOICE_CUT_REPLICA}},
    .follows = {1, {CHOICE_FAILOVER}},
};
