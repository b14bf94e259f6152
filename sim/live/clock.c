/* clock.c - see clock.h. */
#include "live/clock.h"

#include "base/place.h"
#include "base/shared_file.h"
#include "live/read_log.h"

#include <assert.h>
#include <errno.h>
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
    static_assert((int)CLOCK_PATH_MAX == (int)PLACE_BYTES, "a path is as long as a path");
    char program[PLACE_BYTES];
    if (place_library("picklock-clock.so", path))
        return FAIL_NONE;
    place_program(program);
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "picklock-clock.so, which steers the servers' clocks, is not beside the "
                       "program in %s; run with --real-time, or build it with make",
                       program);
}

enum fail clock_shim_link(const char *folder, char *link, size_t size, struct failure *failure)
{
    char shim[CLOCK_PATH_MAX];
    if (clock_shim_find(shim, failure))
        return failure->code;
    const int printed = snprintf(link, size, "%s/clock.so", folder);
    if (printed > 0 && (size_t)printed < size && symlink(shim, link) == 0)
        return FAIL_NONE;
    failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", link, fail_of_temporary(errno));
    link[0] = '\0'; /* none */
    return FAIL_UNAVAILABLE;
}
