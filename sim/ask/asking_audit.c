/* asking_audit.c - a share of the answers is asked for again, in fresh processes of other clients.
 * See asking.h.
 *
 * To start a process takes longer than all that it is asked then, and the search keeps one
 * processor busy. So the processes of the next questions are started ahead, and wait for their
 * first one. */
#include "ask/asking.h"

#include "ask/asking_state.h"
#include "base/memory.h"
#include "base/monotonic.h"

#include <stdlib.h>

enum { LEARNED_WALKS = 200 };

/* Of answers that were kept a share was asked again by the run that asked for them. */
enum { KEPT_PERCENT = 1 };

static bool has_time(const struct asking *asking, int64_t until_us)
{
    const volatile int *stop = asking->program->stop;
    return !(stop && *stop) && !(until_us && monotonic_us() >= until_us);
}

/* Are there too few by now, and so many more? */
static bool lacks(const struct asking *asking, int percent, uint64_t more)
{
    return (asking->worker.audited + more) * 100 <
           asking->worker.asked * (unsigned)percent + asking->kept * KEPT_PERCENT;
}

/* Histories that are to be asked for again, each to its end and in a process of its own. */
struct chosen {
    uint32_t *nodes;
    int count;
    uint64_t answers;   /* on the ways to them that were not asked for again yet */
    uint8_t *is_on_way; /* by node */
    uint8_t *has_next;  /* by node: it is no leaf */
};

static struct chosen chosen_new(const struct asking *asking)
{
    const uint32_t all = asking->worker.questions.count;
    struct chosen chosen = {.is_on_way = memory_new((size_t)all + 1, 1),
                            .has_next = memory_new((size_t)all + 1, 1)};
    for (uint32_t node = 1; node <= all; node++)
        chosen.has_next[worker_asker_edge(&asking->worker, node).from] = 1;
    return chosen;
}

static void chosen_free(struct chosen *chosen)
{
    free(chosen->nodes);
    free(chosen->is_on_way);
    free(chosen->has_next);
}

/* Answers on the way to that history that are not asked for again so far; 0: more histories follow.
 */
static int count_unaudited(const struct asking *asking, const struct chosen *chosen, uint32_t node)
{
    int count = 0;
    for (uint32_t at = chosen->has_next[node] ? NODE_ROOT : node; at != NODE_ROOT;
         at = worker_asker_edge(&asking->worker, at).from)
        count += !asking->worker.answers[at - 1].is_audited && !chosen->is_on_way[at];
    return count;
}

static void choose(const struct asking *asking, struct chosen *chosen, uint32_t node)
{
    chosen->answers += (uint64_t)count_unaudited(asking, chosen, node);
    for (uint32_t at = node; at != NODE_ROOT; at = worker_asker_edge(&asking->worker, at).from)
        chosen->is_on_way[at] = 1;
    chosen->nodes = memory_resize(chosen->nodes, (size_t)chosen->count + 1, sizeof *chosen->nodes);
    chosen->nodes[chosen->count++] = node;
}

/* Of some of every part of the tree one more: the stride has no divisor in common with all, so all
 * are come by. Of each few that with the most answers: a process costs more than they do. False:
 * all have been chosen, or asked for again. */
static bool choose_next(struct asking *asking, struct chosen *chosen)
{
    enum { FEW = 256 };
    const uint32_t all = asking->worker.questions.count, stride = all % 97 ? 97 : 89;
    uint32_t *at = &asking->audit.at, best = NODE_ROOT;
    int most = 0, few = 0;
    for (uint32_t tried = 0; tried < all && few < FEW; tried++) {
        *at = (*at + stride) % all;
        const uint32_t node = (uint32_t)((*at + asking->generation) % all) + 1;
        const int answers = count_unaudited(asking, chosen, node);
        few += answers > 0;
        if (answers > most)
            best = node;
        most = answers > most ? answers : most;
    }
    if (most)
        choose(asking, chosen, best);
    return most > 0;
}

static enum fail start_ahead(struct asking *asking, int processes, struct failure *failure)
{
    if (asking->audit.ahead)
        return FAIL_NONE;
    const uint64_t seed = asking->seed + 1000 + asking->audit.sessions++;
    asking->audit.processes = processes;
    return asking_start_session(asking, &asking->audit.ahead, processes, seed, failure);
}

/* Each in a process of its own, that is new: those of other clients than the one that was asked.
 * last: of the session. */
