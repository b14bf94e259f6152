/* stall.c - a client pauses before its next step, for as long as it likes: garbage
 * collection, a page fault, a machine that is suspended.
 *
 * Nothing of the client happens meanwhile: no timer rings, no reply is heard, no critical section
 * ends. What it has sent goes on. It knows nothing of the pause, unless it looks at its clock. */
#include "explore/model/faults/fault.h"

/* Is there a step that it would have to take now? Somebody who does nothing cannot be seen to
 * pause. */
static bool has_own_step(const struct action_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (list->enabled[i].is_urgent && list->enabled[i].kind != ACTION_ARRIVE)
            return true;
    return false;
}

static void list_stall(struct action_list *list)
{
    if (!has_own_step(list) || list->client_state->flags & CLIENT_STALLED)
        return;
    actions_add(list, ACTION_INJECT, -1)->after.flags |= CLIENT_STALLED;
}

/* In a schedule it is the time that passes before that step. */
const struct fault_kind fault_stall_kind = {.list_client = list_stall};
