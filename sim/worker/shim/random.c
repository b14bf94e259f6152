/* random.c - what the worker takes for random: drawn from the page's seed, so that a run can be had
 * again. Tokens of two clients differ, for their seeds do. Source: getrandom(2), getentropy(3). */
#include "worker/shim/shim.h"

#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t draw(void)
{
    static _Atomic uint64_t drawn;
    uint64_t bits =
        shim_page->seed + (atomic_fetch_add(&drawn, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
    if (!shim_page)
        return syscall(SYS_getrandom, bytes, length, flags);
    atomic_fetch_add(&shim_page->counts.random_reads, 1);
    for (size_t done = 0; done < length; done += sizeof(uint64_t)) {
        const uint64_t bits = draw();
        const size_t part = length - done < sizeof bits ? length - done : sizeof bits;
        memcpy((char *)bytes + done, &bits, part);
    }
    return (ssize_t)length;
}

int getentropy(void *bytes, size_t length)
{
    return getrandom(bytes, length, 0) == (ssize_t)length ? 0 : -1;
}
