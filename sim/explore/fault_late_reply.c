/* fault_late_reply.c - a request was executed, and its reply is on its way for as long as it likes.
 *
 * The lease runs from the execution, and the client does not know: a grant may be heard when it is
 * worth nothing any more. The client waits, or stops waiting: a time-out, and what was granted is
 * nobody's. */
#include "explore/fault.h"

static void list_late_reply(struct listing *list)
{
    for (int i = 0; i < list->local->count; i++) {
        if (!local_can_be_heard(list->local, i) || list->local->parcels[i].flags & PARCEL_LATE)
            continue;
        moves_add(list, MOVE_STRIKE, i)->after.parcels[i].flags |= PARCEL_LATE;
    }
}

/* In a schedule it is the time that passes before the reply is heard. */
const struct fault_kind fault_late_reply_kind = {.list_client = list_late_reply,
                                                 .strikes_replies = true};
