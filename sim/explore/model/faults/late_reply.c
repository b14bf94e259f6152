/* late_reply.c - a request was executed, and its reply is on its way for as long as it likes.
 *
 * The lease runs from the execution, and the client does not know: a grant may be heard when it is
 * worth nothing any more. The client waits, or stops waiting: a time-out, and what was granted is
 * nobody's. */
#include "explore/model/faults/fault.h"

static void list_late_reply(struct action_list *list)
{
    for (int i = 0; i < list->client_state->count; i++) {
        if (!client_state_can_be_heard(list->client_state, i) ||
            list->client_state->messages[i].flags & MESSAGE_LATE)
            continue;
        actions_add(list, ACTION_INJECT, i)->after.messages[i].flags |= MESSAGE_LATE;
    }
}

/* In a schedule it is the time that passes before the reply is heard. */
const struct fault_kind fault_late_reply_kind = {.list_client = list_late_reply,
                                                 .hits_replies = true};
