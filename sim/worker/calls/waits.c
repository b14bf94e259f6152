/* waits.c - waiting for descriptors: poll, select, epoll; and timerfd. See calls.h.
 *
 * A wait is looked at through descriptors of ours for the same files. What is ready, the kernel
 * answers itself, at once; what is not is held until it is. A timer is armed in the kernel only
 * when its instant has come, to ring at once, so that poll() and read() show it; one with an
 * interval rings once for each look. Sources: poll(2), select(2), epoll_wait(2), timerfd_create(2),
 * proc(5): fdinfo. */
#include "worker/calls/state.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

void wait_rows_shut(struct held_thread *thread)
{
    for (size_t i = 0; i < thread->row_count; i++)
        if (thread->rows[i].fd >= 0)
            (void)close(thread->rows[i].fd);
    free(thread->rows);
    thread->rows = NULL;
    thread->row_count = 0;
}

/* Held, if nothing is ready; rows (taken) are of ours. */
static enum call_fate wait_for_rows(struct calls *calls, struct held_thread *thread,
                                    struct pollfd *rows, size_t count, int64_t until_us)
{
    thread->rows = rows;
    thread->row_count = count;
    (void)held_timers_next_us(calls);
    if (until_us <= calls_now_us(calls) || poll(rows, count, 0) != 0) {
        wait_rows_shut(thread);
        return FATE_KERNEL;
    }
    (void)calls_wait_until(thread, until_us, 0);
    thread->wanted = FOR_DESCRIPTORS;
    return FATE_WAITS;
}

enum call_fate wait_for_one(struct held_thread *thread, int ours, short events, int64_t until_us,
                            int64_t late)
{
    thread->rows = memory_new(1, sizeof *thread->rows);
    thread->rows[0] = (struct pollfd){.fd = ours, .events = events};
    thread->row_count = 1;
    (void)calls_wait_until(thread, until_us, late);
    thread->wanted = FOR_DESCRIPTORS;
    return FATE_WAITS;
}

/* Its time-out, which began when it was first asked. */
static int64_t until_of_ms(struct calls *calls, const struct held_thread *thread, int timeout_ms)
{
    if (thread->is_retried)
        return thread->until_us;
    return timeout_ms < 0 ? TIME_NEVER : calls_now_us(calls) + (int64_t)timeout_ms * 1000;
}

static bool until_of_amount(struct calls *calls, const struct held_thread *thread, uint64_t amount,
                            int64_t *until_us)
{
    if (!thread->is_retried)
        return calls_after(calls, amount, until_us);
    *until_us = thread->until_us;
    return true;
}

/* --- poll --- */

static enum call_fate poll_until(struct calls *calls, struct held_thread *thread, int64_t until_us)
{
    const uint64_t count = call_argument(thread, 1);
    if (count > CALLS_ROWS_MAX)
        return call_value(thread, -EINVAL);
    struct pollfd *rows = memory_new(count + 1, sizeof *rows);
    if (count && !calls_read(calls, call_argument(thread, 0), rows, count * sizeof *rows)) {
        free(rows);
        return call_value(thread, -EFAULT);
    }
    bool is_wrong = false; /* the kernel says so at once */
    for (size_t i = 0; i < count; i++) {
        const int theirs = rows[i].fd;
        rows[i].fd = theirs < 0 ? -1 : calls_borrow(calls, theirs);
        is_wrong |= theirs >= 0 && rows[i].fd < 0;
    }
    if (is_wrong)
        until_us = INT64_MIN;
    return wait_for_rows(calls, thread, rows, count, until_us);
}

enum call_fate on_poll(struct calls *calls, struct held_thread *thread)
{
    return poll_until(calls, thread, until_of_ms(calls, thread, (int)call_argument(thread, 2)));
}

enum call_fate on_ppoll(struct calls *calls, struct held_thread *thread)
{
    int64_t until_us;
    if (!until_of_amount(calls, thread, call_argument(thread, 2), &until_us))
        return call_value(thread, -EINVAL);
    return poll_until(calls, thread, until_us);
}

