/* asking_waits.c - the waits of an attempt, each of which takes whole ticks. */
#include "ask/asking_state.h"

/* It waits for a timer, and for nothing else, within an operation; that takes so many ticks. */
static int64_t waits_ticks(const struct asking *asking, const struct remembered_step *step)
{
    const bool does = step->is_asked && !step->waits && step->timer_us != TIME_NEVER;
    return does ? step->timer_us / asking->tick_us : 0;
}

/* Since a connection broke a timer has run, and none has rung: it may wait only to connect anew,
 * also in the operation behind the one that failed by that, or while others answer. */
static bool connects(const struct worker_asker *worker, uint32_t node)
{
    struct history_edge edge = {.happening = HAPPENING_COUNT};
    while (edge.happening != HAPPENS_RESET && edge.happening != HAPPENS_CUT) {
        if (node == NODE_ROOT || worker->answers[node - 1].timer_us == TIME_NEVER ||
            edge.happening == HAPPENS_TIMER)
            return false;
        edge = worker_asker_edge(worker, node);
        node = edge.from;
    }
    return true;
}

void asking_note_wait(struct asking *asking, const struct remembered_step *told)
{
    const struct worker_asker *worker = &asking->worker;
    int64_t ticks = 0;
    if (asking->adds_waits || asking->rounds_waits || !waits_ticks(asking, told))
        return;
    asking->rounds_waits = !connects(worker, told->node);
    for (uint32_t at = told->node; at != NODE_ROOT;) {
        const struct history_edge edge = worker_asker_edge(worker, at);
        ticks += waits_ticks(asking, &worker->answers[at - 1]);
        at = edge.happening == HAPPENS_ACQUIRE ? NODE_ROOT : edge.from;
    }
    asking->rounds_waits |= ticks > 1;
}

bool asking_rounds_waits(const struct asking *asking)
{
    return asking->rounds_waits;
}
