/* fault_restart_empty.c - a server dies and comes back at once without its keys: persistence is
 * off, or the last second of it was not written yet.
 *
 * All connections break: what was in flight is lost, executed or not. */
#include "explore/fault.h"

static void list_restart_empty(struct server_listing *list)
{
    struct server_draft *draft = moves_add_server(list, MOVE_STRIKE);
    draft->breaks = draft->forgets = true;
    post_restart(&draft->after);
}

static void prepare_restart_empty(struct setting *setting, int times)
{
    (void)times;
    setting->forgets = true;
}

const struct fault_kind fault_restart_empty_kind = {
    .list_server = list_restart_empty,
    .prepare = prepare_restart_empty,
    .strikes_all_replies = true,
    .becomes = {1, {CHOICE_RESTART}},
};
