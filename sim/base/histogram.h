/* histogram.h - how long things took: a log-linear histogram, fixed memory, an error of at most 1
 * in 128.
 *
 * Values below 128 have a row each; from there on every power of two is split into 64 even rows. A
 * percentile is told as the middle of its row; the largest value is kept exactly. */
#ifndef PICKLOCK_BASE_HISTOGRAM_H
#define PICKLOCK_BASE_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_LINEAR = 128, /* values below have a row each */
    HISTOGRAM_SPLIT = 64,   /* rows of a power of two */
    HISTOGRAM_ROWS = HISTOGRAM_LINEAR + (63 - 7) * HISTOGRAM_SPLIT,
};

struct histogram {
    int64_t count;
    int64_t max;
    int64_t rows[HISTOGRAM_ROWS];
};

/* Counts one value; a negative one counts as 0. All zero is an empty histogram. */
void histogram_add(struct histogram *histogram, int64_t value);

/* Adds all that the other one has counted. */
void histogram_join(struct histogram *histogram, const struct histogram *other);

/* The value that thousandths of all counted ones do not exceed: 500 is the median, 999 the 99.9th
 * percentile. 0 when nothing was counted. thousandths: 1 .. 1000. */
int64_t histogram_at(const struct histogram *histogram, int thousandths);

#endif
