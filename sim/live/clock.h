/* clock.h - the steered wall clock of a redis-server: a shared page that says what time it is.
 *
 * The page is a small file that both sides map: we write it, the library preloaded into the server
 * (clock_shim.c, built to picklock-clock.so) reads it at each gettimeofday(),
 * clock_gettime(CLOCK_REALTIME) and time(). A change holds from the server's next command on: Redis
 * reads the clock anew for each. Monotonic clocks are never touched, so the server's own timers go
 * on. */
#ifndef PICKLOCK_LIVE_CLOCK_H
#define PICKLOCK_LIVE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

/* The environment variable that names the file of the page. */
#define CLOCK_VARIABLE "PICKLOCK_CLOCK"

/* World time 0 on steered servers: 2026-01-01T00:00:00Z. */
#define CLOCK_EPOCH_US INT64_C(1767225600000000)

enum clock_mode {
    CLOCK_RUNS,   /* the real wall clock + offset_us, and what it has gained since */
    CLOCK_FROZEN, /* frozen_us + offset_us, until we move it */
};

struct clock_page {
    _Atomic int32_t mode; /* enum clock_mode */
    _Atomic int64_t offset_us;
    _Atomic int64_t frozen_us;
    _Atomic int64_t gains_us; /* a second, of a clock that runs */
    _Atomic int64_t since_us; /* from this instant of the real wall clock on */
};

/* What a clock that runs says at that instant of the real wall clock. */
static inline int64_t clock_runs_us(const struct clock_page *page, int64_t real_us)
{
    const int64_t gains_us = atomic_load(&page->gains_us);
    const int64_t passed_us = real_us - atomic_load(&page->since_us);
    return real_us + atomic_load(&page->offset_us) +
           (gains_us ? passed_us / 1000000 * gains_us + passed_us % 1000000 * gains_us / 1000000
                     : 0);
}

/* The shim needs the page alone; the rest is for whoever steers. */
#ifndef CLOCK_SHIM

#include "base/fail.h"

#include <stddef.h>

/* Makes the file path (borrowed; must not exist yet), maps it, and lets the clock run at offset 0.
 * FAIL_UNAVAILABLE: why not. */
enum fail clock_page_open(struct clock_page **page, const char *path, struct failure *failure);

/* Unmaps the page; the file stays until its folder goes. Takes page (may be NULL). */
void clock_page_shut(struct clock_page *page);

/* Sets LD_PRELOAD, CLOCK_VARIABLE and, unless reads_path is NULL, READS_VARIABLE (read_log.h)
 * of this process: for a child between fork and exec. Allocates (setenv). */
enum fail clock_preload(const char *shim_path, const char *page_path, const char *reads_path,
                        struct failure *failure);

/* Where the shim lies: beside the running program, or in its parent folder (tests).
 * FAIL_UNAVAILABLE when it does not. */
enum { CLOCK_PATH_MAX = 4096 };
enum fail clock_shim_find(char path[CLOCK_PATH_MAX], struct failure *failure);

/* A link to the shim in that folder (borrowed), which is a private one of ours: link, of size
 * bytes. Where the program lies, blanks and colons may stand, at which LD_PRELOAD splits.
 * FAIL_UNAVAILABLE: there is no shim, or no link can be made. */
enum fail clock_shim_link(const char *folder, char *link, size_t size, struct failure *failure);

/* What a frozen clock says. */
static inline int64_t clock_says_us(const struct clock_page *page)
{
    return atomic_load(&page->frozen_us) + atomic_load(&page->offset_us);
}

/* Stops the clock at that wall-clock instant; the offset counts on top. */
static inline void clock_freeze_at(struct clock_page *page, int64_t wall_us)
{
    atomic_store(&page->frozen_us, wall_us);
    atomic_store(&page->mode, CLOCK_FROZEN);
}

/* Moves a frozen clock on. */
static inline void clock_advance(struct clock_page *page, int64_t us)
{
    atomic_fetch_add(&page->frozen_us, us);
}

/* The jumps so far, all told: replaces the offset. */
static inline void clock_set_offset(struct clock_page *page, int64_t offset_us)
{
    atomic_store(&page->offset_us, offset_us);
}

/* Says from here on what the other one says. */
static inline void clock_copy(struct clock_page *page, const struct clock_page *other)
{
    atomic_store(&page->offset_us, atomic_load(&other->offset_us));
    atomic_store(&page->frozen_us, atomic_load(&other->frozen_us));
    atomic_store(&page->since_us, atomic_load(&other->since_us));
    atomic_store(&page->gains_us, atomic_load(&other->gains_us));
    atomic_store(&page->mode, atomic_load(&other->mode));
}

/* A jump: adds to the offset, for good. */
static inline void clock_jump(struct clock_page *page, int64_t us)
{
    atomic_fetch_add(&page->offset_us, us);
}

/* Lets the clock run again, true, at the offset that it has. */
static inline void clock_let_run(struct clock_page *page)
{
    atomic_store(&page->gains_us, 0);
    atomic_store(&page->mode, CLOCK_RUNS);
}

/* One that runs gains so much a second from that instant of the real wall clock on. */
static inline void clock_set_rate(struct clock_page *page, int64_t gains_us, int64_t since_us)
{
    atomic_store(&page->gains_us, 0); /* whoever looks meanwhile sees one rate or the other */
    atomic_store(&page->since_us, since_us);
    atomic_store(&page->gains_us, gains_us);
}

#endif
#endif
