/* sample.h - of the cells that a test goes through (a scheme, a fault, a section), every Nth where
 * PICKLOCK_SAMPLE=N says so: builds that are several times as slow search a share of what the
 * others search in full. */
#ifndef PICKLOCK_TEST_SAMPLE_H
#define PICKLOCK_TEST_SAMPLE_H

#include <stdbool.h>
#include <stdlib.h>

static inline int sample_every(void)
{
    const char *text = getenv("PICKLOCK_SAMPLE");
    int every = text ? atoi(text) : 1;
    return every > 0 ? every : 1;
}

/* The first of all asked about is in it. */
static inline bool is_in_sample(void)
{
    static int asked;
    return asked++ % sample_every() == 0;
}

#endif