/* --- select --- */

static size_t set_bytes(const struct held_thread *thread)
{
    const int count = (int)call_argument(thread, 0);
    return count <= 0 ? 0 : (size_t)(count + 63) / 64 * sizeof(uint64_t);
}

static enum call_fate select_until(struct calls *calls, struct held_thread *thread,
                                   int64_t until_us)
{
    static const short asked[] = {POLLIN, POLLOUT, POLLPRI};
    const int count = (int)call_argument(thread, 0);
    fd_set sets[3] = {0};
    if (count < 0 || count > FD_SETSIZE)
        return call_value(thread, -EINVAL);
    for (int i = 0; i < 3; i++) {
        const uint64_t from = call_argument(thread, i + 1);
        if (from && !calls_read(calls, from, &sets[i], set_bytes(thread)))
            return call_value(thread, -EFAULT);
    }
    struct pollfd *rows = memory_new((size_t)count + 1, sizeof *rows);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        short events = 0;
        for (int k = 0; k < 3; k++)
            events = (short)(events | (FD_ISSET(i, &sets[k]) ? asked[k] : 0));
        if (events)
            rows[used++] = (struct pollfd){.fd = calls_borrow(calls, i), .events = events};
        if (events && rows[used - 1].fd < 0)
            until_us = INT64_MIN; /* a wrong one: the kernel says so at once */
    }
    return wait_for_rows(calls, thread, rows, used, until_us);
}

enum call_fate on_select(struct calls *calls, struct held_thread *thread)
{
    struct timeval amount;
    const uint64_t from = call_argument(thread, 4);
    int64_t until_us = thread->is_retried ? thread->until_us : TIME_NEVER;
    if (from && !thread->is_retried) {
        if (!calls_read(calls, from, &amount, sizeof amount))
            return call_value(thread, -EFAULT);
        until_us = calls_now_us(calls) + (int64_t)amount.tv_sec * TIME_SECOND_US + amount.tv_usec;
    }
    return select_until(calls, thread, until_us);
}

enum call_fate on_pselect6(struct calls *calls, struct held_thread *thread)
{
    int64_t until_us;
    if (!until_of_amount(calls, thread, call_argument(thread, 4), &until_us))
        return call_value(thread, -EINVAL);
    return select_until(calls, thread, until_us);
}

void wait_is_late(struct calls *calls, const struct held_thread *thread)
{
    const uint64_t at = call_argument(thread, 0);
    const short none = 0;
    const uint64_t zeros[FD_SETSIZE / 64] = {0};
    const int number = thread->call.data.nr;
    bool is_poll = number == SYS_ppoll, is_select = number == SYS_pselect6;
#ifdef __x86_64__
    is_poll |= number == SYS_poll;
    is_select |= number == SYS_select;
#endif
    for (uint64_t i = 0; is_poll && i < call_argument(thread, 1); i++)
        (void)calls_write(calls, at + i * sizeof(struct pollfd) + offsetof(struct pollfd, revents),
                          &none, sizeof none);
    for (int i = 1; is_select && i <= 3; i++)
        if (call_argument(thread, i))
            (void)calls_write(calls, call_argument(thread, i), zeros, set_bytes(thread));
}

/* --- epoll: readable when it has something --- */

static enum call_fate epoll_until(struct calls *calls, struct held_thread *thread, int64_t until_us)
{
    const int ours = calls_borrow(calls, (int)call_argument(thread, 0));
    if (ours < 0 || (int)call_argument(thread, 2) <= 0)
        return FATE_KERNEL;
    struct pollfd *rows = memory_new(1, sizeof *rows);
    rows[0] = (struct pollfd){.fd = ours, .events = POLLIN};
    return wait_for_rows(calls, thread, rows, 1, until_us);
}

