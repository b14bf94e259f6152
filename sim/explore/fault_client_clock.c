/* fault_client_clock.c - a client's own clock jumps by more than a lease, ahead or back: a wrong
 * time server, an operator, a virtual machine that was moved.
 *
 * The jump is for good, and the others' clocks stay right. Only a scheme that reads its client's
 * clock can be harmed. */
#include "explore/fault.h"

static bool reads_clock(const struct scheme *scheme)
{
    for (int i = 0; i < scheme->fields_count; i++)
        if (scheme->fields[i] == FIELD_TIME || scheme->fields[i] == FIELD_STAMP)
            return true;
    return false;
}

static void add_jump(struct listing *list, int ticks)
{
    struct draft *draft = moves_add(list, MOVE_STRIKE, -1);
    draft->ticks = ticks;
    draft->after.skew = (int8_t)(draft->after.skew + ticks);
    local_settle(&draft->after, list->setting);
    /* Of a clock that nobody has looked at yet it would be no step. */
    if (local_is_same(&draft->after, list->local))
        list->count--;
}

static void list_client_clock(struct listing *list)
{
    if (list->local->phase == PHASE_DEAD)
        return;
    add_jump(list, list->setting->jump);
    add_jump(list, -list->setting->jump);
}

/* A stamp is past for everybody only when it is so for the clock that is furthest behind. */
static void prepare_client_clock(struct setting *setting, int times)
{
    setting->past += setting->jump * times;
}

const struct fault_kind fault_client_clock_kind = {
    .list_client = list_client_clock,
    .can_strike = reads_clock,
    .prepare = prepare_client_clock,
    .becomes = {1, {CHOICE_CLIENT_CLOCK}},
};
