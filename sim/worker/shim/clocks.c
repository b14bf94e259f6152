/* clocks.c - what time it is, and sleeping. See shim.h.
 *
 * Sources: clock_gettime(2), gettimeofday(2), time(2), clock_nanosleep(2). */
#include "worker/shim/shim.h"

#include "worker/time_rules.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static _Thread_local int spins;
static pthread_mutex_t creep_lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t creep_from_us;
static _Atomic int64_t creep_us; /* beyond creep_from_us */

int64_t shim_now_us(void)
{
    int64_t now_us = atomic_load(&shim_page->now_us);
    if (!atomic_load(&creep_us))
        return now_us;
    (void)pthread_mutex_lock(&creep_lock);
    int64_t crept_us = creep_from_us + atomic_load(&creep_us);
    if (now_us >= crept_us)
        atomic_store(&creep_us, 0);
    else
        now_us = crept_us;
    (void)pthread_mutex_unlock(&creep_lock);
    return now_us;
}

void shim_has_waited(void)
{
    spins = 0;
}

void shim_has_not_waited(void)
{
    if (spins <= TIME_SPINS_MAX)
        spins += TIME_SPINS_A_WAIT;
}

static void creep(void)
{
    (void)pthread_mutex_lock(&creep_lock);
    const int64_t now_us = atomic_load(&shim_page->now_us);
    const int64_t before_us = atomic_load(&creep_us);
    const int64_t ahead_us = before_us ? creep_from_us + before_us - now_us : 0;
    creep_from_us = now_us;
    atomic_store(&creep_us, (ahead_us > 0 ? ahead_us : 0) + 1);
    (void)pthread_mutex_unlock(&creep_lock);
    atomic_fetch_add(&shim_page->counts.creep_us, 1);
}

int64_t shim_read_clock(_Atomic uint64_t *count)
{
    atomic_fetch_add(count, 1);
    spins = spins > TIME_SPINS_MAX ? spins : spins + 1;
    if (spins > TIME_SPINS_MAX)
        creep();
    return shim_now_us();
}

int64_t shim_after(const struct timespec *timeout)
{
    return timeout ? shim_now_us() + time_up_us(timeout) : TIME_NEVER;
}

int64_t shim_after_ms(int timeout_ms)
{
    return timeout_ms < 0 ? TIME_NEVER : shim_now_us() + (int64_t)timeout_ms * 1000;
}

int64_t shim_instant(clockid_t clock, const struct timespec *instant)
{
    return time_instant_us(shim_page, clock, time_up_us(instant));
}

/* --- reading --- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!shim_page || !(time_is_wall(clock) || time_is_monotonic(clock)))
        return (int)syscall(SYS_clock_gettime, clock, now);
    struct time_counts *counts = &shim_page->counts;
    _Atomic uint64_t *count = time_is_wall(clock) ? &counts->wall_reads : &counts->monotonic_reads;
    if (!time_is_wall(clock))
        shim_has_read(__builtin_return_address(0), __builtin_dwarf_cfa());
    *now = time_of_us(time_base_us(shim_page, clock) + shim_read_clock(count));
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec read = {0};
    if (zone)
        memset(zone, 0, sizeof(struct timezone));
    (void)clock_gettime(CLOCK_REALTIME, &read);
    now->tv_sec = read.tv_sec;
    now->tv_usec = read.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec read = {0};
    (void)clock_gettime(CLOCK_REALTIME, &read);
    if (now)
        *now = read.tv_sec;
    return read.tv_sec;
}

int timespec_get(struct timespec *now, int base)
{
    if (base != TIME_UTC)
        return 0;
    (void)clock_gettime(CLOCK_REALTIME, now);
    return base;
}

/* --- sleeping --- */

bool shim_sleep_until(int64_t until_us)
{
    struct time_thread *row = shim_thread();
    _Atomic uint32_t nobody = 0;
    bool was_woken = true;
    while (was_woken && shim_now_us() < until_us) {
        _Atomic uint32_t *wake = row ? &row->wake : &nobody;
        uint32_t seen = atomic_load(wake);
        shim_begin_wait(row, TIME_SLEEPS, until_us, 0);
        if (shim_is_to_wait(row, until_us)) {
            errno = 0;
            shim_futex_wait(wake, seen);
            was_woken = errno != EINTR;
        }
        shim_end_wait(row);
    }
    return was_woken;
}

static void put_us(struct timespec *left, int64_t us)
{
    *left = time_of_us(us < 0 ? 0 : us);
}

static bool is_valid(const struct timespec *amount)
{
    return amount->tv_sec >= 0 && amount->tv_nsec >= 0 && amount->tv_nsec < 1000000000;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *amount,
                    struct timespec *left)
{
    if (!shim_page || !(time_is_wall(clock) || time_is_monotonic(clock))) {
        long done = syscall(SYS_clock_nanosleep, clock, flags, amount, left);
        return done == 0 ? 0 : errno;
    }
    if (!is_valid(amount))
        return EINVAL;
    const bool is_instant = flags & TIMER_ABSTIME;
    int64_t until_us = is_instant ? shim_instant(clock, amount) : shim_after(amount);
    if (shim_sleep_until(until_us))
        return 0;
    if (left && !is_instant)
        put_us(left, until_us - shim_now_us());
    return EINTR;
}

int nanosleep(const struct timespec *amount, struct timespec *left)
{
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, amount, left);
    errno = error ? error : errno;
    return error ? -1 : 0;
}

int usleep(useconds_t us)
{
    const struct timespec amount = time_of_us(us);
    return nanosleep(&amount, NULL);
}

unsigned sleep(unsigned seconds)
{
    const struct timespec amount = {.tv_sec = (time_t)seconds};
    struct timespec left = {0};
    return nanosleep(&amount, &left) == 0 ? 0 : (unsigned)(left.tv_sec + (left.tv_nsec > 0));
}
