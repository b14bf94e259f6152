/* descriptors.c - waiting for descriptors: poll, select, epoll, and calls that block by themselves.
 *
 * A wait looks first (with the epoch read before), and then waits in the kernel for what the
 * program asked for, or for its tick. An epoll descriptor is waited for like any other: it is
 * readable when it has something. Sources: ppoll(2), epoll_wait(2), select(2), recv(2), SO_RCVTIMEO
 * in socket(7). */
#include "worker/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROWS_ON_STACK = 64, SIGNALS_BYTES = 8 };

static int look(struct pollfd *rows, nfds_t count, const sigset_t *mask)
{
    const struct timespec now = {0};
    return (int)syscall(SYS_ppoll, rows, count, &now, mask, (size_t)SIGNALS_BYTES);
}

static void drain(struct time_thread *row, int tick)
{
    char bytes[64];
    long got;
    do {
        got = syscall(SYS_read, tick, bytes, sizeof bytes);
        if (row && got > 0)
            atomic_fetch_add(&row->ticks_taken, (uint64_t)got);
    } while (got == (long)sizeof bytes);
}

/* A look, and what was so before it. */
struct looked {
    uint64_t epoch;
    int64_t timer_us;
    int ready;
};

static struct looked look_first(struct pollfd *rows, nfds_t count, const sigset_t *mask)
{
    struct looked looked = {.epoch = atomic_load(&shim_page->epoch),
                            .timer_us = shim_timers_next_us()};
    looked.ready = look(rows, count, mask);
    return looked;
}

/* What the kernel has shown need not be looked for again, where there is one thing to be waited for
 * and nobody else to take it. */
static bool is_sure(const struct pollfd *rows, nfds_t count)
{
    return count == 1 && rows->revents && shim_is_alone();
}

enum waited { WAITED_SIGNAL = -1, WAITED_LOOK_AGAIN, WAITED_READY };

/* One wait. rows has room for the tick behind. */
static enum waited wait_once(struct pollfd *rows, nfds_t count, int64_t until_us, uint64_t epoch,
                             const sigset_t *mask)
{
    struct time_thread *row = shim_thread();
    const int tick = shim_tick_open(row);
    rows[count] = (struct pollfd){.fd = tick, .events = POLLIN};
    shim_begin_wait(row, TIME_DESCRIPTORS, until_us, epoch);
    long ready = 1;
    if (shim_is_to_wait(row, until_us))
        ready = syscall(SYS_ppoll, rows, count + 1, NULL, mask, (size_t)SIGNALS_BYTES);
    const int error = errno;
    shim_end_wait(row);
    if (ready > 0 && rows[count].revents)
        drain(row, tick);
    errno = error;
    if (ready < 0)
        return WAITED_SIGNAL;
    return is_sure(rows, count) ? WAITED_READY : WAITED_LOOK_AGAIN;
}

static int wait_behind(struct looked looked, struct pollfd *rows, nfds_t count, int64_t until_us,
                       const sigset_t *mask)
{
    for (;; looked = look_first(rows, count, mask)) {
        if (looked.ready != 0)
            return looked.ready;
        if (shim_now_us() >= until_us) {
            shim_has_not_waited();
            return 0;
        }
        const int64_t end_us = looked.timer_us < until_us ? looked.timer_us : until_us;
        const enum waited waited = wait_once(rows, count, end_us, looked.epoch, mask);
        if (waited != WAITED_LOOK_AGAIN)
            return waited;
    }
}

int shim_wait_for_one(const struct pollfd *wanted, int64_t (*until_us)(const struct pollfd *wanted))
{
    struct pollfd rows[2] = {*wanted};
    const struct looked looked = look_first(rows, 1, NULL);
    return looked.ready ? looked.ready : wait_behind(looked, rows, 1, until_us(wanted), NULL);
}

int shim_wait(struct pollfd *rows, nfds_t count, int64_t until_us, const sigset_t *mask)
{
    struct pollfd few[ROWS_ON_STACK], *more = few;
    if (count >= ROWS_ON_STACK && !(more = calloc(count + 1, sizeof *more)))
        return -1;
    if (count)
        memcpy(more, rows, count * sizeof *rows);
    const int ready = wait_behind(look_first(more, count, mask), more, count, until_us, mask);
    if (count)
        memcpy(rows, more, count * sizeof *rows);
    if (more != few)
        free(more);
    return ready;
}

/* --- poll --- */

/* A time-out of 0 waits for nothing, but a program may spin on it. */
static int64_t poll_until(const struct timespec *timeout)
{
    return timeout && !timeout->tv_sec && !timeout->tv_nsec ? INT64_MIN : shim_after(timeout);
}

int ppoll(struct pollfd *rows, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    if (!shim_page) {
        struct timespec left = timeout ? *timeout : (struct timespec){0};
        return (int)syscall(SYS_ppoll, rows, count, timeout ? &left : NULL, mask,
                            (size_t)SIGNALS_BYTES);
    }
    return shim_wait(rows, count, poll_until(timeout), mask);
}

