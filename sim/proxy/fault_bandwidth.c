/* fault_bandwidth.c - "bandwidth RATE": a request or a reply takes as long as its bytes do at that
 * rate, piece by piece, however large it is; what is behind it waits, so that a stream of those
 * that are struck has that rate, as Toxiproxy's toxic of that name has. */
#include "proxy/fault.h"

#include "base/monotonic.h"

static const int64_t piece_us = 20000; /* what goes on in so long is one piece */
static const int64_t second_us = 1000000;

/* Of this many bytes; at most that of a piece. */
static int64_t time_of(uint64_t bytes, uint64_t rate)
{
    const uint64_t piece = 64 * 1024; /* a flow keeps some of them */
    int64_t us = (int64_t)((bytes < piece ? bytes : piece) * (uint64_t)second_us / rate);
    return us < piece_us ? us : piece_us;
}

static uint64_t bytes_of(int64_t us, uint64_t rate)
{
    uint64_t seconds = (uint64_t)(us / second_us), rest = (uint64_t)(us % second_us);
    return seconds * rate + rest * rate / (uint64_t)second_us;
}

static size_t left(const struct strike *strike)
{
    return strike->point == POINT_BEFORE ? proxy_request_left(strike->request)
                                         : proxy_reply_left(strike->request);
}

static size_t forward_part(const struct strike *strike, size_t bytes)
{
    return strike->point == POINT_BEFORE ? proxy_request_forward_part(strike->request, bytes)
                                         : proxy_reply_forward_part(strike->request, bytes);
}

static void next_piece(struct wait *wait)
{
    const uint64_t rate = wait->strike.rule->arguments.rate;
    const int64_t now_us = monotonic_us();
    const uint64_t allowed = bytes_of(now_us - wait->since_us, rate) - wait->gone;
    const size_t there = left(&wait->strike);
    if (allowed >= there) {
        wait_forward(wait);
        return;
    }
    const size_t went = allowed ? forward_part(&wait->strike, (size_t)allowed) : 0;
    wait->gone += went;
    if (went < allowed) { /* the sender is slower than the rate: what he did not use is no credit */
        wait->since_us = now_us;
        wait->gone = 0;
    }
    /* A part of a byte is no piece: at 1 B/s the next one is due in a second. */
    int64_t next_us = time_of(there - went, rate);
    if (bytes_of(next_us, rate) == 0)
        next_us = second_us / (int64_t)rate;
    wait_again(wait, next_us);
}

enum proxy_decision fault_bandwidth(const struct strike *strike)
{
    wait_new(strike, 0, next_piece);
    return PROXY_HOLD;
}
