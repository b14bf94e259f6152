/* serve.c - the supervisor's loop: takes calls, answers them, one thread after the other. See
 * calls.h. */
#include "worker/calls/state.h"
#include "worker/supervisor.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 50, /* of real time: a thread that makes no call for so long may wait for another
                         one without a call, and that goes on beside it */
    BIRTH_MS = 1000,  /* a thread that was made has called by then */
    HOUSEKEEPING_TURNS = 3, /* Go's housekeeper sees what is new, and in the next turn acts */
    EXIT_LOOKS = 100000,
};

/* --- answers --- */

static void say(const struct calls *calls, const struct seccomp_notif *call, bool is_kernels,
                int64_t value)
{
    struct seccomp_notif_resp answer = {.id = call->id};
    if (is_kernels)
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else if (value < 0)
        answer.error = (int32_t)value;
    else
        answer.val = value;
    (void)ioctl(calls->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* or it has been killed */
}

/* The kernel tells its own waiters that a thread has ended, and not ours. */
static void end_thread(struct calls *calls, struct held_thread *thread)
{
    const int32_t tid = thread->tid;
    *thread = (struct held_thread){0};
    for (int i = 0; i < EXIT_LOOKS && syscall(SYS_tgkill, calls->worker, tid, 0) == 0; i++)
        (void)sched_yield();
    futex_recheck(calls);
}

static const struct call_row *find_row(int number)
{
    for (size_t i = 0; i < call_rows; i++)
        if (call_table[i].number == number)
            return &call_table[i];
    return NULL;
}

static void go_on(struct calls *calls, struct held_thread *thread, bool is_kernels)
{
    thread->state = HELD_RUNS;
    thread->is_retried = false;
    say(calls, &thread->call, is_kernels, thread->value);
    if (is_kernels && thread->call.data.nr == SYS_exit)
        end_thread(calls, thread);
}

/* It has called, or what it waited for may be there. */
static void handle(struct calls *calls, struct held_thread *thread)
{
    const struct call_row *row = find_row(thread->call.data.nr);
    const enum call_fate fate = row ? row->handle(calls, thread) : FATE_KERNEL;
    switch (fate) {
    case FATE_VALUE:
    case FATE_KERNEL:
        go_on(calls, thread, fate == FATE_KERNEL);
        break;
    case FATE_WAITS:
        calls_has_waited(calls);
        thread->state = HELD_WAITS;
        thread->order = ++calls->order;
        break;
    case FATE_YIELDS:
        thread->state = HELD_READY;
        thread->has_value = true;
        thread->order = ++calls->order;
        break;
    }
}

/* --- who calls --- */

static struct held_thread *find_thread(struct calls *calls, int32_t tid)
{
    for (int i = 0; i < TIME_THREADS_MAX; i++)
        if (calls->threads[i].state != HELD_NONE && calls->threads[i].tid == tid)
            return &calls->threads[i];
    return NULL;
}

/* The thread that was made, and has not called yet: one at most, for who made it is answered only
 * when it has, whichever of the two calls first. */
static struct held_thread *find_unborn(struct calls *calls)
{
    for (int i = 0; i < TIME_THREADS_MAX; i++)
        if (calls->threads[i].state == HELD_UNBORN)
            return &calls->threads[i];
    return NULL;
}

static void handle_behind_birth(struct calls *calls)
{
    struct held_thread *thread = calls->behind_birth;
    calls->behind_birth = NULL;
    if (thread)
        handle(calls, thread);
}

/* It has not been made after all. */
static void give_up_birth(struct calls *calls)
{
    struct held_thread *thread = find_unborn(calls);
    if (thread)
        *thread = (struct held_thread){0};
    handle_behind_birth(calls);
}

/* NULL: it is none of the worker's, but of a process that it has started. */
static struct held_thread *know(struct calls *calls, int32_t tid)
{
    struct held_thread *thread = find_thread(calls, tid);
    if (thread || syscall(SYS_tgkill, calls->worker, tid, 0) != 0)
        return thread;
    thread = find_unborn(calls);
    if (thread)
        thread->tid = tid;
    return thread;
}

static void begin(struct calls *calls, int32_t tid)
{
    for (int i = 0; i < TIME_THREADS_MAX; i++)
        wait_rows_shut(&calls->threads[i]);
    memset(calls->threads, 0, sizeof calls->threads);
    calls->threads[0] = (struct held_thread){.state = HELD_RUNS, .tid = tid};
    calls->is_execing = false;
    calls->behind_birth = NULL;
    calls_begin_program(calls);
}

static void take_call(struct calls *calls)
{
    struct seccomp_notif call = {0};
    if (ioctl(calls->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
        return; /* who made it has been killed */
    const int32_t tid = (int32_t)call.pid;
    const bool is_exec = call.data.nr == SYS_execve || call.data.nr == SYS_execveat;
    if (calls->is_execing && !is_exec && tid == calls->worker)
        begin(calls, tid);
    if (!calls->has_begun)
        calls->is_execing |= is_exec;
    struct held_thread *thread = calls->has_begun ? know(calls, tid) : NULL;
    if (!thread) {
        say(calls, &call, true, 0);
        return;
    }
    const bool was_unborn = thread->state == HELD_UNBORN;
    wait_rows_shut(thread); /* a signal may have come between */
    thread->call = call;
    thread->has_value = thread->is_retried = false;
    thread->state = was_unborn ? HELD_READY : HELD_RUNS;
    if (find_unborn(calls))
        calls->behind_birth = thread;
    else if (!was_unborn)
        handle(calls, thread);
    else
        handle_behind_birth(calls);
}

/* --- turns --- */

static bool runs_any(const struct calls *calls)
{
    for (int i = 0; i < TIME_THREADS_MAX; i++)
        if (calls->threads[i].state == HELD_RUNS)
            return true;
    return !calls->has_begun;
}

static struct held_thread *find_ready(struct calls *calls)
{
    struct held_thread *found = NULL;
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        struct held_thread *thread = &calls->threads[i];
        if (thread->state == HELD_READY && (!found || thread->order < found->order))
            found = thread;
    }
    return found;
}

static void let_run(struct calls *calls, struct held_thread *thread)
{
    if (!thread->is_housekeeper)
        calls->housekeeping = HOUSEKEEPING_TURNS;
    if (thread->has_value)
        go_on(calls, thread, false);
    else
        handle(calls, thread);
}

/* Who waits, and need not any more, is ready. True: somebody is. */
static bool look(struct calls *calls)
{
    bool is_any = false;
    (void)held_timers_next_us(calls);
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        struct held_thread *thread = &calls->threads[i];
        if (thread->state != HELD_WAITS || thread->wanted == FOR_OTHERS)
            continue;
        const bool is_there =
            thread->wanted == FOR_DESCRIPTORS && poll(thread->rows, thread->row_count, 0) > 0;
        const bool is_late = !is_there && thread->until_us <= calls_now_us(calls);
        if (!is_there && !is_late)
            continue;
        wait_rows_shut(thread);
        if (is_late) {
            wait_is_late(calls, thread);
            thread->value = thread->late;
        }
        thread->has_value = is_late;
        thread->is_retried = !is_late;
        thread->state = HELD_READY;
        thread->order = ++calls->order;
        is_any = true;
    }
    return is_any;
}

static bool keep_house(struct calls *calls)
{
    for (int i = 0; calls->housekeeping > 0 && i < TIME_THREADS_MAX; i++) {
        struct held_thread *thread = &calls->threads[i];
        if (thread->state != HELD_WAITS || thread->wanted != FOR_OTHERS)
            continue;
        calls->housekeeping--;
        thread->value = 0;
        go_on(calls, thread, false);
        return true;
    }
    return false;
}

/* --- rest --- */

static int64_t next_us(struct calls *calls)
{
    int64_t next = held_timers_next_us(calls);
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        const struct held_thread *thread = &calls->threads[i];
        if (thread->state == HELD_WAITS && thread->wanted != FOR_OTHERS && thread->until_us < next)
            next = thread->until_us;
    }
    return next;
}

