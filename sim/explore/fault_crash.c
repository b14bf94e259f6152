/* fault_crash.c - a client dies, and what it had in flight dies with it.
 *
 * It does not come back: a process that starts anew is another client. What it did at the servers
 * stays. One that is idle and has nothing in mind leaves nothing behind, so that its death would
 * show nothing. */
#include "explore/fault.h"

static void list_crash(struct listing *list)
{
    const struct local *local = list->local;
    bool is_busy = local->phase != PHASE_IDLE || local->wake != NO_TIME;
    if (local->phase == PHASE_DEAD || !is_busy)
        return;
    struct draft *draft = moves_add(list, MOVE_STRIKE, -1);
    draft->did = DID_DISCONNECT;
    draft->after.phase = PHASE_DEAD;
    local_settle(&draft->after, list->setting);
}

const struct fault_kind fault_crash_kind = {
    .list_client = list_crash, .meets_everything = true, .becomes = {1, {CHOICE_CRASH}}};
