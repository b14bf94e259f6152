/* random.c - what the worker takes for random: drawn from the page's seed, so that a run can be had
 * again. Tokens of two clients differ, for their seeds do.
 *
 * Sources: getrandom(2), getentropy(3); RAND_set_rand_method(3ssl); uuid_generate(3), which would
 * mix in the number of the process; RFC 9562, version 1. */
#include "worker/shim/shim.h"

#include "worker/time_rules.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
    if (!shim_page)
        return syscall(SYS_getrandom, bytes, length, flags);
    atomic_fetch_add(&shim_page->counts.random_reads, 1);
    time_draw_bytes(shim_page, bytes, length);
    return (ssize_t)length;
}

int getentropy(void *bytes, size_t length)
{
    return getrandom(bytes, length, 0) == (ssize_t)length ? 0 : -1;
}

/* --- OpenSSL --- */

/* Its generator would mix in the number of the process and the counter of the processor. A program
 * that has it in itself, or is linked to it, is given another one before it begins; one that loads
 * it later draws from getrandom(). */
struct rand_method { /* RAND_METHOD */
    int (*seed)(const void *bytes, int length);
    int (*bytes)(unsigned char *bytes, int length);
    void (*cleanup)(void);
    int (*add)(const void *bytes, int length, double entropy);
    int (*pseudorand)(unsigned char *bytes, int length);
    int (*status)(void);
};

static int openssl_bytes(unsigned char *bytes, int length)
{
    return length >= 0 && getrandom(bytes, (size_t)length, 0) == length;
}

static int openssl_status(void)
{
    return 1;
}

void shim_random_open(void)
{
    static const struct rand_method method = {
        .bytes = openssl_bytes, .pseudorand = openssl_bytes, .status = openssl_status};
    typedef int set_function(const struct rand_method *method);
    set_function *set = (set_function *)(uintptr_t)dlsym(RTLD_DEFAULT, "RAND_set_rand_method");
    if (set)
        (void)set(&method);
}

/* --- libuuid --- */

enum { UUID_BYTES = 16, TICKS_A_US = 10 };

/* Between the beginning of the Gregorian calendar and that of 1970, in 100 ns. */
static const int64_t gregorian_ticks = INT64_C(0x01b21dd213814000);

static void put(unsigned char *bytes, uint64_t number, int count)
{
    for (int i = count - 1; i >= 0; i--, number >>= 8)
        bytes[i] = (unsigned char)number;
}

int uuid_generate_time_safe(unsigned char uuid[UUID_BYTES]);
int uuid_generate_time_safe(unsigned char uuid[UUID_BYTES])
{
    typedef int real_function(unsigned char *);
    if (!shim_page) {
        real_function *real =
            (real_function *)(uintptr_t)dlsym(RTLD_NEXT, "uuid_generate_time_safe");
        return real ? real(uuid) : -1;
    }
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const int64_t us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    const uint64_t ticks =
        (uint64_t)(us * TICKS_A_US + gregorian_ticks) + atomic_fetch_add(&shim_page->uuids, 1);
    put(uuid, ticks & UINT32_MAX, 4);
    put(uuid + 4, ticks >> 32 & 0xffff, 2);
    put(uuid + 6, 0x1000 | (ticks >> 48 & 0x0fff), 2);
    put(uuid + 8, 0x8000 | (shim_page->seed & 0x3fff), 2);
    put(uuid + 10, UINT64_C(0x030000000000) | (shim_page->seed & UINT32_MAX), 6);
    return 0;
}
