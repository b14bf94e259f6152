/* duplicate.c - a request is sent twice: by a library that is impatient, a proxy, a network.
 *
 * The copy has a connection of its own, where nothing is watched. It is executed whenever it likes,
 * before the request, just behind it, or when the lock has long gone on to others; or never: it is
 * late by nature, and a prompt one is only the mildest case. Nobody hears its reply. What the
 * client does with the request itself stays as it is. */
#include "explore/model/faults/fault.h"

/* Is there a change that it could make twice? A question changes nothing, and a WATCH nothing but
 * its own connection. */
static bool can_change_twice(const struct packed_message *message)
{
    return message->verb != VERB_GET && message->verb != VERB_WATCH &&
           message->verb != VERB_UNWATCH && message->verb != VERB_WAIT;
}

static void list_duplicate(struct action_list *list)
{
    const struct client_state *client_state = list->client_state;
    for (int i = 0; i < client_state->count; i++) {
        const struct packed_message *message = &client_state->messages[i];
        if (message_is_abandoned(message) || !can_change_twice(message) ||
            !client_state_is_oldest(client_state, i, message_is_request))
            continue;
        const struct packed_message copy = client_state_copy(client_state, list->config, i);
        struct enabled_action *action = actions_add(list, ACTION_INJECT, i);
        action->after.flags |= CLIENT_STRUCK;
        client_state_add(&action->after, &copy);
        client_state_settle(&action->after, list->config);
    }
}

static void prepare_duplicate(struct config *config, int times)
{
    (void)times;
    config->repeats_commands = true;
}

const struct fault_kind fault_duplicate_kind = {
    .list_client = list_duplicate,
    .prepare = prepare_duplicate,
};
