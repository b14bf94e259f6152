/* asking_compare.c - two histories, compared by how a worker goes on from them. */
#include "ask/asking_state.h"

#include "base/memory.h"

bool asking_is_alike(const struct remembered_step *a, const struct remembered_step *b)
{
    return a->command == b->command && a->whose == b->whose && a->has_ended == b->has_ended &&
           a->answer == b->answer && a->has_notice == b->has_notice && a->is_asked == b->is_asked &&
           a->is_waiting == b->is_waiting && a->timer_us == b->timer_us;
}

/* Two workers side by side, told the same. */
struct twins {
    struct asking *asking;
    uint32_t node, fresh;
    struct kept kept; /* at the server that they are told of */
};

static enum fail differs(const struct twins *pair, struct failure *failure)
{
    char text[600];
    return failure_set(failure, FAIL_UNKNOWN,
                       "it does not close: after \"%s\" the worker goes on otherwise than a new "
                       "one, so its histories grow with each attempt; a lock object that is made "
                       "anew for each acquire helps",
                       worker_asker_tell(&pair->asking->worker, pair->node, text, sizeof text));
}

/* Both are told; *told: what they did, alike. */
static enum fail tell_both(struct twins *pair, enum happening happening, uint32_t reply,
                           uint32_t whose, struct remembered_step *told, struct failure *failure)
{
    struct worker_asker *asker = &pair->asking->worker;
    struct history_edge edge = {
        .from = pair->node, .happening = happening, .reply = reply, .whose = whose};
    struct remembered_step other;
    if (history_ask(asker, &edge, told, failure))
        return failure->code;
    edge.from = pair->fresh;
    if (history_ask(asker, &edge, &other, failure))
        return failure->code;
    if (!asking_is_alike(told, &other))
        return differs(pair, failure);
    pair->node = told->node;
    pair->fresh = other.node;
    return FAIL_NONE;
}

/* An operation from its beginning to its end, as the server answers. */
static enum fail operate(struct twins *pair, enum happening begins, struct remembered_step *told,
                         struct failure *failure)
{
    enum { TOLD_MAX = 40 };
    enum fail fail = tell_both(pair, begins, 0, 0, told, failure);
    for (int i = 0; i < TOLD_MAX && !fail && told->is_asked; i++) {
        struct server_told reply;
        if (!told->is_waiting && told->timer_us == TIME_NEVER)
            break;
        if (!told->is_waiting) {
            fail = tell_both(pair, HAPPENS_TIMER, 0, 0, told, failure);
            continue;
        }
        const struct server_question question = {.kept = pair->kept, .command = told->command};
        fail = server_ask(&pair->asking->server, &question, &reply, failure);
        pair->kept = reply.kept;
        if (!fail)
            fail = tell_both(pair, HAPPENS_REPLY, reply.reply, reply.whose, told, failure);
    }
    return fail;
}

enum fail asking_compare_end(struct asking *asking, uint32_t node, struct failure *failure)
{
    struct remembered_step told;
    struct twins pair = {.asking = asking, .node = node};
    const int32_t left = asking->lease_ticks;
    for (int i = 0; i < asking->ends_count; i++)
        if (asking->ends[i] == node)
            return FAIL_NONE;
    /* Refused, and then granted and released. */
    pair.kept = (struct kept){.value = KEPT_OTHER, .left = left};
    if (!asking->server.own.length)
        pair.kept = (struct kept){.value = KEPT_LITERAL, .literal = 1, .left = left};
    enum fail fail = FAIL_NONE;
    /* Of a worker without tokens what it writes itself is what another one would have written. */
    if (asking->server.own.length || asking->server.literals.count)
        fail = operate(&pair, HAPPENS_ACQUIRE, &told, failure);
    pair.kept = (struct kept){.value = KEPT_ABSENT, .left = NO_TICKS};
    if (!fail)
        fail = operate(&pair, HAPPENS_ACQUIRE, &told, failure);
    if (!fail && told.has_ended && told.answer == ANSWER_OK)
        fail = operate(&pair, HAPPENS_RELEASE, &told, failure);
    if (fail)
        return fail;
    asking->ends =
        memory_resize(asking->ends, (size_t)asking->ends_count + 1, sizeof *asking->ends);
    asking->ends[asking->ends_count++] = node;
    return FAIL_NONE;
}

enum fail asking_compare_cut(struct asking *asking, const struct history_edge *edge,
                             const struct remembered_step *told, struct failure *failure)
{
    char text[600];
    struct remembered_step cut, behind;
    const struct history_edge breaks = {
        .from = edge->from, .happening = HAPPENS_CUT, .elapsed = ELAPSED_ANY};
    struct history_edge after = *edge;
    if (history_ask(&asking->worker, &breaks, &cut, failure))
        return failure->code;
    after.from = cut.node;
    if (history_ask(&asking->worker, &after, &behind, failure))
        return failure->code;
    if (!cut.has_notice && cut.timer_us == TIME_NEVER && asking_is_alike(told, &behind))
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "after \"%s\" the worker minds that its idle connection broke: that is not "
                       "decided by asking yet",
                       worker_asker_tell(&asking->worker, edge->from, text, sizeof text));
}
