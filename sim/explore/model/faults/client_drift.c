/* client_drift.c - a client's clock runs at half its speed from then on, or at twice: its timers
 * ring late, or early, and what it takes for a lease is none. What the drift term of Redlock is
 * for.
 *
 * Half and twice, because that is what whole ticks can tell: what the client has read of its clock
 * grows old by half a tick, or by two, at each. Smaller rates need a scenario. Of schemes with
 * stamps every difference of clocks counts, however it came about: client_clock.c is theirs, and
 * what holds without a drift stays unknown with one. */
#include "explore/model/faults/fault.h"

static bool keeps_own_time(const struct scheme *scheme)
{
    return !scheme->uses_client_clock;
}

static bool compares_clocks(const struct scheme *scheme)
{
    return scheme->uses_client_clock;
}

static void add_rate(struct action_list *list, enum clock_rate rate)
{
    struct action_draft *draft = actions_add(list, ACTION_INJECT, -1);
    draft->ticks = rate == RATE_HALF ? -1 : 1;
    client_state_set_rate(&draft->after, rate);
    client_state_settle(&draft->after, list->config);
}

static void list_client_drift(struct action_list *list)
{
    if (list->client_state->phase == PHASE_DEAD || list->client_state->rate != RATE_TRUE)
        return;
    add_rate(list, RATE_HALF);
    add_rate(list, RATE_DOUBLE);
}

const struct fault_kind fault_client_drift_kind = {.list_client = list_client_drift,
                                                   .is_applicable = keeps_own_time,
                                                   .is_missing = compares_clocks};
