/* remaining.c - see remaining.h. */
#include "explore/search/remaining.h"

#include <math.h>

/* The logarithm of the mean of so many depths, the last of which is so far behind the newest. */
static double mean(const struct remaining *remaining, unsigned behind)
{
    double sum = 0;
    for (unsigned i = 1; i <= REMAINING_MEAN; i++)
        sum += (double)remaining->states[(remaining->depths - behind - i) % REMAINING_DEPTHS];
    return log(sum / REMAINING_MEAN);
}

/* Depth by depth from the newest one on, until less than a state is left. A curve that does not
 * bend down, or has no end in sight, says nothing. */
static bool is_summed(double states, double slope, double bend, double *sum)
{
    enum { DEPTHS_MAX = 2000 };
    const double flat = -0.0001, falls = -0.02, too_many = 1e12;
    *sum = 0;
    if (bend > 0)
        bend = 0;
    if (bend > flat && slope > falls)
        return false;
    for (int i = 0; i < DEPTHS_MAX && states >= 1 && *sum < too_many; i++) {
        slope += bend;
        states *= exp(slope);
        *sum += states;
    }
    return states < 1;
}

void remaining_add(struct remaining *remaining, uint64_t states)
{
    remaining->states[remaining->depths++ % REMAINING_DEPTHS] = states;
    remaining->is_guess = false;
    if (remaining->depths < REMAINING_DEPTHS)
        return;
    const double newest = mean(remaining, 0), middle = mean(remaining, REMAINING_MEAN),
                 oldest = mean(remaining, 2 * REMAINING_MEAN);
    const double bend = (newest - 2 * middle + oldest) / ((double)REMAINING_MEAN * REMAINING_MEAN);
    const double slope = (newest - middle) / REMAINING_MEAN + bend * REMAINING_MEAN / 2;
    double sum;
    remaining->is_guess = is_summed((double)states, slope, bend, &sum);
    remaining->below = remaining->is_guess ? (uint64_t)sum : 0;
}