enum call_fate on_epoll_wait(struct calls *calls, struct held_thread *thread)
{
    if ((int)call_argument(thread, 3) == 0) {
        (void)held_timers_next_us(calls);
        return FATE_KERNEL;
    }
    return epoll_until(calls, thread, until_of_ms(calls, thread, (int)call_argument(thread, 3)));
}

enum call_fate on_epoll_pwait2(struct calls *calls, struct held_thread *thread)
{
    int64_t until_us;
    if (!until_of_amount(calls, thread, call_argument(thread, 3), &until_us))
        return call_value(thread, -EINVAL);
    return epoll_until(calls, thread, until_us);
}

/* --- timerfd --- */

static clockid_t clock_of(int ours)
{
    char path[64], line[128];
    int clock = CLOCK_MONOTONIC;
    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", ours);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "clockid:", 8) == 0)
            clock = (int)strtol(line + 8, NULL, 10);
    if (file)
        (void)fclose(file);
    return clock;
}

static struct held_timer *find_timer(struct calls *calls, int descriptor)
{
    struct held_timer *free_one = NULL;
    for (int i = 0; i < CALLS_TIMERS_MAX; i++) {
        struct held_timer *timer = &calls->timers[i];
        if (timer->ours && timer->theirs == descriptor)
            return timer;
        if (!timer->ours && !free_one)
            free_one = timer;
    }
    const int ours = free_one ? calls_borrow(calls, descriptor) : -1;
    if (ours < 0)
        return NULL;
    *free_one = (struct held_timer){
        .ours = 1 + ours, .theirs = descriptor, .clock = clock_of(ours), .due_us = TIME_NEVER};
    return free_one;
}

int64_t held_timers_next_us(struct calls *calls)
{
    const struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    int64_t next_us = TIME_NEVER, now_us = calls_now_us(calls);
    for (int i = 0; i < CALLS_TIMERS_MAX; i++) {
        struct held_timer *timer = &calls->timers[i];
        if (!timer->ours)
            continue;
        if (timer->due_us <= now_us) {
            struct pollfd row = {.fd = timer->ours - 1, .events = POLLIN};
            (void)timerfd_settime(timer->ours - 1, 0, &soon, NULL);
            (void)poll(&row, 1, -1); /* a nanosecond */
            timer->due_us = timer->interval_us ? now_us + timer->interval_us : TIME_NEVER;
        }
        if (timer->due_us < next_us)
            next_us = timer->due_us;
    }
    return next_us;
}

void held_timers_closed(struct calls *calls, int descriptor)
{
    for (int i = 0; i < CALLS_TIMERS_MAX; i++) {
        struct held_timer *timer = &calls->timers[i];
        if (!timer->ours || timer->theirs != descriptor)
            continue;
        (void)close(timer->ours - 1);
        timer->ours = 0;
    }
}

enum call_fate on_timerfd_settime(struct calls *calls, struct held_thread *thread)
{
    const struct itimerspec off = {0};
    struct itimerspec wanted;
    if (!calls_read(calls, call_argument(thread, 2), &wanted, sizeof wanted))
        return call_value(thread, -EFAULT);
    struct held_timer *timer = find_timer(calls, (int)call_argument(thread, 0));
    if (!timer)
        return FATE_KERNEL;
    const bool is_armed = wanted.it_value.tv_sec || wanted.it_value.tv_nsec;
    const bool is_instant = call_argument(thread, 1) & TFD_TIMER_ABSTIME;
    const int64_t amount_us = time_up_us(&wanted.it_value);
    timer->interval_us = time_up_us(&wanted.it_interval);
    timer->due_us = !is_armed    ? TIME_NEVER
                    : is_instant ? time_instant_us(calls->page, timer->clock, amount_us)
                                 : calls_now_us(calls) + amount_us;
    (void)timerfd_settime(timer->ours - 1, 0, &off, NULL);
    if (call_argument(thread, 3))
        (void)calls_write(calls, call_argument(thread, 3), &off, sizeof off);
    return call_value(thread, 0);
}
