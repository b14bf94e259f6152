/* faults.c - the table of actions, and those that need no more than a word to the proxy. */
#include "proxy/fault.h"

const struct proxy_fault faults[] = {
#define NOTHING ARGUMENT_NOTHING
#define TIME    ARGUMENT_TIME
#define JITTER  ARGUMENT_JITTER
#define SIZE    ARGUMENT_SIZE
#define RATE    ARGUMENT_RATE
#define CUT     ARGUMENT_CUT
#define BYTES   ARGUMENT_BYTES
#define LABEL   ARGUMENT_LABEL
#define UNTIL   ARGUMENT_UNTIL
#define BARRIER ARGUMENT_BARRIER
#define BOUND   ARGUMENT_BOUND
#define B       (1u << POINT_BEFORE)
#define A       (1u << POINT_AFTER)
#define D       (1u << POINT_DONE)
#define FAULT(id, name, points, usual, needs, takes, form, words)                                  \
    {name, form, words, points, POINT_##usual, needs, takes, fault_##id},
#include "proxy/faults.def"
#undef FAULT
};
const int faults_count = sizeof faults / sizeof faults[0];

enum proxy_decision fault_drop_request(const struct strike *strike)
{
    (void)strike;
    return PROXY_DROP;
}

enum proxy_decision fault_drop_reply(const struct strike *strike)
{
    (void)strike;
    return PROXY_DROP;
}

enum proxy_decision fault_answer(const struct strike *strike)
{
    const struct fault_arguments *arguments = &strike->rule->arguments;
    if (strike->point == POINT_BEFORE)
        proxy_request_answer(strike->request, arguments->bytes, arguments->bytes_length);
    else
        proxy_reply_answer(strike->request, arguments->bytes, arguments->bytes_length);
    return PROXY_DROP;
}

/* In the next turn: what passed in front of it has been written then. */
static void say_and_forward(struct wait *wait)
{
    const struct strike strike = wait->strike;
    const struct fault_arguments *arguments = &strike.rule->arguments;
    if (strike.point == POINT_BEFORE) {
        wait_free(wait);
        proxy_request_spoil(strike.request, arguments->bytes, arguments->bytes_length);
        return;
    }
    proxy_link_say(strike.link->link, arguments->bytes, arguments->bytes_length);
    wait_forward(wait);
}

enum proxy_decision fault_garbage(const struct strike *strike)
{
    wait_new(strike, 0, say_and_forward);
    return PROXY_HOLD;
}

enum proxy_decision fault_duplicate(const struct strike *strike)
{
    const struct fault_arguments *arguments = &strike->rule->arguments;
    strike->request->copies = arguments->given & ARGUMENT_SIZE ? (int)arguments->size : 1;
    return PROXY_PASS;
}

static enum proxy_cut cut_of(const struct strike *strike, enum proxy_cut usual)
{
    const struct fault_arguments *arguments = &strike->rule->arguments;
    return arguments->given & ARGUMENT_CUT ? arguments->cut : usual;
}

static void forward_and_cut(struct wait *wait)
{
    struct strike strike = wait->strike;
    struct proxy_link *link = strike.link->link;
    wait_forward(wait);
    proxy_link_cut(link, cut_of(&strike, PROXY_RST));
}

enum proxy_decision fault_cut(const struct strike *strike)
{
    if (strike->point == POINT_DONE)
        wait_new(strike, 0,
                 forward_and_cut); /* in the next turn: the reply must be out of the hook */
    else
        proxy_link_cut(strike->link->link, cut_of(strike, PROXY_RST));
    return PROXY_HOLD;
}

static const int64_t for_good_us = INT64_C(100) * 365 * 24 * 3600 * 1000000;

static void heal(struct wait *wait)
{
    proxy_link_speak(wait->strike.link->link);
    rules_tell(&wait->strike, "healed");
    wait_forward(wait);
}

enum proxy_decision fault_silence(const struct strike *strike)
{
    proxy_link_silence(strike->link->link);
    const bool has_time = strike->rule->arguments.given & ARGUMENT_TIME;
    wait_new(strike, has_time ? strike->rule->arguments.time_us : for_good_us, heal);
    return PROXY_HOLD;
}
