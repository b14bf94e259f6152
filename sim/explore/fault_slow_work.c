/* fault_slow_work.c - a critical section lasts longer than a tick, as long as it likes.
 *
 * The client works: it is no pause. Its timers ring in time and replies are heard, so that a
 * watchdog can renew the lease meanwhile. The mildest of all faults, and the one that happens
 * daily: a lock that is broken by it is broken. */
#include "explore/fault.h"

static void list_slow_work(struct listing *list)
{
    const struct local *local = list->local;
    if (local->phase != PHASE_HOLDING || local->flags & LOCAL_SLOW)
        return;
    moves_add(list, MOVE_STRIKE, -1)->after.flags |= LOCAL_SLOW;
}

/* In a schedule it is the time that passes before the release. */
const struct fault_kind fault_slow_work_kind = {.list_client = list_slow_work};
