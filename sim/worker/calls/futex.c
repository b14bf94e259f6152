/* futex.c - threads that wait for one another. See calls.h.
 *
 * All of it is done here, not in the kernel: who waits is held, and is let go by the call that
 * wakes. Since calls are answered one after the other, no wake-up falls between the look at the
 * word and the wait. Source: futex(2). */
#include "worker/calls/state.h"

#include <errno.h>
#include <linux/futex.h>

static enum call_fate wait_for_word(struct calls *calls, struct held_thread *thread, int operation)
{
    struct timespec instant;
    uint32_t word;
    int64_t until_us = TIME_NEVER;
    const bool is_relative = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT;
    const uint64_t limit = call_argument(thread, 3);
    if (!calls_read(calls, call_argument(thread, 0), &word, sizeof word))
        return call_value(thread, -EFAULT);
    if (word != (uint32_t)call_argument(thread, 2))
        return call_value(thread, -EAGAIN);
    if (is_relative) {
        if (!calls_after(calls, limit, &until_us))
            return call_value(thread, -EINVAL);
    } else if (limit) {
        if (!calls_read(calls, limit, &instant, sizeof instant))
            return call_value(thread, -EFAULT);
        const bool is_wall = operation & FUTEX_CLOCK_REALTIME;
        until_us = time_instant_us(calls->page, is_wall ? CLOCK_REALTIME : CLOCK_MONOTONIC,
                                   time_up_us(&instant));
    }
    if (thread->is_housekeeper)
        until_us = TIME_NEVER; /* it only looks whether others are late */
    (void)calls_wait_until(thread, until_us, -ETIMEDOUT);
    thread->wanted = FOR_FUTEX;
    thread->futex = call_argument(thread, 0);
    thread->expected = word;
    thread->bits = is_relative ? FUTEX_BITSET_MATCH_ANY : (uint32_t)call_argument(thread, 5);
    return FATE_WAITS;
}

/* Who has waited longest. */
static struct held_thread *find_waiting(struct calls *calls, uint64_t futex, uint32_t bits)
{
    struct held_thread *found = NULL;
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        struct held_thread *thread = &calls->threads[i];
        if (thread->state == HELD_WAITS && thread->wanted == FOR_FUTEX && thread->futex == futex &&
            thread->bits & bits && (!found || thread->order < found->order))
            found = thread;
    }
    return found;
}

static void let_go(struct calls *calls, struct held_thread *thread)
{
    thread->state = HELD_READY;
    thread->has_value = true;
    thread->value = 0;
    thread->order = ++calls->order;
}

static int64_t wake(struct calls *calls, uint64_t futex, uint32_t bits, int64_t limit)
{
    int64_t woken = 0;
    struct held_thread *next;
    while (woken < limit && (next = find_waiting(calls, futex, bits))) {
        let_go(calls, next);
        woken++;
    }
    return woken;
}

static enum call_fate requeue(struct calls *calls, struct held_thread *thread, bool is_compared)
{
    uint32_t word;
    struct held_thread *next;
    const uint64_t from = call_argument(thread, 0), to = call_argument(thread, 4);
    if (is_compared && !calls_read(calls, from, &word, sizeof word))
        return call_value(thread, -EFAULT);
    if (is_compared && word != (uint32_t)call_argument(thread, 5))
        return call_value(thread, -EAGAIN);
    int64_t moved = wake(calls, from, FUTEX_BITSET_MATCH_ANY, (int32_t)call_argument(thread, 2));
    for (int64_t left = (int32_t)call_argument(thread, 3);
         left > 0 && (next = find_waiting(calls, from, FUTEX_BITSET_MATCH_ANY)); left--, moved++)
        next->futex = to;
    return call_value(thread, moved);
}

enum call_fate on_futex(struct calls *calls, struct held_thread *thread)
{
    const int operation = (int)call_argument(thread, 1);
    const int32_t limit = (int32_t)call_argument(thread, 2);
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return wait_for_word(calls, thread, operation);
    case FUTEX_WAKE:
        return call_value(thread, wake(calls, call_argument(thread, 0), FUTEX_BITSET_MATCH_ANY,
                                       limit > 0 ? limit : 1));
    case FUTEX_WAKE_BITSET:
        return call_value(thread, wake(calls, call_argument(thread, 0),
                                       (uint32_t)call_argument(thread, 5), limit > 0 ? limit : 1));
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
        return requeue(calls, thread, (operation & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE);
    default:
        return call_value(thread, -ENOSYS);
    }
}

void futex_recheck(struct calls *calls)
{
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        struct held_thread *thread = &calls->threads[i];
        uint32_t word;
        if (thread->state == HELD_WAITS && thread->wanted == FOR_FUTEX &&
            calls_read(calls, thread->futex, &word, sizeof word) && word != thread->expected)
            let_go(calls, thread);
    }
}
