/* histogram.c - see histogram.h. Integers only. */
#include "base/histogram.h"

#include <assert.h>

enum { LINEAR_BITS = 7, SPLIT_BITS = 6 };

/* From 2^b on (b >= 7) a row is 2^(b - 6) wide. */
static int row_of(int64_t value)
{
    if (value < HISTOGRAM_LINEAR)
        return (int)value;
    int bits = 63 - __builtin_clzll((unsigned long long)value);
    int within = (int)(value >> (bits - SPLIT_BITS)) - HISTOGRAM_SPLIT;
    return HISTOGRAM_LINEAR + (bits - LINEAR_BITS) * HISTOGRAM_SPLIT + within;
}

static int64_t middle_of(int row)
{
    if (row < HISTOGRAM_LINEAR)
        return row;
    int bits = LINEAR_BITS + (row - HISTOGRAM_LINEAR) / HISTOGRAM_SPLIT;
    int64_t within = (row - HISTOGRAM_LINEAR) % HISTOGRAM_SPLIT;
    int64_t width = INT64_C(1) << (bits - SPLIT_BITS);
    return (HISTOGRAM_SPLIT + within) * width + width / 2;
}

void histogram_add(struct histogram *histogram, int64_t value)
{
    if (value < 0)
        value = 0;
    histogram->count++;
    histogram->rows[row_of(value)]++;
    if (value > histogram->max)
        histogram->max = value;
}

void histogram_join(struct histogram *histogram, const struct histogram *other)
{
    histogram->count += other->count;
    for (int row = 0; row < HISTOGRAM_ROWS; row++)
        histogram->rows[row] += other->rows[row];
    if (other->max > histogram->max)
        histogram->max = other->max;
}

int64_t histogram_at(const struct histogram *histogram, int thousandths)
{
    assert(thousandths > 0 && thousandths <= 1000);
    if (histogram->count == 0)
        return 0;
    /* ceil(count * thousandths / 1000) values do not exceed it; no product that could overflow */
    int64_t wanted = histogram->count / 1000 * thousandths +
                     (histogram->count % 1000 * thousandths + 999) / 1000;
    int64_t seen = 0;
    for (int row = 0; row < HISTOGRAM_ROWS; row++) {
        seen += histogram->rows[row];
        if (seen >= wanted) {
            int64_t middle = middle_of(row);
            return middle < histogram->max ? middle : histogram->max;
        }
    }
    return histogram->max;
}
