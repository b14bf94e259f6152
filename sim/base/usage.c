/* usage.c - see usage.h. */
#include "base/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static int64_t us_of(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

int64_t usage_cpu_us(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? us_of(usage.ru_utime) + us_of(usage.ru_stime) : 0;
}

int64_t usage_memory_kb(void)
{
    int64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*d %" SCNd64, &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}
