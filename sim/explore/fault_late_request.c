/* fault_late_request.c - a request is on its way for as long as it likes.
 *
 * The client waits, or stops waiting: a time-out. Then nobody hears the reply any more, but the
 * request may still be executed, when the client has long done something else, on a new connection.
 * Those behind it on its own connection wait as well. */
#include "explore/fault.h"

static void list_late_request(struct listing *list)
{
    for (int i = 0; i < list->local->count; i++) {
        if (!local_can_arrive(list->local, i) || list->local->parcels[i].flags & PARCEL_LATE)
            continue;
        moves_add(list, MOVE_STRIKE, i)->after.parcels[i].flags |= PARCEL_LATE;
    }
}

/* In a schedule it is the time that passes before the request reaches its server. */
const struct fault_kind fault_late_request_kind = {.list_client = list_late_request};
