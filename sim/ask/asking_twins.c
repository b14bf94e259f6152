/* asking_twins.c - see asking_twins.h. */
#include "ask/asking_twins.h"

#include <string.h>

static enum fail differs(const struct twins *pair, struct failure *failure)
{
    char text[600];
    return failure_set(failure, FAIL_UNKNOWN,
                       "it does not close: after \"%s\" the worker goes on otherwise than a new "
                       "one, so its histories grow with each attempt; a lock object that is made "
                       "anew for each acquire helps",
                       worker_asker_tell(&pair->asking->worker, pair->node, text, sizeof text));
}

static int name_of(const struct twins *pair, int server)
{
    return pair->name ? pair->name[server] : server;
}

/* What the fresh one did, with its servers called as the other one calls them. */
static struct remembered_step renamed(const struct twins *pair, const struct remembered_step *other)
{
    struct remembered_step told = *other;
    told.waits = 0;
    told.left = 0;
    for (int s = 0; s < pair->asking->servers; s++) {
        told.sent[s] = other->sent[name_of(pair, s)];
        told.waits |= (uint8_t)((other->waits >> name_of(pair, s) & 1) << s);
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (other->left & channel_bit(name_of(pair, s), lane))
                told.left |= (uint16_t)channel_bit(s, lane);
    }
    return told;
}

enum fail twins_ask_again(const struct twins *pair, struct failure *failure)
{
    struct asking *asking = pair->asking;
    struct seat seat = {.session = asking->session, .client = 1};
    struct failure again = {0};
    for (int i = 0; i < 2 && !again.code; i++)
        if (!seat_reset(&asking->worker, &seat, &again))
            (void)history_compare(&asking->worker, &seat, pair->apart[i], &again);
    seat_close(&seat);
    if (again.code)
        *failure = again;
    return failure->code;
}

static uint32_t whose_token(const struct twins *pair, int side, const struct history_edge *edge)
{
    const bool is_same = edge->whose == WHOSE_OTHER && pair->repeats[side] &&
                         worker_asker_has_heard(&pair->asking->worker, edge->from, true);
    return is_same ? WHOSE_SAME : edge->whose;
}

enum fail twins_tell(struct twins *pair, const struct history_edge *what,
                     struct remembered_step *told, struct failure *failure)
{
    struct worker_asker *asker = &pair->asking->worker;
    struct history_edge edge = *what;
    struct remembered_step other;
    edge.from = pair->node;
    edge.whose = whose_token(pair, 0, &edge);
    edge.elapsed = what->elapsed + pair->passed[0];
    if (history_ask(asker, &edge, told, failure))
        return failure->code;
    pair->passed[0] = told->counts ? 0 : edge.elapsed;
    edge = *what;
    edge.from = pair->fresh;
    edge.whose = whose_token(pair, 1, &edge);
    edge.server = (uint32_t)name_of(pair, (int)edge.server);
    edge.elapsed = what->elapsed + pair->passed[1];
    if (history_ask(asker, &edge, &other, failure))
        return failure->code;
    pair->passed[1] = other.counts ? 0 : edge.elapsed;
    const struct remembered_step called_alike = renamed(pair, &other);
    pair->have_differed = !remembered_is_same(told, &called_alike);
    pair->apart[0] = told->node;
    pair->apart[1] = other.node;
    if (pair->have_differed)
        return differs(pair, failure);
    worker_asker_compare_fences(asker, pair->node, told, &other);
    pair->node = told->node;
    pair->fresh = other.node;
    for (int s = 0; s < pair->asking->servers; s++)
        if (told->sent[s].command)
            pair->asked[s] = told->sent[s].command;
    return FAIL_NONE;
}

/* The first server that has yet to answer does. */
static enum fail answer(struct twins *pair, struct remembered_step *told, struct failure *failure)
{
    struct server_told reply;
    uint32_t at = 0;
    while (!pair->asked[at])
        at++;
    const struct server_question question = {.kept = pair->kept[at], .command = pair->asked[at]};
    if (server_ask(&pair->asking->server, &question, &reply, failure))
        return failure->code;
    pair->kept[at] = reply.kept;
    pair->asked[at] = 0;
    return twins_tell(
        pair,
        &(struct history_edge){
            .happening = HAPPENS_REPLY, .server = at, .reply = reply.reply, .whose = reply.whose},
        told, failure);
}

