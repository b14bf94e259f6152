/* lose_reply.c - a request was executed, and its reply never comes.
 *
 * The connection breaks with all that is in flight on it, and the client notices: it hears
 * "connection lost", as if the request had been lost. A lock that was granted so is held by
 * somebody who does not know. */
#include "explore/model/faults/fault.h"

static void list_lose_reply(struct action_list *list)
{
    for (int i = 0; i < list->client_state->count; i++) {
        if (!client_state_is_oldest(list->client_state, i, message_is_reply))
            continue;
        struct enabled_action *action = actions_add(list, ACTION_INJECT, i);
        actions_disconnect(list, action);
        client_state_settle(&action->after, list->config);
    }
}

const struct fault_kind fault_lose_reply_kind = {.list_client = list_lose_reply,
                                                 .hits_replies = true};
