/* fault_delay.c - "delay TIME [jitter=TIME]": it goes on later. */
#include "proxy/fault.h"

#include <stdio.h>

enum proxy_decision fault_delay(const struct strike *strike)
{
    const struct fault_arguments *arguments = &strike->rule->arguments;
    int64_t us = arguments->time_us;
    if (arguments->given & ARGUMENT_JITTER) {
        struct random random = rules_draw(strike->link, strike->rule);
        char words[64];
        us += random_about_zero(&random, arguments->jitter_us);
        snprintf(words, sizeof words, "by %lld us", (long long)(us > 0 ? us : 0));
        rules_tell(strike, words);
    }
    wait_new(strike, us, wait_forward);
    return PROXY_HOLD;
}
