/* injected_wait.c - how long faults keep a client waiting. See injected_wait.h. */
#include "live/injected_wait.h"

#include <assert.h>

void injected_wait_begins(struct injected_wait *wait, int64_t now_us)
{
    if (!wait->reasons++)
        wait->since_us = now_us;
}

void injected_wait_ends(struct injected_wait *wait, int64_t now_us)
{
    assert(wait->reasons > 0);
    if (!--wait->reasons)
        wait->total_us += now_us - wait->since_us;
}

int64_t injected_wait_us(const struct injected_wait *wait, int64_t now_us)
{
    return wait->total_us + (wait->reasons ? now_us - wait->since_us : 0);
}
