/* client_drift.c - a client's clock runs at half its speed from then on, or at twice: its timers
 * ring late, or early, and what it takes for a lease is none. What the drift term of Redlock is
 * for.
 *
 * Half and twice, because that is what whole ticks can tell: what the client has read of its clock
 * grows old by half a tick, or by two, at each. Smaller rates need a scenario. Of a scheme that
 * shows others what its clock says, how far the clock is off counts, too; it drifts until that is
 * as much as a clock jumps (client_clock.c), more than a lease, and runs true from there on: else
 * there would be no end of states. */
#include "explore/model/faults/fault.h"

static void add_rate(struct action_list *list, enum clock_rate rate)
{
    struct enabled_action *action = actions_add(list, ACTION_INJECT, -1);
    action->ticks = rate == RATE_HALF ? -1 : 1;
    client_state_set_rate(&action->after, rate);
    client_state_settle(&action->after, list->config);
    /* Of one that reads its clock no more it would be none. */
    if (client_state_is_same(&action->after, list->client_state))
        list->count--;
}

static void list_client_drift(struct action_list *list)
{
    if (list->client_state->phase == PHASE_DEAD || list->client_state->rate != RATE_TRUE)
        return;
    add_rate(list, RATE_HALF);
    add_rate(list, RATE_DOUBLE);
}

/* What an end of waiting leads to is looked at for clocks that jump, not for all that a clock may
 * say on its way there: so ends are not batched (eager_replies.h). */
static void prepare_client_drift(struct config *config, int times)
{
    if (!config->writes_stamps)
        return;
    config->past += config->jump * times;
    config->is_eager = false;
}

const struct fault_kind fault_client_drift_kind = {.list_client = list_client_drift,
                                                   .prepare = prepare_client_drift};
