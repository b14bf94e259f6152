/* asking_ahead.c - questions that are asked ahead. A search goes breadth-first: when it comes to
 * what follows a history, the process that was asked for that is somewhere else, and each next step
 * would be an execution of its own. So a process that has come to a new history goes on at once, as
 * servers would most likely answer, to the end of the attempt and of a next one: what it does is
 * there when it is asked for.
 *
 * An answer is one whenever it was asked for: no verdict hangs on this. What cannot be kept is no
 * failure here; the search may never ask for it. */
#include "ask/asking_twins.h"

static enum happening operation_of(const struct client_state *client_state)
{
    if (client_state->extend == EXTEND_UNDER_WAY)
        return HAPPENS_EXTEND;
    return client_state->phase == PHASE_RELEASING ? HAPPENS_RELEASE : HAPPENS_ACQUIRE;
}

static enum fail go(struct twins *pair, const struct client_state *client_state,
                    struct failure *failure)
{
    const bool extends = asking_extend(pair->asking) == EXTEND_IS_ASKED &&
                         client_state->extend == EXTEND_NOT_YET &&
                         client_state->phase != PHASE_RELEASING;
    const bool holds = client_state->phase == PHASE_HOLDING;
    if (twins_go_on(pair, holds, operation_of(client_state), extends, failure))
        return failure->code;
    return client_state->rounds > 0 ? asking_end_in_time(pair, failure) : FAIL_NONE;
}

/* The commands that servers have yet to answer. */
static void find_asked(const struct asking *asking, uint32_t node, uint32_t *asked)
{
    const unsigned waits = asking->worker.answers[node - 1].waits;
    for (; node != NODE_ROOT; node = worker_asker_edge(&asking->worker, node).from)
        for (int s = 0; s < asking->servers; s++)
            if (waits >> s & 1 && !asked[s])
                asked[s] = asking->worker.answers[node - 1].sent[s].command;
}

void asking_go_ahead(struct asking *asking, uint32_t node, const struct client_state *client_state)
{
    const struct seat *seat = &asking->worker.seat;
    const int32_t passed = (int32_t)(seat->passed_us * ELAPSED_EACH / asking->tick_us);
    struct twins pair = {.asking = asking, .node = node, .fresh = node, .passed = {passed, passed}};
    struct kept found[WAY_KEPT_COUNT];
    struct failure failure = {0};
    if (asking->classes.learns || asking_found(asking, found, &asking->failure) ||
        seat->at != node || node < asking->worker.questions.count)
        return;
    twins_set_servers(&pair, found[client_state->phase == PHASE_ACQUIRING ? WAY_NOTHING : WAY_OWN]);
    find_asked(asking, node, pair.asked);
    if (!go(&pair, client_state, &failure))
        return;
    asking->worker.seat.at = NODE_LOST;
    if (asking->worker.has_two_answers)
        asking->failure = failure;
}
