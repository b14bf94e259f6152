/* clock_shim.c - preloaded into redis-server: its wall clock is what the shared page says.
 *
 * Must never allocate while it tells the time (the server's own allocator asks for it while it
 * starts), and never touch a clock that is not a wall clock. The C library reads the real time
 * without a system call, which a server does several times a command: so its function is looked up,
 * once, in the constructor. The look-up allocates; who asks for the time before it has ended is
 * answered by the kernel. Without the environment variable it changes nothing; with one that cannot
 * be followed the server ends at once, for a replay on an unsteered clock would lie. Source:
 * gettimeofday(2), clock_gettime(2), vdso(7), dlsym(3), ld.so(8). */
#define CLOCK_SHIM
#include "live/clock.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_UNAVAILABLE = 69, MICROSECONDS = 1000000 };

static const struct clock_page *shim_page;
static int (*library_clock)(clockid_t clock, struct timespec *now); /* NULL: not looked up yet */

/* The next one behind ours, in a way that no compiler warns of: POSIX has dlsym return an object.
 */
static void library_clock_find(void)
{
    void *found = dlsym(RTLD_NEXT, "clock_gettime");
    memcpy(&library_clock, &found, sizeof found);
}

static int real_clock(clockid_t clock, struct timespec *now)
{
    return library_clock ? library_clock(clock, now) : (int)syscall(SYS_clock_gettime, clock, now);
}

__attribute__((constructor)) static void shim_open(void)
{
    library_clock_find();
    const char *path = getenv(CLOCK_VARIABLE);
    if (path == NULL)
        return;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    void *page = MAP_FAILED;
    if (descriptor >= 0) {
        page = mmap(NULL, sizeof(struct clock_page), PROT_READ, MAP_SHARED, descriptor, 0);
        (void)close(descriptor);
    }
    if (page == MAP_FAILED) {
        static const char words[] = "picklock-clock: the clock page cannot be mapped\n";
        ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
        (void)written;
        _exit(EXIT_UNAVAILABLE);
    }
    shim_page = page;
}

static int64_t shim_wall_us(void)
{
    const struct clock_page *page = shim_page;
    if (page != NULL && atomic_load(&page->mode) == CLOCK_FROZEN)
        return atomic_load(&page->frozen_us) + atomic_load(&page->offset_us);
    struct timespec real = {0};
    (void)real_clock(CLOCK_REALTIME, &real);
    const int64_t real_us = (int64_t)real.tv_sec * MICROSECONDS + real.tv_nsec / 1000;
    return page == NULL ? real_us : clock_runs_us(page, real_us);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    if (zone != NULL)
        memset(zone, 0, sizeof(struct timezone));
    int64_t wall_us = shim_wall_us();
    now->tv_sec = (time_t)(wall_us / MICROSECONDS);
    now->tv_usec = (suseconds_t)(wall_us % MICROSECONDS);
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return real_clock(clock, now);
    int64_t wall_us = shim_wall_us();
    now->tv_sec = (time_t)(wall_us / MICROSECONDS);
    now->tv_nsec = (long)(wall_us % MICROSECONDS) * 1000;
    return 0;
}

time_t time(time_t *now)
{
    time_t seconds = (time_t)(shim_wall_us() / MICROSECONDS);
    if (now != NULL)
        *now = seconds;
    return seconds;
}
