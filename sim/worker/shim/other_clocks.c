/* other_clocks.c - clocks that few programs read, system calls by their number, and what a program
 * tells of its reads. See shim.h.
 *
 * What cannot be steered is told (page->unsteered): alarms by signals, and the clock in a file.
 * Sources: times(2), sysinfo(2), syscall(2), setitimer(2), getpriority(2), proc(5). */
#include "worker/shim/shim.h"

#include "worker/time_rules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#define NEXT(type, name) ((type *)(uintptr_t)dlsym(RTLD_NEXT, name))

/* --- reading --- */

clock_t times(struct tms *used)
{
    typedef clock_t times_function(struct tms *);
    const clock_t elapsed = NEXT(times_function, "times")(used);
    if (!shim_page)
        return elapsed;
    const int64_t us = time_base_us(shim_page, CLOCK_MONOTONIC) +
                       shim_read_clock(&shim_page->counts.monotonic_reads);
    return (clock_t)(us * sysconf(_SC_CLK_TCK) / 1000000);
}

int sysinfo(struct sysinfo *info)
{
    const int done = (int)syscall(SYS_sysinfo, info);
    if (done == 0 && shim_page)
        info->uptime = (time_base_us(shim_page, CLOCK_MONOTONIC) +
                        shim_read_clock(&shim_page->counts.monotonic_reads)) /
                       1000000;
    return done;
}

/* --- told --- */

static void hear(enum time_told told)
{
    struct time_counts *counts = &shim_page->counts;
    uint32_t none = 0;
    if (told == TIME_TOLD_READ)
        atomic_fetch_add(&counts->told_reads, 1);
    else if (told == TIME_TELLS_READ)
        atomic_store(&counts->tells_reads, 1);
    else
        (void)atomic_compare_exchange_strong(&counts->untold, &none, (uint32_t)told);
}

int getpriority(__priority_which_t which, id_t who)
{
    typedef int getpriority_function(__priority_which_t, id_t);
    if (shim_page && (int)which == PRIO_PROCESS && who - TIME_TELLS < TIME_TOLD_COUNT) {
        hear((enum time_told)(who - TIME_TELLS));
        return 0;
    }
    return NEXT(getpriority_function, "getpriority")(which, who);
}

/* --- by their number --- */

enum { ARGUMENTS_MAX = 6 };

static bool is_steered(long number, const long *arguments)
{
    const clockid_t clock = (clockid_t)arguments[0];
    switch (number) {
    case SYS_clock_gettime:
    case SYS_clock_nanosleep:
        return time_is_wall(clock) || time_is_monotonic(clock);
    case SYS_gettimeofday:
    case SYS_nanosleep:
    case SYS_io_uring_setup:
#ifdef SYS_time
    case SYS_time:
#endif
        return true;
    default:
        return false;
    }
}

static long steered(long number, const long *arguments)
{
    void *const first = (void *)(uintptr_t)arguments[0];
    void *const second = (void *)(uintptr_t)arguments[1];
    switch (number) {
    case SYS_clock_gettime:
        return clock_gettime((clockid_t)arguments[0], second);
    case SYS_gettimeofday:
        return gettimeofday(first, second);
    case SYS_nanosleep:
        return nanosleep(first, second);
    case SYS_clock_nanosleep:
        errno = clock_nanosleep((clockid_t)arguments[0], (int)arguments[1],
                                (void *)(uintptr_t)arguments[2], (void *)(uintptr_t)arguments[3]);
        return errno ? -1 : 0;
    case SYS_io_uring_setup: /* there is none here: what it would wait for lasts real time */
        errno = ENOSYS;
        return -1;
    default:
        return (long)time(first);
    }
}

/* Our own calls come by here, too: those of clocks that we do not steer. */
long syscall(long number, ...)
{
    typedef long syscall_function(long, ...);
    static syscall_function *_Atomic next;
    long arguments[ARGUMENTS_MAX];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < ARGUMENTS_MAX; i++)
        arguments[i] = va_arg(rest, long);
    va_end(rest);
    if (shim_page && is_steered(number, arguments))
        return steered(number, arguments);
    if (!next)
        next = NEXT(syscall_function, "syscall");
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}

/* --- what cannot be steered --- */

static void tell(const char *what)
{
    static _Atomic bool is_said;
    if (!shim_page)
        return;
    if (!atomic_exchange(&is_said, true))
        (void)snprintf(shim_page->unsteered, sizeof shim_page->unsteered, "%s", what);
    atomic_fetch_add(&shim_page->counts.unsteered, 1);
}

int setitimer(__itimer_which_t which, const struct itimerval *restrict wanted,
              struct itimerval *restrict before)
{
    if ((int)which == ITIMER_REAL && wanted &&
        (wanted->it_value.tv_sec || wanted->it_value.tv_usec))
        tell("setitimer()");
    return (int)syscall(SYS_setitimer, (long)which, wanted, before);
}

unsigned alarm(unsigned seconds)
{
    typedef unsigned alarm_function(unsigned);
    if (seconds)
        tell("alarm()");
    return NEXT(alarm_function, "alarm")(seconds);
}

static void look_at_path(const char *path)
{
    if (path && (strcmp(path, "/proc/uptime") == 0 || strcmp(path, "/proc/timer_list") == 0))
        tell(path);
}

/* The mode stands behind the flags only where a file may be made. */
#define OPEN(directory, path, flags)                                                               \
    do {                                                                                           \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const bool makes = ((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE;                  \
        const long mode = makes ? (long)va_arg(rest, mode_t) : 0;                                  \
        va_end(rest);                                                                              \
        look_at_path(path);                                                                        \
        const int opened =                                                                         \
            (int)syscall(SYS_openat, (long)(directory), path, (long)(flags) | O_LARGEFILE, mode);  \
        shim_has_opened(opened, flags);                                                            \
        return opened;                                                                             \
    } while (0)

int open(const char *path, int flags, ...)
{
    OPEN(AT_FDCWD, path, flags);
}

int open64(const char *path, int flags, ...)
{
    OPEN(AT_FDCWD, path, flags);
}

int openat(int directory, const char *path, int flags, ...)
{
    OPEN(directory, path, flags);
}

int openat64(int directory, const char *path, int flags, ...)
{
    OPEN(directory, path, flags);
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    typedef FILE *fopen_function(const char *, const char *);
    look_at_path(path);
    FILE *file = NEXT(fopen_function, "fopen")(path, mode);
    if (file)
        shim_has_opened(fileno(file), *mode == 'r' || strchr(mode, '+') ? O_RDONLY : O_WRONLY);
    return file;
}

FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    return fopen(path, mode);
}
