/* fault_lose_reply.c - a request was executed, and its reply never comes.
 *
 * The connection breaks with all that is in flight on it, and the client notices: it hears
 * "connection lost", as if the request had been lost. A lock that was granted so is held by
 * somebody who does not know. */
#include "explore/fault.h"

static void list_lose_reply(struct listing *list)
{
    for (int i = 0; i < list->local->count; i++) {
        if (!local_is_oldest(list->local, i, parcel_is_reply))
            continue;
        struct draft *draft = moves_add(list, MOVE_STRIKE, i);
        moves_disconnect(list, draft);
        local_settle(&draft->after, list->setting);
    }
}

const struct fault_kind fault_lose_reply_kind = {
    .list_client = list_lose_reply, .strikes_replies = true, .becomes = {1, {CHOICE_LOSE_REPLY}}};
