/* ungranted.c - see ungranted.h. */
#include "run/ungranted.h"

/* A key that nobody deletes is in the way for one lease. */
enum { LEASES = 5, ATTEMPTS = 5 };

void ungranted_event(struct ungranted *ungranted, const struct event *event, int64_t holders)
{
    struct ungranted_time *now = &ungranted->now;
    if (holders > 0 || ungranted->is_held)
        *now = (struct ungranted_time){.from_us = event->time_us};
    ungranted->is_held = holders > 0;
    if (ungranted->is_held || event->kind != EVENT_RETURN || event->op != OP_ACQUIRE)
        return;
    now->attempts++;
    now->until_us = event->time_us;
    if (now->until_us - now->from_us > ungranted->longest.until_us - ungranted->longest.from_us)
        ungranted->longest = *now;
}

bool ungranted_is_long(const struct ungranted_time *time, int64_t lease_us)
{
    return time->attempts >= ATTEMPTS && time->until_us - time->from_us > LEASES * lease_us;
}
