/* lose_request.c - a request never reaches its server, which therefore does nothing.
 *
 * The connection breaks with all that is in flight on it, a WATCH goes with it, and the client
 * notices: it hears "connection lost", the same as when the reply was lost. It cannot know which.
 * What nobody waits for is as good as lost while it does not come. */
#include "explore/model/faults/fault.h"

static void list_lose_request(struct action_list *list)
{
    for (int i = 0; i < list->client_state->count; i++) {
        if (!client_state_is_oldest(list->client_state, i, message_is_request) ||
            message_is_abandoned(&list->client_state->messages[i]))
            continue;
        struct enabled_action *action = actions_add(list, ACTION_INJECT, i);
        actions_disconnect(list, action);
        client_state_settle(&action->after, list->config);
    }
}

const struct fault_kind fault_lose_request_kind = {.list_client = list_lose_request};
