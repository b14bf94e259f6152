/* fault_answer_error.c - a server refuses a request with an error and executes nothing; the client
 * hears it.
 *
 * The error is LOADING: a server that reads its data, after a restart or from its primary, refuses
 * reads, writes and scripts alike, where OOM, READONLY and MISCONF let reads, and some of the
 * writes, through. What it lets through (WATCH, UNWATCH) is not struck. It lets MULTI in, queues
 * nothing, and fails the EXEC, which ends the watch. One command is struck at a time: a command
 * behind it may be executed again. */
#include "explore/fault.h"

/* The server's word, and what it does to a watch: the model's. */
static struct reply answer(const struct parcel *parcel, const struct setting *setting,
                           struct model_watch *watch)
{
    struct model model;
    const struct command command = parcel_command(parcel);
    model_init(&model, 1);
    model.has_delex = setting->scheme->needs_delex;
    model.refuses = fault_answer_error_kind.error;
    return model_execute(&model, watch, &command, 0);
}

static void list_answer_error(struct listing *list)
{
    for (int i = 0; i < list->local->count; i++) {
        const struct parcel *parcel = &list->local->parcels[i];
        if (parcel_is_late(parcel) || !local_can_arrive(list->local, i))
            continue;
        struct model_watch watch = {.active = true};
        const struct reply reply = answer(parcel, list->setting, &watch);
        if (reply.kind != REPLY_ERROR || reply.error != fault_answer_error_kind.error)
            continue;
        struct draft *draft = moves_add(list, MOVE_STRIKE, i);
        draft->did = watch.active ? 0 : DID_DISCONNECT;
        draft->after.flags |= LOCAL_STRUCK;
        moves_answered(&draft->after, list->setting, i, &reply);
    }
}

const struct fault_kind fault_answer_error_kind = {.list_client = list_answer_error,
                                                   .becomes = {1, {CHOICE_ANSWER_ERROR}},
                                                   .error = ERROR_LOADING};