static void ring(const struct calls *calls)
{
    const ssize_t written = write(calls->bell, "", 1);
    (void)written; /* full: enough rings are in it */
}

static void drain(struct time_thread *row, int tick)
{
    char bytes[64];
    ssize_t got;
    do {
        got = read(tick, bytes, sizeof bytes);
        if (got > 0)
            atomic_fetch_add(&row->ticks_taken, (uint64_t)got);
    } while (got == (ssize_t)sizeof bytes);
}

enum { ROWS_OF_OURS = 3 };

/* Every descriptor that is waited for, behind ours. */
static size_t collect(const struct calls *calls, struct pollfd *rows, size_t room)
{
    size_t used = ROWS_OF_OURS;
    rows[0] = (struct pollfd){.fd = calls->signals, .events = POLLIN};
    rows[1] = (struct pollfd){.fd = calls->listener, .events = POLLIN};
    rows[2] = (struct pollfd){.fd = calls->tick, .events = POLLIN};
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        const struct held_thread *thread = &calls->threads[i];
        for (size_t k = 0; thread->state == HELD_WAITS && k < thread->row_count && used < room; k++)
            rows[used++] = thread->rows[k];
    }
    return used;
}

/* As one thread that waits for descriptors: see time_page.h. epoch: read before the last look. */
static void rest(struct calls *calls, uint64_t epoch)
{
    static struct pollfd rows[ROWS_OF_OURS + CALLS_ROWS_MAX];
    struct time_page *page = calls->page;
    struct time_thread *row = &page->threads[0];
    const int64_t until_us = next_us(calls);
    const size_t count = collect(calls, rows, sizeof rows / sizeof *rows);
    atomic_store(&row->tid, calls->worker);
    atomic_store(&row->until_us, until_us);
    atomic_store(&row->epoch, epoch);
    atomic_store(&row->wait, TIME_DESCRIPTORS);
    atomic_fetch_add(&page->changes, 1);
    atomic_store(&page->running, 0);
    ring(calls);
    if (calls_now_us(calls) < until_us)
        (void)poll(rows, count, -1);
    atomic_store(&page->running, 1);
    atomic_store(&row->wait, TIME_RUNS);
    atomic_fetch_add(&page->changes, 1);
    drain(row, calls->tick);
}

