/* pace.h - does a server's clock go as fast as ours, where nobody steers it?
 *
 * Leases run out by the server's clock and are judged by ours. Where the two went apart between two
 * looks, nothing can be concluded from what was seen between. A look is TIME, asked between two
 * readings of our monotonic clock: what the way takes is known, and held against nobody. */
#ifndef PICKLOCK_LIVE_PACE_H
#define PICKLOCK_LIVE_PACE_H

#include "live/control.h"

struct pace {
    int64_t server_us;           /* what the server's clock said */
    int64_t before_us, after_us; /* ours, before it was asked and when it had answered */
};

/* FAIL_UNAVAILABLE: it does not tell the time. */
enum fail pace_look(struct pace *pace, redisContext *control, struct failure *failure);

/* Did the server's clock keep ours from one look to the next, but for error_us and a few percent?
 * It is to gain gains_us a second. FAIL_UNKNOWN: how fast it went instead. Asks nobody. */
enum fail pace_compare(const struct pace *then, const struct pace *now, int64_t gains_us,
                       int64_t error_us, struct failure *failure);

#endif
