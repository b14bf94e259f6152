/* asking_struck.c - has the only fault of a search struck on the way to a history? Then it strikes
 * no more, and what only another one would show need not be asked. */
#include "ask/asking_state.h"

static bool is_it(const struct asking *asking, const struct history_edge *edge, enum struck_by by)
{
    const bool counts = edge->from != NODE_ROOT && asking->worker.answers[edge->from - 1].counts;
    switch (by) {
    case STRUCK_BY_BREAK:
        return edge->happening == HAPPENS_RESET || edge->happening == HAPPENS_CUT;
    case STRUCK_BY_JUMP:
        return edge->jumped != 0;
    case STRUCK_BY_DELAY: /* no time passes else while it holds the lock, or waits for a reply */
        return counts && edge->elapsed > 0 && edge->happening != HAPPENS_ACQUIRE &&
               edge->happening != HAPPENS_TIMER;
    }
    return false;
}

/* Before its attempt an end that has a timer may have been taken for another one, which has broken
 * connections on its way or not, as this one (may_be_like()), and nothing else in common. */
bool asking_shows(const struct asking *asking, uint32_t node, enum struck_by by)
{
    while (node != NODE_ROOT) {
        const struct history_edge edge = worker_asker_edge(&asking->worker, node);
        if (is_it(asking, &edge, by))
            return true;
        if (by != STRUCK_BY_BREAK && edge.happening == HAPPENS_ACQUIRE)
            return false;
        node = edge.from;
    }
    return false;
}

/* Of several servers a class goes on from its first history, on whose way something else may have
 * struck. */
bool asking_has_struck(const struct asking *asking, uint32_t node, enum struck_by by)
{
    return asking->has_one_fault && asking->servers == 1 && asking_shows(asking, node, by);
}
