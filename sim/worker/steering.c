/* steering.c - see steering.h. Source: futex(2), fifo(7). */
#include "worker/steering.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static enum fail bell_open(struct steering *steering, struct failure *failure)
{
    char path[TIME_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s.bell", steering->path);
    if (mkfifo(path, 0600) == 0)
        steering->bell = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (steering->bell >= 0)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", path, strerror(errno));
}

enum fail steering_open(struct steering *steering, const char *path, int64_t now_us, uint64_t seed,
                        struct failure *failure)
{
    *steering = (struct steering){.bell = -1};
    (void)snprintf(steering->path, sizeof steering->path, "%s", path);
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: cannot be made: %s", path,
                           strerror(errno));
    void *memory = MAP_FAILED;
    if (ftruncate(descriptor, (off_t)sizeof *steering->page) == 0)
        memory =
            mmap(NULL, sizeof *steering->page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    const int trouble = errno;
    (void)close(descriptor);
    if (memory == MAP_FAILED)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: cannot be mapped: %s", path,
                           strerror(trouble));
    steering->page = memory;
    steering->page->seed = seed;
    atomic_store(&steering->page->now_us, now_us);
    atomic_store(&steering->page->epoch, 1);
    return bell_open(steering, failure);
}

void steering_shut(struct steering *steering)
{
    for (int i = 0; i < TIME_THREADS_MAX; i++)
        if (steering->ticks[i])
            (void)close(steering->ticks[i] - 1);
    if (steering->bell >= 0)
        (void)close(steering->bell);
    if (steering->page)
        (void)munmap(steering->page, sizeof *steering->page);
    *steering = (struct steering){.bell = -1};
}

void steering_allow_port(struct steering *steering, int port)
{
    for (int i = 0; i < TIME_PORTS_MAX; i++)
        if (!steering->page->ports[i]) {
            steering->page->ports[i] = port;
            return;
        }
}

/* --- waking --- */

static void tick(struct steering *steering, int number)
{
    char path[TIME_PATH_MAX];
    if (!steering->ticks[number]) {
        (void)snprintf(path, sizeof path, "%s.%d", steering->path, number);
        steering->ticks[number] = 1 + open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (steering->ticks[number]) {
        ssize_t written = write(steering->ticks[number] - 1, "", 1);
        (void)written; /* full: it will look */
    }
}

static void wake(struct steering *steering, int number)
{
    struct time_thread *row = &steering->page->threads[number];
    const uint32_t wait = atomic_load(&row->wait);
    if (wait == TIME_DESCRIPTORS)
        tick(steering, number);
    else if (wait != TIME_RUNS) {
        atomic_fetch_add(&row->wake, 1);
        (void)syscall(SYS_futex, &row->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static bool is_due(const struct steering *steering, const struct time_thread *row)
{
    return atomic_load(&row->until_us) <= atomic_load(&steering->page->now_us);
}

static bool has_looked(const struct steering *steering, const struct time_thread *row)
{
    return atomic_load(&row->wait) != TIME_DESCRIPTORS ||
           atomic_load(&row->epoch) == atomic_load(&steering->page->epoch);
}

/* Wakes those that have something to see; true: there were none. */
static bool wake_all(struct steering *steering)
{
    bool is_none = true;
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        struct time_thread *row = &steering->page->threads[i];
        if (!atomic_load(&row->tid) || atomic_load(&row->wait) == TIME_RUNS ||
            (!is_due(steering, row) && has_looked(steering, row)))
            continue;
        is_none = false;
        wake(steering, i);
    }
    return is_none;
}

void steering_set_now(struct steering *steering, int64_t now_us)
{
    atomic_store(&steering->page->now_us, now_us);
    (void)wake_all(steering);
}

void steering_look_again(struct steering *steering)
{
    atomic_fetch_add(&steering->page->epoch, 1);
    (void)wake_all(steering);
}

/* --- rest --- */

bool steering_is_at_rest(struct steering *steering)
{
    const struct time_page *page = steering->page;
    const uint32_t changes = atomic_load(&page->changes);
    /* A thread that nobody runs for and that has not looked is not on its way: it must be woken. */
    return atomic_load(&page->pid) && atomic_load(&page->running) == 0 && wake_all(steering) &&
           atomic_load(&page->changes) == changes;
}

int64_t steering_next_us(const struct steering *steering)
{
    int64_t next_us = TIME_NEVER;
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        const struct time_thread *row = &steering->page->threads[i];
        const int64_t until_us = atomic_load(&row->until_us);
        if (atomic_load(&row->tid) && atomic_load(&row->wait) != TIME_RUNS && until_us < next_us)
            next_us = until_us;
    }
    return next_us;
}

void steering_hush(const struct steering *steering)
{
    char bytes[64];
    while (read(steering->bell, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        ;
}

static int64_t real_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool steering_wait_for_rest(struct steering *steering, int limit_ms)
{
    const int64_t end_ms = real_ms() + limit_ms;
    for (;;) {
        steering_hush(steering);
        if (steering_is_at_rest(steering))
            return true;
        const int64_t left_ms = end_ms - real_ms();
        if (left_ms <= 0)
            return false;
        struct pollfd row = {.fd = steering->bell, .events = POLLIN};
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

const char *steering_describe(const struct steering *steering, char *text, size_t size)
{
    size_t used = 0;
    (void)snprintf(text, size, "no thread follows its time");
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        const struct time_thread *row = &steering->page->threads[i];
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
