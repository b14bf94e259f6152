/* resend.c - a reply is lost, and the client's library sends the command again by itself.
 *
 * Many libraries do so by default: the connection breaks, they connect anew and repeat what was not
 * answered. It was executed, and is executed again; the scheme hears only the second answer, and
 * takes it for the first. */
#include "explore/model/faults/fault.h"

static struct packed_message sent_again(struct packed_message message)
{
    message.state = MESSAGE_REQUEST;
    message.flags &= MESSAGE_CURRENT | MESSAGE_WON | MESSAGE_COUNTED;
    message.reply_kind = message.reply_error = 0;
    message.reply_value = message.reply_second = 0;
    return message;
}

static void list_resend(struct action_list *list)
{
    for (int i = 0; i < list->client_state->count; i++) {
        if (!client_state_is_oldest(list->client_state, i, message_is_reply))
            continue;
        const struct packed_message again = sent_again(list->client_state->messages[i]);
        struct enabled_action *action = actions_add(list, ACTION_INJECT, i);
        client_state_remove(&action->after, i);
        actions_disconnect(list, action);
        action->after.flags |= CLIENT_STRUCK;
        client_state_add(&action->after, &again);
        client_state_settle(&action->after, list->config);
    }
}

static void prepare_resend(struct config *config, int times)
{
    (void)times;
    config->keeps_commands = config->repeats_commands = true;
}

const struct fault_kind fault_resend_kind = {
    .list_client = list_resend,
    .hits_replies = true,
    .prepare = prepare_resend,
};
