/* clock.c - see clock.h. */
#include "live/clock.h"

#include "base/shared_file.h"
#include "live/read_log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum fail clock_page_open(struct clock_page **page, const char *path, struct failure *failure)
{
    void *memory;
    if (shared_file_make(&memory, path, sizeof **page, failure))
        return FAIL_UNAVAILABLE;
    *page = memory;
    return FAIL_NONE;
}

void clock_page_shut(struct clock_page *page)
{
    if (page != NULL)
        (void)munmap(page, sizeof *page);
}

enum fail clock_preload(const char *shim_path, const char *page_path, const char *reads_path,
                        struct failure *failure)
{
    if (setenv("LD_PRELOAD", shim_path, 1) != 0 || setenv(CLOCK_VARIABLE, page_path, 1) != 0 ||
        (reads_path && setenv(READS_VARIABLE, reads_path, 1) != 0))
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
