/* client_clock.c - a client's own clock jumps by more than a lease, ahead or back: a wrong
 * time server, an operator, a virtual machine that was moved.
 *
 * The jump is for good, and the others' clocks stay right. Only a scheme that reads its client's
 * clock can be harmed. */
#include "explore/model/faults/fault.h"

static bool reads_clock(const struct scheme *scheme)
{
    for (int i = 0; i < scheme->fields_count; i++)
        if (scheme->fields[i] == FIELD_TIME || scheme->fields[i] == FIELD_STAMP)
            return true;
    return false;
}

static void add_jump(struct action_list *list, int ticks)
{
    struct enabled_action *action = actions_add(list, ACTION_INJECT, -1);
    action->ticks = ticks;
    client_state_jump(&action->after, list->config, ticks);
    /* Of a clock that nobody has looked at yet it would be no step. */
    if (client_state_is_same(&action->after, list->client_state))
        list->count--;
}

static void list_client_clock(struct action_list *list)
{
    if (list->client_state->phase == PHASE_DEAD)
        return;
    add_jump(list, list->config->jump);
    add_jump(list, -list->config->jump);
}

/* A stamp is past for everybody only when it is so for the clock that is furthest behind. */
static void prepare_client_clock(struct config *config, int times)
{
    config->clock_jumps = times;
    config->past += config->jump * times;
}

const struct fault_kind fault_client_clock_kind = {
    .list_client = list_client_clock,
    .is_applicable = reads_clock,
    .prepare = prepare_client_clock,
};
