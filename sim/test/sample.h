/* sample.h - how much of it a test does. Of the cells that it goes through (a scheme, a fault, a
 * section), every Nth where PICKLOCK_SAMPLE=N says so: builds that are several times as slow search
 * a share of what the others search in full. PICKLOCK_RUNS=N makes so many random runs,
 * PICKLOCK_SEED=N others. What CI has no time for at all is long. */
#ifndef PICKLOCK_TEST_SAMPLE_H
#define PICKLOCK_TEST_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline uint64_t sample_number(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* `make check-long` sets PICKLOCK_LONG: what only that runs. */
static inline bool is_long(void)
{
    return getenv("PICKLOCK_LONG");
}
#define LONG_ONLY() (is_long() ? (void)0 : skip())

static inline int sample_every(void)
{
    int every = (int)sample_number("PICKLOCK_SAMPLE", 1);
    return every > 0 ? every : 1;
}

/* The first of all asked about is in it. */
static inline bool is_in_sample(void)
{
    static int asked;
    return asked++ % sample_every() == 0;
}

/* The same of cells that take long: every so many of them where nothing is said, all with
 * PICKLOCK_SAMPLE=1 (make check-long). */
static inline bool is_in_sample_of(int every)
{
    static int asked;
    return asked++ % (getenv("PICKLOCK_SAMPLE") ? sample_every() : every) == 0;
}

#endif
