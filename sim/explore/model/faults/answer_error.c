/* answer_error.c - a server refuses a request with an error and executes nothing; the client
 * hears it.
 *
 * The error is LOADING: a server that reads its data, after a restart or from its primary, refuses
 * reads, writes and scripts alike, where OOM, READONLY and MISCONF let reads, and some of the
 * writes, through. What it lets through (WATCH, UNWATCH) is not struck. It lets MULTI in, queues
 * nothing, and fails the EXEC, which ends the watch. One command is struck at a time: a command
 * behind it may be executed again. */
#include "explore/model/faults/fault.h"

/* The server's word, and what it does to a watch: the model's. Whatever a foreign program sends is
 * refused. */
static struct reply answer(const struct packed_message *message, const struct config *config,
                           struct model_watch *watch)
{
    struct model model;
    if (message_is_opaque(message) && message->opaque_kind == OPAQUE_WATCH)
        return (struct reply){.kind = REPLY_OK};
    if (message_is_opaque(message) && message->opaque_kind == OPAQUE_TRANSACTION)
        watch->active = false;
    if (message_is_opaque(message))
        return (struct reply){.kind = REPLY_ERROR, .error = fault_answer_error_kind.error};
    const struct command command = message_command(message);
    model_init(&model, 1);
    model.has_delex = config->scheme->needs_delex;
    model.refuses = fault_answer_error_kind.error;
    return model_execute(&model, watch, &command, 0);
}

static void list_answer_error(struct action_list *list)
{
    for (int i = 0; i < list->client_state->count; i++) {
        const struct packed_message *message = &list->client_state->messages[i];
        if (message_is_abandoned(message) || !client_state_can_arrive(list->client_state, i))
            continue;
        struct model_watch watch = {.active = true};
        const struct reply reply = answer(message, list->config, &watch);
        if (reply.kind != REPLY_ERROR || reply.error != fault_answer_error_kind.error)
            continue;
        struct enabled_action *action = actions_add(list, ACTION_INJECT, i);
        action->did = watch.active ? 0 : DID_DISCONNECT;
        action->after.flags |= CLIENT_STRUCK;
        actions_answered(&action->after, list->config, i, &reply);
    }
}

const struct fault_kind fault_answer_error_kind = {.list_client = list_answer_error,
                                                   .error = ERROR_LOADING};
