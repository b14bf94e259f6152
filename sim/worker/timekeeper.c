/* timekeeper.c - see timekeeper.h. Source: futex(2), fifo(7). */
#include "worker/timekeeper.h"

#include "base/monotonic.h"
#include "base/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum fail bell_open(struct timekeeper *timekeeper, struct failure *failure)
{
    char path[TIME_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s.bell", timekeeper->path);
    if (mkfifo(path, 0600) == 0)
        timekeeper->bell = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (timekeeper->bell >= 0)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", path, fail_of_temporary(errno));
}

enum fail timekeeper_open(struct timekeeper *timekeeper, const char *path, int64_t now_us,
                          uint64_t seed, struct failure *failure)
{
    *timekeeper = (struct timekeeper){.bell = -1};
    (void)snprintf(timekeeper->path, sizeof timekeeper->path, "%s", path);
    void *memory;
    if (shared_file_make(&memory, path, sizeof *timekeeper->page, failure))
        return FAIL_UNAVAILABLE;
    timekeeper->page = memory;
    timekeeper->page->seed = seed;
    atomic_store(&timekeeper->page->now_us, now_us);
    atomic_store(&timekeeper->page->epoch, 1);
    return bell_open(timekeeper, failure);
}

void timekeeper_shut(struct timekeeper *timekeeper)
{
    for (int i = 0; i < TIME_THREADS_MAX; i++)
        if (timekeeper->ticks[i])
            (void)close(timekeeper->ticks[i] - 1);
    if (timekeeper->bell >= 0)
        (void)close(timekeeper->bell);
    if (timekeeper->page)
        (void)munmap(timekeeper->page, sizeof *timekeeper->page);
    *timekeeper = (struct timekeeper){.bell = -1};
}

void timekeeper_allow_port(struct timekeeper *timekeeper, int port)
{
    for (int i = 0; i < TIME_PORTS_MAX; i++)
        if (!timekeeper->page->ports[i]) {
            timekeeper->page->ports[i] = port;
            return;
        }
}

/* --- waking --- */

static int last_row(const struct timekeeper *timekeeper)
{
    return atomic_load(&timekeeper->page->last_row);
}

/* Has it one that it has not taken? A thread that the kernel woke as we did may wait again before
 * our tick is there: then it goes on in a moment, and would see a time that is moved until then
 * before what is written to it behind that. */
static bool has_tick(const struct timekeeper *timekeeper, int number)
{
    const struct time_thread *row = &timekeeper->page->threads[number];
    int unread = 0;
    return timekeeper->ticks[number] &&
           atomic_load(&row->ticks_given) != atomic_load(&row->ticks_taken) &&
           ioctl(timekeeper->ticks[number] - 1, FIONREAD, &unread) == 0 && unread > 0;
}

static void tick(struct timekeeper *timekeeper, int number)
{
    char path[TIME_PATH_MAX];
    if (!timekeeper->ticks[number]) {
        (void)snprintf(path, sizeof path, "%s.%d", timekeeper->path, number);
        timekeeper->ticks[number] = 1 + open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (timekeeper->ticks[number] && !has_tick(timekeeper, number)) {
        atomic_fetch_add(&timekeeper->page->threads[number].ticks_given, 1);
        ssize_t written = write(timekeeper->ticks[number] - 1, "", 1);
        (void)written; /* full: it will look */
    }
}

static void wake(struct timekeeper *timekeeper, int number)
{
    struct time_thread *row = &timekeeper->page->threads[number];
    const uint32_t wait = atomic_load(&row->wait);
    if (wait == TIME_DESCRIPTORS)
        tick(timekeeper, number);
    else if (wait != TIME_RUNS) {
        atomic_fetch_add(&row->wake, 1);
        (void)syscall(SYS_futex, &row->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static bool is_due(const struct timekeeper *timekeeper, const struct time_thread *row)
{
    return atomic_load(&row->until_us) <= atomic_load(&timekeeper->page->now_us);
}

static bool has_looked(const struct timekeeper *timekeeper, int number)
{
    const struct time_thread *row = &timekeeper->page->threads[number];
    return atomic_load(&row->wait) != TIME_DESCRIPTORS ||
           (atomic_load(&row->epoch) == atomic_load(&timekeeper->page->epoch) &&
            !has_tick(timekeeper, number));
}

static bool is_waiting(const struct time_thread *row)
{
    return atomic_load(&row->tid) && atomic_load(&row->wait) != TIME_RUNS;
}

/* Wakes those that have not looked since something came; true: there were none. */
static bool wake_lookers(struct timekeeper *timekeeper)
{
    bool is_none = true;
    for (int i = 0; i <= last_row(timekeeper); i++) {
        if (!is_waiting(&timekeeper->page->threads[i]) || has_looked(timekeeper, i))
            continue;
        is_none = false;
        wake(timekeeper, i);
    }
    return is_none;
}

/* Of those whose time has come the one that was to ring first, and it alone: two threads that
 * ring at one instant, or late, would race, and not do the same twice. True: there was none. */
static bool wake_next(struct timekeeper *timekeeper)
{
    int next = -1;
    for (int i = 0; i <= last_row(timekeeper); i++) {
        const struct time_thread *rows = timekeeper->page->threads;
        if (is_waiting(&rows[i]) && is_due(timekeeper, &rows[i]) &&
            (next < 0 || atomic_load(&rows[i].until_us) < atomic_load(&rows[next].until_us)))
            next = i;
    }
    if (next >= 0)
        wake(timekeeper, next);
    return next < 0;
}

void timekeeper_set_now(struct timekeeper *timekeeper, int64_t now_us)
{
    struct time_page *page = timekeeper->page;
    if (now_us != atomic_load(&page->now_us))
        timekeeper->crept_us = atomic_load(&page->counts.creep_us);
    atomic_store(&page->now_us, now_us);
}

int64_t timekeeper_crept_us(const struct timekeeper *timekeeper)
{
    return (int64_t)(atomic_load(&timekeeper->page->counts.creep_us) - timekeeper->crept_us);
}

void timekeeper_look_again(struct timekeeper *timekeeper)
{
    atomic_fetch_add(&timekeeper->page->epoch, 1);
    (void)wake_lookers(timekeeper);
}

/* --- rest --- */

bool timekeeper_is_at_rest(struct timekeeper *timekeeper)
{
    const struct time_page *page = timekeeper->page;
    const uint32_t changes = atomic_load(&page->changes);
    /* A thread that nobody runs for and that has not looked is not on its way: it must be woken. */
    return atomic_load(&page->pid) && atomic_load(&page->running) == 0 &&
           wake_lookers(timekeeper) && wake_next(timekeeper) &&
           atomic_load(&page->changes) == changes;
}

int64_t timekeeper_next_us(const struct timekeeper *timekeeper)
{
    int64_t next_us = TIME_NEVER;
    for (int i = 0; i <= last_row(timekeeper); i++) {
        const struct time_thread *row = &timekeeper->page->threads[i];
        const int64_t until_us = atomic_load(&row->until_us);
        if (atomic_load(&row->tid) && atomic_load(&row->wait) != TIME_RUNS && until_us < next_us)
            next_us = until_us;
    }
    return next_us;
}

void timekeeper_hush(const struct timekeeper *timekeeper)
{
    char bytes[64];
    while (read(timekeeper->bell, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        ;
}

bool timekeeper_wait_for_rest(struct timekeeper *timekeeper, int limit_ms)
{
    const int64_t end_ms = monotonic_us() / 1000 + limit_ms;
    for (;;) {
        timekeeper_hush(timekeeper);
        if (timekeeper_is_at_rest(timekeeper))
            return true;
        const int64_t left_ms = end_ms - monotonic_us() / 1000;
        if (left_ms <= 0)
            return false;
        struct pollfd row = {.fd = timekeeper->bell, .events = POLLIN};
        (void)poll(&row, 1, (int)left_ms);
    }
}

/* --- words --- */

static int describe(const struct time_thread *row, char *text, size_t size)
{
    static const char *const words[] = {
        [TIME_RUNS] = "runs",
        [TIME_SLEEPS] = "sleeps",
        [TIME_WAITS] = "waits for another thread",
        [TIME_DESCRIPTORS] = "waits for a descriptor",
    };
    const uint32_t wait = atomic_load(&row->wait);
    const int64_t until_us = atomic_load(&row->until_us);
    int used = snprintf(text, size, "thread %d %s", (int)atomic_load(&row->tid),
                        wait <= TIME_DESCRIPTORS ? words[wait] : "is lost");
    if (wait != TIME_RUNS && until_us != TIME_NEVER && used >= 0 && (size_t)used < size)
        used +=
            snprintf(text + used, size - (size_t)used, " until %.1f ms", (double)until_us / 1000);
    return used;
}

const char *timekeeper_describe(const struct timekeeper *timekeeper, char *text, size_t size)
{
    size_t used = 0;
    (void)snprintf(text, size, "no thread follows its time");
    for (int i = 0; i <= last_row(timekeeper); i++) {
        const struct time_thread *row = &timekeeper->page->threads[i];
        if (!atomic_load(&row->tid) || used + 2 >= size)
            continue;
        if (used)
            used += (size_t)snprintf(text + used, size - used, ", ");
        used += (size_t)describe(row, text + used, size - used);
        if (used >= size)
            break;
    }
    return text;
}
