/* distribution.h - how long something takes, drawn anew each time: always the same, even between
 * two bounds, or exponential.
 *
 *     5ms   2ms..8ms   exponential:5ms
 *
 * Integers only: the same draw is the same length on every machine. */
#ifndef PICKLOCK_BASE_DISTRIBUTION_H
#define PICKLOCK_BASE_DISTRIBUTION_H

#include "base/fail.h"

#include <stdint.h>

struct distribution {
    enum distribution_kind {
        DISTRIBUTION_CONSTANT,    /* from_us, always; all zero is: no time at all */
        DISTRIBUTION_UNIFORM,     /* from_us .. to_us, each as likely */
        DISTRIBUTION_EXPONENTIAL, /* of mean from_us; at most 44 times that */
    } kind;
    int64_t from_us, to_us;
};

/* 0 .. 2 x the mean, each as likely. */
static inline struct distribution distribution_about(int64_t mean_us)
{
    return (struct distribution){DISTRIBUTION_UNIFORM, 0, 2 * mean_us};
}

/* Reads the forms above (text is borrowed), no length above most_us. FAIL_INPUT: what was expected.
 */
enum fail distribution_read(const char *text, int64_t most_us, struct distribution *made,
                            struct failure *failure);

/* The length that one draw (64 random bits) stands for: us, 0 or more. */
int64_t distribution_at(const struct distribution *distribution, uint64_t drawn);

#endif
