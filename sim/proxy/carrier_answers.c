/* carrier_answers.c - does each process that holds sockets answer? One that is stopped does not
 * end, and would be waited for without end. See carrier.h. */
#include "proxy/carrier_parts.h"
#include "proxy/carrier_rows.h"

#include <signal.h>

int carriers_patience(const struct carriers *carriers)
{
    const bool is_hurried = carriers->stop && *carriers->stop;
    return (is_hurried ? CARRIER_HURRIED_MS : CARRIER_PATIENCE_MS) / carriers->tick_ms;
}

bool carriers_are_slow(const struct carriers *carriers)
{
    for (int i = 0; i < carriers->count; i++)
        if (carriers->rows[i].silent > 0)
            return true;
    return false;
}

bool carriers_owe(const struct carriers *carriers)
{
    for (int i = 0; i < carriers->count; i++)
        if (carriers->rows[i].is_asked && !carriers->rows[i].has_ended)
            return true;
    return false;
}

void carriers_ask_every(struct carriers *carriers, int64_t every_ms)
{
    if (every_ms >= carriers->tick_ms)
        return;
    carriers->tick_ms = every_ms > 0 ? (int)every_ms : 1;
    (void)uv_timer_start(&carriers->tick, carriers_ask, (uint64_t)carriers->tick_ms,
                         (uint64_t)carriers->tick_ms);
}

void carrier_answered(struct carrier *carrier)
{
    carrier->is_asked = false;
    carrier->silent = 0;
}

static void ask(struct carrier *carrier)
{
    const struct carrier_row row = {.kind = ROW_ASK};
    block_append(&carrier->out, (const char *)&row, sizeof row);
    carrier->is_asked = true;
}

void carriers_ask(uv_timer_t *tick)
{
    struct carriers *carriers = tick->data;
    for (int i = 0; i < carriers->count; i++) {
        struct carrier *carrier = &carriers->rows[i];
        if (carrier->has_ended)
            continue;
        if (!carrier->is_asked) {
            ask(carrier);
        } else if (++carrier->silent >= carriers_patience(carriers)) {
            carrier->has_gone_silent = true;
            (void)kill(carrier->pid, SIGKILL); /* else its sockets stay open in it */
            carrier_lost(carrier);
        }
    }
}
