/* wait.c - what a rule holds for a while, on a timer of the loop. */
#include "proxy/fault.h"

#include "base/memory.h"
#include "base/monotonic.h"

#include <assert.h>
#include <stdlib.h>

static void on_time(uv_timer_t *timer)
{
    struct wait *wait = timer->data;
    wait->then(wait);
}

/* Timers of libuv count whole milliseconds from a clock that is cut to whole ones: rounded up, and
 * one more, or the wait would end early. */
static uint64_t rounded_ms(int64_t us)
{
    return us <= 0 ? 0 : (uint64_t)(us + 999) / 1000 + 1;
}

static struct wait **slot(const struct strike *strike)
{
    return &strike->link->waits[strike->point != POINT_BEFORE];
}

struct wait *wait_new(const struct strike *strike, int64_t us, void (*then)(struct wait *wait))
{
    struct rules *rules = strike->link->rules;
    struct rules_orders *orders = rules->orders;
    struct wait *wait = memory_new(1, sizeof *wait);
    assert(!*slot(strike));
    *slot(strike) = wait;
    wait->strike = *strike;
    wait->then = then;
    wait->since_us = monotonic_us();
    wait->next = orders->waits;
    if (wait->next)
        wait->next->previous = wait;
    orders->waits = wait;
    int error = uv_timer_init(rules->loop, &wait->timer);
    assert(!error);
    wait->timer.data = wait;
    wait_again(wait, us);
    return wait;
}

void wait_again(struct wait *wait, int64_t us)
{
    uv_update_time(wait->strike.link->rules->loop); /* a long turn must not shorten the wait */
    int error = uv_timer_start(&wait->timer, on_time, rounded_ms(us), 0);
    assert(!error);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void wait_free(struct wait *wait)
{
    struct rules_orders *orders = wait->strike.link->rules->orders;
    *slot(&wait->strike) = NULL;
    if (wait->previous)
        wait->previous->next = wait->next;
    else
        orders->waits = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
    uv_close((uv_handle_t *)&wait->timer, on_closed);
}

void wait_forward(struct wait *wait)
{
    struct strike strike = wait->strike;
    const struct rules_hooks *hooks = &strike.link->rules->hooks;
    wait_free(wait); /* first: going on may bring the next request, and its own wait */
    if (strike.point != POINT_BEFORE) {
        if (hooks->heard)
            hooks->heard(hooks->context, strike.request);
        proxy_reply_forward(strike.request);
    } else if (hooks->let_go) {
        hooks->let_go(hooks->context, strike.request);
    } else {
        proxy_request_forward(strike.request);
    }
}
