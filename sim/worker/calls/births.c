/* births.c - threads begin and end; other processes, and other programs. See calls.h.
 *
 * A thread that is made shows itself with its first call; who made it is answered when it has. The
 * first one that a program of Go makes is its housekeeper ("sysmon"): it looks again and again
 * whether others are late. It has its turn when all others wait, a few times, and its sleeps are no
 * time. Sources: clone(2), Go's runtime/proc.go: main, sysmon. */
#include "worker/calls/state.h"

#include <errno.h>
#include <sched.h>

static void expect_thread(struct calls *calls)
{
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        struct held_thread *thread = &calls->threads[i];
        if (thread->state != HELD_NONE)
            continue;
        *thread = (struct held_thread){.state = HELD_UNBORN,
                                       .order = ++calls->order,
                                       .is_housekeeper = calls->is_go && !calls->has_housekeeper};
        calls->has_housekeeper = true;
        return;
    }
}

static enum call_fate make(struct calls *calls, uint64_t flags)
{
    if (flags & CLONE_THREAD)
        expect_thread(calls);
    else
        atomic_fetch_add(&calls->page->counts.children, 1);
    return FATE_KERNEL;
}

enum call_fate on_clone(struct calls *calls, struct held_thread *thread)
{
    return make(calls, call_argument(thread, 0));
}

enum call_fate on_clone3(struct calls *calls, struct held_thread *thread)
{
    uint64_t flags = 0; /* the first member of its struct */
    if (!calls_read(calls, call_argument(thread, 0), &flags, sizeof flags))
        return call_value(thread, -EFAULT);
    return make(calls, flags);
}

enum call_fate on_fork(struct calls *calls, struct held_thread *thread)
{
    (void)thread;
    return make(calls, 0);
}

enum call_fate on_exec(struct calls *calls, struct held_thread *thread)
{
    (void)thread;
    calls->is_execing = true;
    return FATE_KERNEL;
}

enum call_fate on_end(struct calls *calls, struct held_thread *thread)
{
    (void)calls;
    (void)thread;
    return FATE_KERNEL;
}

enum call_fate on_any(struct calls *calls, struct held_thread *thread)
{
    (void)calls;
    (void)thread;
    return FATE_KERNEL;
}
