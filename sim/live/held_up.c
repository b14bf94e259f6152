/* held_up.c - how long this process held up the clients of a free run. See held_up.h. */
#include "live/held_up.h"

#include "base/monotonic.h"

static int64_t idle_us(const struct held_up *held_up)
{
    return (int64_t)(uv_metrics_idle_time((uv_loop_t *)held_up->loop) / 1000);
}

void held_up_begin(struct held_up *held_up, uv_loop_t *loop)
{
    (void)uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
    *held_up = (struct held_up){.loop = loop, .began_us = monotonic_us()};
    held_up->idle_us = idle_us(held_up);
}

/* What it slept for longer than it wanted to is no waiting for others. */
static int64_t waited_us(const struct held_up *held_up)
{
    const int64_t slept_us = idle_us(held_up) - held_up->idle_us;
    return held_up->waited_us + (slept_us < held_up->may_us ? slept_us : held_up->may_us);
}

void held_up_turn(struct held_up *held_up, int64_t may_us)
{
    held_up->waited_us = waited_us(held_up);
    held_up->idle_us = idle_us(held_up);
    held_up->may_us = may_us > 0 ? may_us : 0;
}

int64_t held_up_us(const struct held_up *held_up)
{
    return monotonic_us() - held_up->began_us - waited_us(held_up);
}

void own_delay_count(struct own_delay *own, const struct injected_wait *wait,
                     const struct held_up *held_up, int64_t now_us)
{
    const int64_t held_us = held_up_us(held_up);
    if (!wait->reasons)
        own->total_us += own->queued ? now_us - own->since_us : held_us - own->held_us;
    own->since_us = now_us;
    own->held_us = held_us;
}

void own_delay_begins(struct own_delay *own, const struct injected_wait *wait,
                      const struct held_up *held_up, int64_t now_us)
{
    own_delay_count(own, wait, held_up, now_us);
    own->total_us = own->told_us = 0;
}

void own_delay_wait_begins(struct own_delay *own, struct injected_wait *wait,
                           const struct held_up *held_up, int64_t now_us)
{
    own_delay_count(own, wait, held_up, now_us);
    injected_wait_begins(wait, now_us);
}

void own_delay_wait_ends(struct own_delay *own, struct injected_wait *wait,
                         const struct held_up *held_up, int64_t now_us, int64_t rings_late_us)
{
    const int64_t lasted_us = now_us - wait->since_us;
    own_delay_count(own, wait, held_up, now_us);
    injected_wait_ends(wait, now_us);
    if (!wait->reasons)
        own->total_us += rings_late_us < lasted_us ? rings_late_us : lasted_us;
}
