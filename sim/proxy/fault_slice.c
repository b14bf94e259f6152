/* fault_slice.c - "slice SIZE [TIME]" and "truncate SIZE [fin|rst]": a request or a reply in
 * pieces. */
#include "proxy/fault.h"

static const int64_t slice_apart_us = 1000;

static size_t forward_piece(const struct strike *strike)
{
    size_t size = (size_t)strike->rule->arguments.size;
    return strike->point == POINT_BEFORE ? proxy_request_forward_part(strike->request, size)
                                         : proxy_reply_forward_part(strike->request, size);
}

static void next_slice(struct wait *wait)
{
    const struct fault_arguments *arguments = &wait->strike.rule->arguments;
    if (forward_piece(&wait->strike) < arguments->size)
        wait_forward(wait); /* what is left is a piece, or less */
    else
        wait_again(wait, arguments->given & ARGUMENT_TIME ? arguments->time_us : slice_apart_us);
}

enum proxy_decision fault_slice(const struct strike *strike)
{
    wait_new(strike, 0, next_slice);
    return PROXY_HOLD;
}

static void truncate_now(struct wait *wait)
{
    struct strike strike = wait->strike;
    const struct fault_arguments *arguments = &strike.rule->arguments;
    wait_free(wait);
    forward_piece(&strike);
    proxy_link_cut(strike.link->link, arguments->given & ARGUMENT_CUT ? arguments->cut : PROXY_FIN);
}

enum proxy_decision fault_truncate(const struct strike *strike)
{
    wait_new(strike, 0, truncate_now);
    return PROXY_HOLD;
}
