/* read_log.c - see read_log.h. */
#include "live/read_log.h"

#include "base/shared_file.h"

#include <sys/mman.h>

enum fail read_log_open(struct read_log **log, const char *path, struct failure *failure)
{
    void *memory;
    if (shared_file_make(&memory, path, sizeof **log, failure))
        return FAIL_UNAVAILABLE;
    *log = memory;
    return FAIL_NONE;
}

void read_log_shut(struct read_log *log)
{
    if (log)
        (void)munmap(log, sizeof *log);
}
