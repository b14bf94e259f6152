/* crowd_waits.c - how long faults keep the workers of a crowd waiting, and how long we do. See
 * crowd_state.h.
 *
 * While this process does not listen, a worker's command may wait for it, or its answer, or what it
 * says of a loss: all that is counted, as nobody sees when it would have come. */
#include "worker/crowd_state.h"

enum { TOLD_PART = 40 }; /* of a lease: less is told with what comes next */

static void count_own(struct member *member)
{
    const struct crowd *crowd = member->crowd;
    if (!crowd->is_closing) /* else its loop may be gone */
        own_delay_count(&member->own, &member->wait, &crowd->held_up, crowd_now_us(crowd));
}

void member_wait_begins(struct member *member)
{
    const struct crowd *crowd = member->crowd;
    if (!crowd->is_closing)
        own_delay_wait_begins(&member->own, &member->wait, &crowd->held_up, crowd_now_us(crowd));
}

void member_wait_ends(struct member *member)
{
    const struct crowd *crowd = member->crowd;
    if (!crowd->is_closing)
        own_delay_wait_ends(&member->own, &member->wait, &crowd->held_up, crowd_now_us(crowd),
                            crowd->rings_late_us);
}

void order_queue_begins(struct order *order)
{
    if (order->is_ours || !order_is_waited_for(order))
        return;
    order->is_ours = true;
    count_own(order->member);
    order->member->own.queued++;
}

void order_queue_ends(struct order *order)
{
    if (!order->is_ours)
        return;
    order->is_ours = false;
    count_own(order->member);
    order->member->own.queued--;
}

void member_own_delay_begins(struct member *member)
{
    const struct crowd *crowd = member->crowd;
    own_delay_begins(&member->own, &member->wait, &crowd->held_up, crowd_now_us(crowd));
}

void member_own_delay_tell(struct member *member)
{
    struct crowd *crowd = member->crowd;
    const int64_t lease_us = crowd->options->lease_us;
    struct event event = crowd_event(crowd, EVENT_WAKE, member, -1);
    const bool is_acquiring = member->place == MEMBER_ACQUIRES;
    count_own(member);
    event.amount_us = member->own.total_us - member->own.told_us;
    const bool may_matter = is_acquiring ? 2 * (event.time_us - member->called_us) >= lease_us
                                         : event.amount_us >= lease_us / TOLD_PART;
    if (may_matter || is_acquiring) /* what its acquire waited delays nothing behind that */
        member->own.told_us += event.amount_us;
    if (may_matter && event.amount_us > 0)
        crowd_write(crowd, &event);
}
