/* fault_lose_request.c - a request never reaches its server, which therefore does nothing.
 *
 * The connection breaks with all that is in flight on it, a WATCH goes with it, and the client
 * notices: it hears "connection lost", the same as when the reply was lost. It cannot know which.
 * What nobody waits for is as good as lost while it does not come. */
#include "explore/fault.h"

static void list_lose_request(struct listing *list)
{
    for (int i = 0; i < list->local->count; i++) {
        if (!local_is_oldest(list->local, i, parcel_is_request) ||
            parcel_is_late(&list->local->parcels[i]))
            continue;
        struct draft *draft = moves_add(list, MOVE_STRIKE, i);
        moves_disconnect(list, draft);
        local_settle(&draft->after, list->setting);
    }
}

const struct fault_kind fault_lose_request_kind = {.list_client = list_lose_request,
                                                   .becomes = {1, {CHOICE_LOSE_REQUEST}}};
