/* restart_old.c - a server saves its keys to a snapshot, and later dies and comes back with those:
 * keys that were made since are gone, and keys that were deleted since are there again.
 *
 * It strikes when the keys are saved, which nobody sees. The restart follows at any later time, if
 * at all; then all connections break. */
#include "explore/model/faults/fault.h"

static void list_restart_old(struct server_action_list *list)
{
    if (!list->server_state->has_saved) {
        server_state_save(&actions_add_server(list, ACTION_INJECT)->after);
        return;
    }
    struct enabled_server_action *action = actions_add_server(list, ACTION_DELAYED);
    action->breaks = action->forgets = true;
    server_state_restart_with_saved(&action->after);
    server_state_lose_link(&action->after, list->config);
}

static void prepare_restart_old(struct config *config, int times)
{
    (void)times;
    config->saves = config->forgets = true;
}

const struct fault_kind fault_restart_old_kind = {
    .list_server = list_restart_old,
    .prepare = prepare_restart_old,
};
