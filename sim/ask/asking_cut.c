/* asking_cut.c - connections that break while nothing is waited for on them: does a worker mind? */
#include "ask/asking_state.h"

static int64_t timer_at(const struct asking *asking, uint32_t node)
{
    return node == NODE_ROOT ? TIME_NEVER : asking->worker.answers[node - 1].timer_us;
}

bool asking_is_moved_by_cut(const struct asking *asking, const struct history_edge *edge,
                            const struct remembered_step *told)
{
    const int64_t before_us = timer_at(asking, edge->from);
    const int64_t passed_us =
        edge->elapsed > 0 ? edge->elapsed * asking->tick_us / ELAPSED_EACH : 0;
    if (before_us == TIME_NEVER || told->timer_us == TIME_NEVER)
        return before_us != told->timer_us;
    return told->timer_us != (before_us > passed_us ? before_us - passed_us : 0);
}

static enum fail minds(const struct asking *asking, uint32_t node, struct failure *failure)
{
    char text[600];
    return failure_set(failure, FAIL_UNKNOWN,
                       "after \"%s\" the worker minds that its idle connection broke: that is not "
                       "decided by asking yet",
                       worker_asker_tell(&asking->worker, node, text, sizeof text));
}

enum fail asking_check_cut(const struct asking *asking, const struct history_edge *edge,
                           const struct remembered_step *told, struct failure *failure)
{
    const bool was_asked =
        edge->from != NODE_ROOT && asking->worker.answers[edge->from - 1].is_asked;
    bool does_more = told->has_ended || told->has_notice || told->is_asked != was_asked;
    for (int s = 0; s < asking->servers; s++)
        does_more |= told->sent[s].command != 0;
    return does_more ? minds(asking, edge->from, failure) : FAIL_NONE;
}

static enum fail compare_with_cut(struct asking *asking, const struct history_edge *edge,
                                  int server, struct failure *failure)
{
    struct remembered_step cut, told, behind;
    const struct history_edge breaks = {.from = edge->from,
                                        .happening = HAPPENS_CUT,
                                        .server = (uint32_t)server,
                                        .elapsed = ELAPSED_ANY};
    struct history_edge after = *edge;
    if (history_ask(&asking->worker, &breaks, &cut, failure) ||
        asking_check_cut(asking, &breaks, &cut, failure))
        return failure->code;
    /* The search follows it then. */
    if (asking_is_moved_by_cut(asking, &breaks, &cut))
        return FAIL_NONE;
    after.from = cut.node;
    if (history_ask(&asking->worker, edge, &told, failure) ||
        history_ask(&asking->worker, &after, &behind, failure))
        return failure->code;
    return remembered_is_same(&told, &behind) ? FAIL_NONE : minds(asking, edge->from, failure);
}

enum fail asking_compare_cut(struct asking *asking, const struct history_edge *edge,
                             struct failure *failure)
{
    const unsigned waits =
        edge->from == NODE_ROOT ? 0 : asking->worker.answers[edge->from - 1].waits;
    for (int s = 0; s < asking->servers && asking->expects_cuts; s++)
        if (!(waits >> s & 1) && compare_with_cut(asking, edge, s, failure))
            return failure->code;
    return FAIL_NONE;
}
