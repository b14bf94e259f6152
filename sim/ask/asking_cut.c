/* asking_cut.c - connections that break while nothing is waited for on them: does a worker mind? */
#include "ask/asking_state.h"
#include "base/units.h"

#include <assert.h>
#include <stdio.h>

static int64_t timer_at(const struct asking *asking, uint32_t node)
{
    return node == NODE_ROOT ? TIME_NEVER : asking->worker.answers[node - 1].timer_us;
}

/* Where one runs before, another one may have been set beside it: that is followed, too. */
bool asking_is_moved_by_cut(const struct asking *asking, const struct history_edge *edge,
                            const struct remembered_step *told)
{
    assert(!asking_has_struck(asking, edge->from, STRUCK_BY_BREAK)); /* nobody breaks them twice */
    return timer_at(asking, edge->from) != TIME_NEVER || told->timer_us != TIME_NEVER;
}

/* behind: what it does then, as a history; without: what it would have done, or NODE_ROOT. */
static enum fail minds(const struct asking *asking, uint32_t behind, uint32_t without,
                       struct failure *failure)
{
    char text[600], happened[200], did[600], else_did[700] = "";
    worker_asker_tell_step(&asking->worker, behind, happened, sizeof happened, did, sizeof did);
    if (without != NODE_ROOT) {
        char would[600];
        worker_asker_tell_step(&asking->worker, without, happened, sizeof happened, would,
                               sizeof would);
        (void)snprintf(else_did, sizeof else_did, ", where it else %s", would);
    }
    return failure_set(failure, FAIL_UNKNOWN,
                       "after \"%s\" the worker minds that its idle connection broke: it %s%s. "
                       "That is not decided by asking yet",
                       worker_asker_tell(&asking->worker, behind, text, sizeof text), did,
                       else_did);
}

enum fail asking_check_cut(const struct asking *asking, const struct history_edge *edge,
                           const struct remembered_step *told, struct failure *failure)
{
    const bool was_asked =
        edge->from != NODE_ROOT && asking->worker.answers[edge->from - 1].is_asked;
    bool does_more = told->has_ended || told->has_notice || told->is_asked != was_asked;
    for (int s = 0; s < asking->servers; s++)
        does_more |= told->sent[s].command != 0;
    return does_more ? minds(asking, told->node, NODE_ROOT, failure) : FAIL_NONE;
}

/* One that the search follows need not be compared. */
static enum fail compare_with_cut(struct asking *asking, const struct history_edge *edge,
                                  int server, struct failure *failure)
{
    struct remembered_step cut, told, behind;
    const struct history_edge breaks = {.from = edge->from,
                                        .happening = HAPPENS_CUT,
                                        .server = (uint32_t)server,
                                        .elapsed = ELAPSED_ANY};
    struct history_edge after = *edge;
    if (timer_at(asking, edge->from) != TIME_NEVER)
        return FAIL_NONE;
    if (history_ask(&asking->worker, &breaks, &cut, failure) ||
        asking_check_cut(asking, &breaks, &cut, failure))
        return failure->code;
    if (asking_is_moved_by_cut(asking, &breaks, &cut))
        return FAIL_NONE;
    after.from = cut.node;
    if (history_ask(&asking->worker, edge, &told, failure) ||
        history_ask(&asking->worker, &after, &behind, failure))
        return failure->code;
    worker_asker_compare_fences(&asking->worker, edge->from, &told, &behind);
    return remembered_is_same(&told, &behind) ? FAIL_NONE
                                              : minds(asking, behind.node, told.node, failure);
}

enum fail asking_compare_cut(struct asking *asking, const struct history_edge *edge,
                             struct failure *failure)
{
    const unsigned waits =
        edge->from == NODE_ROOT ? 0 : asking->worker.answers[edge->from - 1].waits;
    if (!asking->expects_cuts || asking_has_struck(asking, edge->from, STRUCK_BY_BREAK))
        return FAIL_NONE;
    for (int s = 0; s < asking->servers; s++)
        if (!(waits >> s & 1) && compare_with_cut(asking, edge, s, failure))
            return failure->code;
    return FAIL_NONE;
}

/* --- clients that connect anew only after a while --- */

/* A timer is known in whole ticks, rounded up. One of less than a lease that is rounded to a whole
 * one rings, in the search, when nobody holds the lock any more who did when the connection broke.
 */
void asking_note_delay(struct asking *asking, const struct remembered_step *told)
{
    const int ticks = asking->lease_ticks;
    char least[UNITS_TEXT_MAX], lease[UNITS_TEXT_MAX], way[80];
    if (asking->adds_waits || told->timer_us != ticks * asking->tick_us)
        return;
    if (ticks < EXPLORE_LEASE_TICKS_MAX)
        (void)snprintf(way, sizeof way, "--lease-ticks %d tries it", ticks + 1);
    else
        (void)snprintf(way, sizeof way, "picklock run plays it in a scenario");
    (void)snprintf(asking->untried_delay, sizeof asking->untried_delay,
                   "a client connects anew by a timer, between %s and %s (a lease) after its "
                   "connection broke: that another one holds the lock for so long is not tried; "
                   "%s",
                   units_print_duration(asking->lease_us / ticks * (ticks - 1), least),
                   units_print_duration(asking->lease_us, lease), way);
    asking->rounds_waits = true;
}

const char *asking_untried_delay(const struct asking *asking)
{
    return asking->untried_delay[0] ? asking->untried_delay : NULL;
}