/* --- the loop --- */

enum { STILL_SERVES = -2 };

/* The end, if it has come. */
static int take_signals(const struct calls *calls)
{
    struct signalfd_siginfo signal;
    int status, ended;
    while (read(calls->signals, &signal, sizeof signal) == (ssize_t)sizeof signal)
        if (supervisor_is_to_end((int)signal.ssi_signo, calls->parent))
            return -1;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
        if (ended == calls->worker)
            return status;
    return STILL_SERVES;
}

/* Waits for a call or a signal; takes them. */
static int take_all(struct calls *calls, int limit_ms)
{
    struct pollfd rows[] = {{.fd = calls->listener, .events = POLLIN},
                            {.fd = calls->signals, .events = POLLIN}};
    const int ready = poll(rows, 2, limit_ms);
    if (rows[0].revents & POLLIN)
        take_call(calls);
    else if (rows[0].revents & POLLHUP)
        calls->listener = -1; /* nobody is left who could call */
    return ready > 0 && rows[1].revents ? take_signals(calls) : STILL_SERVES;
}

int calls_serve(struct calls *calls, int parent, const sigset_t *waited)
{
    calls->parent = parent;
    calls->signals = signalfd(-1, waited, SFD_NONBLOCK | SFD_CLOEXEC);
    int status = take_signals(calls);
    while (status == STILL_SERVES) {
        struct held_thread *ready = find_ready(calls);
        if (runs_any(calls)) {
            struct pollfd row = {.fd = calls->listener, .events = POLLIN};
            if (calls->behind_birth && poll(&row, 1, BIRTH_MS) == 0)
                give_up_birth(calls);
            else if (ready && !calls->behind_birth && poll(&row, 1, PATIENCE_MS) == 0)
                let_run(calls, ready);
            else
                status = take_all(calls, -1);
            continue;
        }
        const uint64_t epoch = atomic_load(&calls->page->epoch);
        if (ready)
            let_run(calls, ready);
        else if (!look(calls) && !keep_house(calls)) {
            rest(calls, epoch);
            status = take_all(calls, 0);
        }
    }
    return status;
}
