/* clock.c - see clock.h. */
#include "live/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum fail clock_page_open(struct clock_page **page, const char *path, struct failure *failure)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: cannot be made: %s", path,
                           strerror(errno));
    void *memory = MAP_FAILED;
    /* A page for which there is no room would end whoever writes to it. */
    int error = posix_fallocate(descriptor, 0, (off_t)sizeof **page);
    if (!error) {
        memory = mmap(NULL, sizeof **page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        error = errno;
    }
    (void)close(descriptor);
    if (memory == MAP_FAILED) {
        (void)unlink(path);
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: cannot be mapped: %s", path,
                           strerror(error));
    }
    *page = memory;
    return FAIL_NONE;
}

void clock_page_shut(struct clock_page *page)
{
    if (page != NULL)
        (void)munmap(page, sizeof *page);
}

enum fail clock_preload(const char *shim_path, const char *page_path, struct failure *failure)
{
    if (setenv("LD_PRELOAD", shim_path, 1) != 0 || setenv(CLOCK_VARIABLE, page_path, 1) != 0)
        return failure_set(failure, FAIL_INTERNAL, "setenv: %s", strerror(errno));
    return FAIL_NONE;
}

enum fail clock_shim_find(char path[CLOCK_PATH_MAX], struct failure *failure)
{
    static const char *const places[] = {"picklock-clock.so", "../picklock-clock.so"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "/proc/self/exe: %s", strerror(errno));
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int printed = snprintf(path, CLOCK_PATH_MAX, "%s/%s", program, places[i]);
        if (printed > 0 && printed < CLOCK_PATH_MAX && access(path, R_OK) == 0)
            return FAIL_NONE;
    }
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "picklock-clock.so, which steers the servers' clocks, is not beside the "
                       "program in %s; run with --real-time, or build it with make",
                       program);
}
