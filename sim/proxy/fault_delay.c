/* fault_delay.c - "delay TIME": it goes on later. */
#include "proxy/fault.h"

enum proxy_decision fault_delay(const struct strike *strike)
{
    wait_new(strike, strike->rule->arguments.time_us, wait_forward);
    return PROXY_HOLD;
}
