/* pace.c - see pace.h. */
#include "live/pace.h"

#include "base/monotonic.h"

#include <inttypes.h>
#include <uv.h>

enum { TOLERATED_PERCENT = 3 };

enum fail pace_look(struct pace *pace, redisContext *control, struct failure *failure)
{
    pace->before_us = monotonic_us();
    enum fail fail = control_time_us(control, &pace->server_us, failure);
    pace->after_us = monotonic_us();
    return fail;
}

static int64_t with_gain(int64_t ours_us, int64_t gains_us)
{
    return ours_us + ours_us / 1000 * gains_us / 1000;
}

enum fail pace_compare(const struct pace *then, const struct pace *now, int64_t gains_us,
                       int64_t error_us, struct failure *failure)
{
    int64_t server_us = now->server_us - then->server_us;
    int64_t least_us = now->before_us - then->after_us;
    int64_t most_us = now->after_us - then->before_us;
    int64_t tolerated_us = error_us + most_us * TOLERATED_PERCENT / 100;
    if (server_us >= with_gain(least_us, gains_us) - tolerated_us &&
        server_us <= with_gain(most_us, gains_us) + tolerated_us)
        return FAIL_NONE;
    int64_t ours_us = (least_us + most_us) / 2;
    int64_t hundredths = ours_us > 0 ? server_us * 100 / ours_us : 0;
    if (server_us < 0)
        return failure_set(failure, FAIL_UNKNOWN,
                           "the server's clock went back by %" PRId64 " ms while ours went on by "
                           "%" PRId64 " ms: leases end by it, so nothing is concluded",
                           -server_us / 1000, ours_us / 1000);
    return failure_set(failure, FAIL_UNKNOWN,
                       "the server's clock ran at %" PRId64 ".%02" PRId64 " of ours (%" PRId64
                       " ms in %" PRId64 " ms)%s: leases end by it, so nothing is concluded",
                       hundredths / 100, hundredths % 100, server_us / 1000, ours_us / 1000,
                       gains_us ? ", and was to drift otherwise" : "");
}
