/* late_request.c - a request is on its way for as long as it likes.
 *
 * The client waits, or stops waiting: a time-out. Then nobody hears the reply any more, but the
 * request may still be executed, when the client has long done something else, on a new connection.
 * Those behind it on its own connection wait as well. */
#include "explore/model/faults/fault.h"

static void list_late_request(struct action_list *list)
{
    for (int i = 0; i < list->client_state->count; i++) {
        if (!client_state_can_arrive(list->client_state, i) ||
            list->client_state->messages[i].flags & MESSAGE_LATE)
            continue;
        actions_add(list, ACTION_INJECT, i)->after.messages[i].flags |= MESSAGE_LATE;
    }
}

/* In a schedule it is the time that passes before the request reaches its server. */
const struct fault_kind fault_late_request_kind = {.list_client = list_late_request};
