/* monotonic.c - see monotonic.h. */
#include "base/monotonic.h"

#include <assert.h>
#include <time.h>

int64_t monotonic_us(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_MONOTONIC, &now);
    assert(failed == 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
