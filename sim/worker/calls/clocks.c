/* clocks.c - what time it is, sleeping, random bytes. See calls.h.
 *
 * Sources: clock_gettime(2), gettimeofday(2), time(2), clock_nanosleep(2), sched_yield(2),
 * getrandom(2). */
#include "worker/calls/state.h"

#include <errno.h>
#include <sys/time.h>

/* A thread that reads the clock so often in a row waits for another one, perhaps. */
enum { READS_IN_TURN = 100, RANDOM_MAX = 4096 };

/* --- creeping: see time_rules.h --- */

int64_t calls_now_us(struct calls *calls)
{
    const int64_t now_us = atomic_load(&calls->page->now_us);
    const int64_t crept_us = calls->creep_from_us + calls->creep_us;
    if (!calls->creep_us || now_us < crept_us)
        return calls->creep_us ? crept_us : now_us;
    calls->creep_us = 0;
    return now_us;
}

void calls_has_waited(struct calls *calls)
{
    calls->spins = calls->in_turn = 0;
}

static void creep(struct calls *calls)
{
    const int64_t now_us = atomic_load(&calls->page->now_us);
    const int64_t ahead_us = calls_now_us(calls) - now_us;
    calls->creep_from_us = now_us;
    calls->creep_us = ahead_us + 1;
    atomic_fetch_add(&calls->page->counts.creep_us, 1);
}

static int64_t read_clock(struct calls *calls, const struct held_thread *thread, clockid_t clock)
{
    struct time_counts *counts = &calls->page->counts;
    if (!thread->is_housekeeper) {
        atomic_fetch_add(time_is_wall(clock) ? &counts->wall_reads : &counts->monotonic_reads, 1);
        if (++calls->spins > TIME_SPINS_MAX)
            creep(calls);
    }
    return time_base_us(calls->page, clock) + calls_now_us(calls);
}

/* Done; behind the others when it has been so often. */
static enum call_fate done_reading(struct calls *calls, struct held_thread *thread, int64_t value)
{
    thread->value = value;
    if (++calls->in_turn < READS_IN_TURN)
        return FATE_VALUE;
    calls->in_turn = 0;
    return FATE_YIELDS;
}

/* --- reading --- */

enum call_fate on_clock_gettime(struct calls *calls, struct held_thread *thread)
{
    const clockid_t clock = (clockid_t)call_argument(thread, 0);
    if (!time_is_wall(clock) && !time_is_monotonic(clock))
        return FATE_KERNEL;
    const struct timespec now = time_of_us(read_clock(calls, thread, clock));
    const bool is_there = calls_write(calls, call_argument(thread, 1), &now, sizeof now);
    return done_reading(calls, thread, is_there ? 0 : -EFAULT);
}

enum call_fate on_gettimeofday(struct calls *calls, struct held_thread *thread)
{
    const int64_t us = read_clock(calls, thread, CLOCK_REALTIME);
    const struct timeval now = {.tv_sec = us / TIME_SECOND_US, .tv_usec = us % TIME_SECOND_US};
    const struct timezone zone = {0};
    bool is_there = true;
    if (call_argument(thread, 0))
        is_there = calls_write(calls, call_argument(thread, 0), &now, sizeof now);
    if (call_argument(thread, 1))
        is_there &= calls_write(calls, call_argument(thread, 1), &zone, sizeof zone);
    return done_reading(calls, thread, is_there ? 0 : -EFAULT);
}

enum call_fate on_time(struct calls *calls, struct held_thread *thread)
{
    const time_t now = read_clock(calls, thread, CLOCK_REALTIME) / TIME_SECOND_US;
    bool is_there = true;
    if (call_argument(thread, 0))
        is_there = calls_write(calls, call_argument(thread, 0), &now, sizeof now);
    return done_reading(calls, thread, is_there ? now : -EFAULT);
}

/* --- sleeping --- */

static bool is_valid(const struct timespec *amount)
{
    return amount->tv_sec >= 0 && amount->tv_nsec >= 0 && amount->tv_nsec < 1000000000;
}

bool calls_after(struct calls *calls, uint64_t amount, int64_t *until_us)
{
    struct timespec read;
    *until_us = TIME_NEVER;
    if (!amount)
        return true;
    if (!calls_read(calls, amount, &read, sizeof read) || !is_valid(&read))
        return false;
    *until_us = calls_now_us(calls) + time_up_us(&read);
    return true;
}

enum call_fate calls_wait_until(struct held_thread *thread, int64_t until_us, int64_t late)
{
    thread->wanted = FOR_TIME;
    thread->until_us = until_us;
    thread->late = late;
    return FATE_WAITS;
}

static enum call_fate sleep_until(struct calls *calls, struct held_thread *thread, int64_t until_us)
{
    (void)calls_wait_until(thread, until_us, 0);
    if (thread->is_housekeeper)
        thread->wanted = FOR_OTHERS;
    else if (until_us <= calls_now_us(calls)) {
        thread->value = 0;
        return FATE_YIELDS;
    }
    return FATE_WAITS;
}

enum call_fate on_nanosleep(struct calls *calls, struct held_thread *thread)
{
    int64_t until_us;
    if (!calls_after(calls, call_argument(thread, 0), &until_us))
        return call_value(thread, -EINVAL);
    return sleep_until(calls, thread, until_us);
}

enum call_fate on_clock_nanosleep(struct calls *calls, struct held_thread *thread)
{
    const clockid_t clock = (clockid_t)call_argument(thread, 0);
    struct timespec amount;
    if (!time_is_wall(clock) && !time_is_monotonic(clock))
        return FATE_KERNEL;
    if (!calls_read(calls, call_argument(thread, 2), &amount, sizeof amount))
        return call_value(thread, -EFAULT);
    if (!is_valid(&amount))
        return call_value(thread, -EINVAL);
    const bool is_instant = call_argument(thread, 1) & TIMER_ABSTIME;
    const int64_t amount_us = time_up_us(&amount);
    return sleep_until(calls, thread,
                       is_instant ? time_instant_us(calls->page, clock, amount_us)
                                  : calls_now_us(calls) + amount_us);
}

enum call_fate on_sched_yield(struct calls *calls, struct held_thread *thread)
{
    (void)calls;
    thread->value = 0;
    return FATE_YIELDS;
}

enum call_fate on_io_uring_setup(struct calls *calls, struct held_thread *thread)
{
    (void)calls;
    thread->value = -ENOSYS;
    return FATE_VALUE;
}

/* --- random --- */

enum call_fate draw_random(struct calls *calls, struct held_thread *thread, int address)
{
    unsigned char bytes[RANDOM_MAX];
    const uint64_t wanted = call_argument(thread, address + 1);
    const size_t length = wanted < sizeof bytes ? (size_t)wanted : sizeof bytes;
    atomic_fetch_add(&calls->page->counts.random_reads, 1);
    time_draw_bytes(calls->page, bytes, length);
    const bool is_there = calls_write(calls, call_argument(thread, address), bytes, length);
    return call_value(thread, is_there ? (int64_t)length : -EFAULT);
}

enum call_fate on_getrandom(struct calls *calls, struct held_thread *thread)
{
    return draw_random(calls, thread, 0);
}