static enum fail ring(struct twins *pair, struct remembered_step *told, struct failure *failure)
{
    const struct history_edge edge = {.happening = HAPPENS_TIMER};
    return twins_tell(pair, &edge, told, failure);
}

enum { TOLD_MAX = 100 };

enum fail twins_end_operation(struct twins *pair, struct remembered_step *told,
                              struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < TOLD_MAX && !fail && told->is_asked; i++) {
        if (told->waits)
            fail = answer(pair, told, failure);
        else if (told->timer_us != TIME_NEVER)
            fail = ring(pair, told, failure);
        else
            break;
    }
    if (!fail && told->is_asked)
        fail = failure_set(failure, FAIL_UNKNOWN,
                           "its histories do not close: answered as a server would answer, an "
                           "operation did not end within %d steps. One that tries again for so "
                           "long wants a shorter --wait",
                           TOLD_MAX);
    return fail;
}

/* Its first command to the first server is not answered: the connection breaks. */
static enum fail lose_first(struct twins *pair, struct remembered_step *told,
                            struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < TOLD_MAX && !fail && told->is_asked && !told->waits; i++)
        fail = told->timer_us == TIME_NEVER ? FAIL_NONE : ring(pair, told, failure);
    if (fail || !pair->asked[0])
        return fail;
    pair->asked[0] = 0;
    return twins_tell(pair, &(struct history_edge){.happening = HAPPENS_RESET}, told, failure);
}

enum fail twins_operate(struct twins *pair, enum happening begins, struct remembered_step *told,
                        struct failure *failure)
{
    const struct history_edge edge = {
        .happening = begins, .jumped = pair->jumped, .elapsed = pair->elapsed};
    enum fail fail = twins_tell(pair, &edge, told, failure);
    pair->jumped = pair->elapsed = 0;
    if (!fail && pair->is_first_lost)
        fail = lose_first(pair, told, failure);
    return fail ? fail : twins_end_operation(pair, told, failure);
}

enum fail twins_go_on(struct twins *pair, bool holds, enum happening operation, bool extends,
                      struct failure *failure)
{
    struct remembered_step told = pair->asking->worker.answers[pair->node - 1];
    enum fail fail = FAIL_NONE;
    if (told.is_asked) {
        fail = twins_end_operation(pair, &told, failure);
        holds = told.has_ended && history_holds(holds, operation, told.answer);
    } else if (!holds) {
        fail = twins_operate(pair, HAPPENS_ACQUIRE, &told, failure);
        holds = told.has_ended && told.answer == ANSWER_OK;
    }
    if (!fail && holds && extends)
        fail = twins_extend(pair, &told, &holds, failure);
    return !fail && holds ? twins_operate(pair, HAPPENS_RELEASE, &told, failure) : fail;
}

void twins_set_servers(struct twins *pair, struct kept kept)
{
    for (int s = 0; s < pair->asking->servers; s++)
        pair->kept[s] = kept;
}

enum fail twins_hold(struct asking *asking, struct twins *one, struct failure *failure)
{
    struct remembered_step told;
    *one = (struct twins){.asking = asking, .node = NODE_ROOT, .fresh = NODE_ROOT};
    twins_set_servers(one, (struct kept){.value = KEPT_ABSENT, .left = NO_TICKS});
    if (twins_operate(one, HAPPENS_ACQUIRE, &told, failure))
        return failure->code;
    for (int s = 0; s < asking->servers; s++)
        if (one->kept[s].value == KEPT_OWN)
            one->kept[s].value = KEPT_OTHER;
    return FAIL_NONE;
}

enum fail twins_extend(struct twins *pair, struct remembered_step *told, bool *holds,
                       struct failure *failure)
{
    const enum fail fail = twins_operate(pair, HAPPENS_EXTEND, told, failure);
    *holds = !fail && told->has_ended && history_holds(true, HAPPENS_EXTEND, told->answer);
    return fail;
}
