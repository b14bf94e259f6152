/* wakeup.h - ends the loop's wait at a microsecond. A timer of libuv knows milliseconds only: the
 * rest of each would have to be waited for without sleep. Source: timerfd_create(2). */
#ifndef PICKLOCK_LIVE_WAKEUP_H
#define PICKLOCK_LIVE_WAKEUP_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct wakeup {
    uv_poll_t poll;
    int descriptor;
    int64_t due_us; /* of monotonic_us(); INT64_MAX: it is not set */
    bool is_open;
};

/* The loop does not go on for its sake. FAIL_UNAVAILABLE: no descriptor. */
enum fail wakeup_open(struct wakeup *wakeup, uv_loop_t *loop, struct failure *failure);
/* The handle goes with the loop's next turn. */
void wakeup_shut(struct wakeup *wakeup);

/* The loop's wait ends then (monotonic_us()) at the latest; maybe once before, at a time that was
 * asked for earlier. */
void wakeup_by(struct wakeup *wakeup, int64_t due_us);

#endif
