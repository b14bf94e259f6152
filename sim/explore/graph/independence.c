/* independence.c - see independence.h. */
#include "explore/graph/independence.h"

enum { D = DEPENDENT, Q = WHEN_QUIET, A = WHEN_APART };

/* What a client does itself changes its own state, and is judged by the others' when it tells
 * somebody. An arrival changes its client and its server; a server's own action, the server, and
 * with it, which majorities there are: whether an arrival elsewhere makes one depends on it. Faults
 * share their budgets, and a tick waits for all that is urgent. A search has one kind of section,
 * so that some kinds never meet.
 *
 * Columns as rows. The column of ACTION_ARRIVE is read by the successor cache, all of them by the
 * test. */
const uint8_t independence[INDEPENDENCE_ROWS][INDEPENDENCE_ROWS] = {
    [ACTION_TICK] = {D, D, D, D, D, D, D, D, D, D, D, D, D, D},
    [ACTION_ACQUIRE] = {D, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, D, Q},
    [ACTION_RELEASE] = {D, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, D, Q},
    [ACTION_EXTEND] = {D, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, D, Q},
    [ACTION_WRITE] = {D, Q, Q, Q, Q, D, D, Q, Q, Q, Q, Q, D, Q},
    [ACTION_READ_COUNTER] = {D, Q, Q, Q, D, Q, Q, Q, Q, Q, Q, Q, D, Q},
    [ACTION_WRITE_COUNTER] = {D, Q, Q, Q, D, Q, Q, Q, Q, Q, Q, Q, D, Q},
    [ACTION_WAKE] = {D, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, D, Q},
    [ACTION_ARRIVE] = {D, Q, Q, Q, Q, Q, Q, Q, A, Q, Q, Q, D, D},
    [ACTION_HEAR] = {D, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, D, Q},
    [ACTION_GIVE_UP] = {D, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, D, Q},
    [ACTION_INJECT] = {D, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, D, D, D},
    [ACTION_DELAYED] = {D, D, D, D, D, D, D, D, D, D, D, D, D, D},
    [INDEPENDENCE_SERVER] = {D, Q, Q, Q, Q, Q, Q, Q, D, Q, Q, D, D, D},
};

static int row_of(const struct placed_action *it)
{
    bool is_server_s = it->client < 0 && it->action->kind == ACTION_INJECT;
    return is_server_s ? INDEPENDENCE_SERVER : it->action->kind;
}

bool independence_of(const struct placed_action *one, const struct placed_action *other)
{
    bool is_quiet = !one->action->did && !other->action->did;
    switch ((enum independence)independence[row_of(one)][row_of(other)]) {
    case WHEN_QUIET:
        return is_quiet;
    case WHEN_APART:
        return one->server != other->server;
    default:
        return false;
    }
}