int poll(struct pollfd *rows, nfds_t count, int timeout_ms)
{
    const struct timespec timeout = {.tv_sec = timeout_ms / 1000,
                                     .tv_nsec = (long)(timeout_ms % 1000) * 1000000};
    return ppoll(rows, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}

/* What programs that were built with _FORTIFY_SOURCE call. */
int __poll_chk(struct pollfd *rows, nfds_t count, int timeout_ms, size_t size);
int __poll_chk(struct pollfd *rows, nfds_t count, int timeout_ms, size_t size)
{
    if (size / sizeof *rows < count)
        abort();
    return poll(rows, count, timeout_ms);
}

int __ppoll_chk(struct pollfd *rows, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t size);
int __ppoll_chk(struct pollfd *rows, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t size)
{
    if (size / sizeof *rows < count)
        abort();
    return ppoll(rows, count, timeout, mask);
}

/* --- select --- */

static nfds_t rows_of_sets(struct pollfd *rows, int count, const fd_set *in, const fd_set *out,
                           const fd_set *odd)
{
    nfds_t used = 0;
    for (int i = 0; i < count; i++) {
        short events = 0;
        if (in && FD_ISSET(i, in))
            events |= POLLIN;
        if (out && FD_ISSET(i, out))
            events |= POLLOUT;
        if (odd && FD_ISSET(i, odd))
            events |= POLLPRI;
        if (events)
            rows[used++] = (struct pollfd){.fd = i, .events = events};
    }
    return used;
}

static int put_in_set(fd_set *set, const struct pollfd *row, short asked, short shows)
{
    if (!set || !(row->events & asked) || !(row->revents & shows))
        return 0;
    FD_SET(row->fd, set);
    return 1;
}

static int sets_of_rows(const struct pollfd *rows, nfds_t used, fd_set *in, fd_set *out,
                        fd_set *odd)
{
    int ready = 0;
    fd_set *const sets[] = {in, out, odd};
    for (int i = 0; i < 3; i++)
        if (sets[i])
            FD_ZERO(sets[i]);
    for (nfds_t i = 0; i < used; i++) {
        ready += put_in_set(in, &rows[i], POLLIN, POLLIN | POLLHUP | POLLERR);
        ready += put_in_set(out, &rows[i], POLLOUT, POLLOUT | POLLERR);
        ready += put_in_set(odd, &rows[i], POLLPRI, POLLPRI);
    }
    return ready;
}

int pselect(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd,
            const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
    struct pollfd rows[FD_SETSIZE];
    if (count < 0 || count > FD_SETSIZE) {
        errno = EINVAL;
        return -1;
    }
    const nfds_t used = rows_of_sets(rows, count, in, out, odd);
    const int ready = ppoll(rows, used, timeout, mask);
    for (nfds_t i = 0; ready > 0 && i < used; i++)
        if (rows[i].revents & POLLNVAL) {
            errno = EBADF;
            return -1;
        }
    return ready < 0 ? -1 : sets_of_rows(rows, used, in, out, odd);
}

int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd,
           struct timeval *restrict timeout)
{
    struct timespec amount = {0};
    if (timeout)
        amount = (struct timespec){.tv_sec = timeout->tv_sec, .tv_nsec = timeout->tv_usec * 1000};
    return pselect(count, in, out, odd, timeout ? &amount : NULL, NULL);
}

/* --- epoll --- */

static int epoll_until(int epoll, struct epoll_event *events, int max, int64_t until_us,
                       const sigset_t *mask)
{
    for (;;) {
        struct pollfd row = {.fd = epoll, .events = POLLIN};
        const int ready = shim_wait(&row, 1, until_us, mask);
        if (ready <= 0)
            return ready;
        const int found =
            (int)syscall(SYS_epoll_pwait, epoll, events, max, 0, mask, (size_t)SIGNALS_BYTES);
        if (found != 0)
            return found;
    }
}

int epoll_pwait(int epoll, struct epoll_event *events, int max, int timeout_ms,
                const sigset_t *mask)
{
    if (!shim_page || timeout_ms == 0 || max <= 0)
        return (int)syscall(SYS_epoll_pwait, epoll, events, max, timeout_ms, mask,
                            (size_t)SIGNALS_BYTES);
    return epoll_until(epoll, events, max, shim_after_ms(timeout_ms), mask);
}

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms)
{
    return epoll_pwait(epoll, events, max, timeout_ms, NULL);
}

int epoll_pwait2(int epoll, struct epoll_event *events, int max, const struct timespec *timeout,
                 const sigset_t *mask)
{
    const bool is_now = timeout && !timeout->tv_sec && !timeout->tv_nsec;
    if (!shim_page)
        return (int)syscall(SYS_epoll_pwait2, epoll, events, max, timeout, mask,
                            (size_t)SIGNALS_BYTES);
    if (is_now || max <= 0)
        return epoll_pwait(epoll, events, max, 0, mask);
    return epoll_until(epoll, events, max, shim_after(timeout), mask);
}