static enum fail ask_nodes(struct asking *asking, struct session *session, int last,
                           const uint32_t *nodes, int count, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < count && !fail; i++) {
        struct seat seat = {.session = session, .client = last - i, .is_new = true};
        if (asking->is_even_handed)
            seat.turn = i % (2 * asking->servers);
        fail = history_ask_again(&asking->worker, &seat, nodes[i], failure);
        seat_close(&seat);
    }
    return fail;
}

static int at_most_a_session(int count)
{
    return count < SESSION_CLIENTS_MAX ? count : SESSION_CLIENTS_MAX;
}

/* Those from *at on that the processes of one session ask for. Those of the next one are started
 * meanwhile. */
static enum fail ask_some(struct asking *asking, const struct chosen *chosen, int *at,
                          struct failure *failure)
{
    if (start_ahead(asking, at_most_a_session(chosen->count - *at), failure))
        return failure->code;
    struct session *session = asking->audit.ahead;
    const int processes = asking->audit.processes, left = chosen->count - *at;
    const int count = left < processes ? left : processes;
    asking->audit.ahead = NULL;
    enum fail fail = session_finish(session, failure);
    if (!fail && left > count)
        fail = start_ahead(asking, at_most_a_session(left - count), failure);
    if (!fail)
        fail = ask_nodes(asking, session, processes - 1, chosen->nodes + *at, count, failure);
    if (!fail)
        fail = asking_check_session(asking, session, failure);
    session_free(session);
    *at += count;
    return fail;
}

/* As many as there are processes that were started. */
static enum fail ask_ahead(struct asking *asking, struct failure *failure)
{
    struct chosen chosen = chosen_new(asking);
    int at = 0;
    while (chosen.count < asking->audit.processes && choose_next(asking, &chosen))
        continue;
    const enum fail fail = chosen.count ? ask_some(asking, &chosen, &at, failure) : FAIL_NONE;
    chosen_free(&chosen);
    return fail;
}

/* About what the processes of a session are asked for again. */
enum { SESSION_ANSWERS = 96 };

void asking_audit_ahead(struct asking *asking, int percent, int64_t until_us)
{
    struct failure *failure = &asking->audit.failure;
    const uint64_t runs = asking->worker.runs;
    if (asking->failure.code || failure->code || !has_time(asking, until_us))
        return;
    enum fail fail = FAIL_NONE;
    if (asking->audit.ahead && lacks(asking, percent, SESSION_ANSWERS))
        fail = ask_ahead(asking, failure);
    else if (lacks(asking, percent, SESSION_ANSWERS / 2))
        fail = start_ahead(asking, SESSION_CLIENTS_MAX, failure);
    asking->worker.runs = runs;
    if (!fail)
        return;
    asking->audit.has_two_answers = asking->worker.has_two_answers;
    asking->worker.has_two_answers = false;
}

/* As many as are lacked. Returns whether there was the time for them. */
static bool ask_rest(struct asking *asking, int percent, int64_t until_us)
{
    struct chosen chosen = chosen_new(asking);
    bool has_asked = true;
    int at = 0;
    while (lacks(asking, percent, chosen.answers) && choose_next(asking, &chosen))
        continue;
    while (at < chosen.count && !asking->failure.code && (has_asked = has_time(asking, until_us)))
        (void)ask_some(asking, &chosen, &at, &asking->failure);
    chosen_free(&chosen);
    return has_asked;
}

/* What was met while the search went on is told behind it. */
static void take_failure(struct asking *asking)
{
    if (asking->failure.code || !asking->audit.failure.code)
        return;
    asking->failure = asking->audit.failure;
    asking->worker.has_two_answers = asking->audit.has_two_answers;
}

bool asking_audit(struct asking *asking, int percent, int64_t until_us)
{
    const uint64_t runs = asking->worker.runs;
    bool has_asked = true;
    asking->worker.runs_max = UINT64_MAX;
    take_failure(asking);
    if (!asking->failure.code)
        (void)asking_walk(asking, LEARNED_WALKS, &asking->failure);
    if (!asking->failure.code)
        (void)asking_walk_ends(asking, &asking->failure);
    if (!asking->failure.code && (has_asked = has_time(asking, until_us)))
        (void)asking_compare_clients(asking, &asking->failure);
    if (!asking->failure.code && has_asked)
        has_asked = ask_rest(asking, percent, until_us);
    for (uint32_t i = 0; i < asking->server.questions.count && !asking->failure.code; i++)
        if (i * (uint32_t)percent / 100 != (i + 1) * (uint32_t)percent / 100)
            (void)server_ask_again(&asking->server, i, &asking->failure);
    (void)asking_find_past(asking);
    asking->worker.runs = runs;
    return has_asked;
}
