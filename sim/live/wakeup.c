/* wakeup.c - see wakeup.h. */
#include "live/wakeup.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void rang(uv_poll_t *poll, int status, int events)
{
    struct wakeup *wakeup = poll->data;
    uint64_t times;
    (void)status, (void)events;
    if (read(wakeup->descriptor, &times, sizeof times) == sizeof times)
        wakeup->due_us = INT64_MAX;
}

enum fail wakeup_open(struct wakeup *wakeup, uv_loop_t *loop, struct failure *failure)
{
    const int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (descriptor < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "a timer: %s", strerror(errno));
    const int error = uv_poll_init(loop, &wakeup->poll, descriptor);
    if (error) {
        (void)close(descriptor);
        return failure_set(failure, FAIL_UNAVAILABLE, "a timer: %s", uv_strerror(error));
    }
    wakeup->poll.data = wakeup;
    wakeup->descriptor = descriptor;
    wakeup->due_us = INT64_MAX;
    wakeup->is_open = true;
    (void)uv_poll_start(&wakeup->poll, UV_READABLE, rang);
    uv_unref((uv_handle_t *)&wakeup->poll);
    return FAIL_NONE;
}

void wakeup_shut(struct wakeup *wakeup)
{
    if (!wakeup->is_open)
        return;
    wakeup->is_open = false;
    uv_close((uv_handle_t *)&wakeup->poll, NULL);
    (void)close(wakeup->descriptor);
}

void wakeup_by(struct wakeup *wakeup, int64_t due_us)
{
    /* One that is set for an earlier time wakes once for nothing, which costs less than to move it
     * with each turn of the loop. */
    if (due_us >= wakeup->due_us)
        return;
    const struct itimerspec when = {
        .it_value = {.tv_sec = due_us / 1000000, .tv_nsec = due_us % 1000000 * 1000}};
    const int failed = timerfd_settime(wakeup->descriptor, TFD_TIMER_ABSTIME, &when, NULL);
    assert(!failed);
    wakeup->due_us = due_us;
}
