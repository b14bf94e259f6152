/* asking_audit.c - a share of the answers is asked for again, in fresh processes of other clients.
 * See asking.h.
 *
 * To start a process takes longer than all that it is asked then, and the search keeps one
 * processor busy. So the processes of the next questions are started ahead, and wait for their
 * first one. */
#include "ask/asking.h"

#include "ask/asking_state.h"
#include "base/monotonic.h"

bool asking_is_leaf(const struct asking *asking, uint32_t node)
{
    for (uint32_t i = node + 1; i <= asking->worker.questions.count; i++)
        if (worker_asker_edge(&asking->worker, i).from == node)
            return false;
    return true;
}

enum { LEARNED_WALKS = 200 };

/* Of answers that were kept a share was asked again by the run that asked for them. */
enum { KEPT_PERCENT = 1 };

static bool has_time(const struct asking *asking, int64_t until_us)
{
    const volatile int *stop = asking->program->stop;
    return !(stop && *stop) && !(until_us && monotonic_us() >= until_us);
}

/* Answers on the way to that history that were not asked again yet; 0: more histories follow. */
static int count_unaudited(const struct asking *asking, uint32_t node)
{
    int count = 0;
    for (uint32_t at = asking_is_leaf(asking, node) ? node : NODE_ROOT; at != NODE_ROOT;
         at = worker_asker_edge(&asking->worker, at).from)
        count += !asking->worker.answers[at - 1].is_audited;
    return count;
}

/* Some of every part of the tree: the stride has no divisor in common with all, so all are come by.
 * Of each few that with the most answers: a process costs more than they do. Returns how many. */
static int choose_audited(struct asking *asking, uint32_t *nodes)
{
    enum { FEW = 64 };
    const uint32_t all = asking->worker.questions.count, stride = all % 97 ? 97 : 89;
    uint32_t *at = &asking->audit.at;
    int count = 0;
    for (uint32_t tried = 0; tried < all && count < SESSION_CLIENTS_MAX;) {
        int most = 0;
        for (int i = 0; i < FEW && tried < all; tried++) {
            *at = (*at + stride) % all;
            const uint32_t node = (uint32_t)((*at + asking->generation) % all) + 1;
            const int answers = count_unaudited(asking, node);
            i += answers > 0;
            if (answers > most)
                nodes[count] = node;
            most = answers > most ? answers : most;
        }
        count += most > 0;
    }
    return count;
}

/* Are there too few by now, and so many more? */
static bool lacks(const struct asking *asking, int percent, uint64_t more)
{
    return (asking->worker.audited + more) * 100 <
           asking->worker.asked * (unsigned)percent + asking->kept * KEPT_PERCENT;
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

/* As many as there are processes in a session; *has_more: there were any. Those of the next ones
 * are started meanwhile, where these are too few. */
static enum fail audit_some(struct asking *asking, int percent, bool *has_more,
                            struct failure *failure)
{
    uint32_t nodes[SESSION_CLIENTS_MAX];
    uint64_t answers = 0;
    const int count = choose_audited(asking, nodes);
    *has_more = count > 0;
    for (int i = 0; i < count; i++)
        answers += (uint64_t)count_unaudited(asking, nodes[i]);
    if (!count)
        return FAIL_NONE;
    if (start_ahead(asking, count, failure))
        return failure->code;
    struct session *session = asking->audit.ahead;
    const int last = asking->audit.processes - 1;
    asking->audit.ahead = NULL;
    enum fail fail = session_finish(session, failure);
    if (!fail && lacks(asking, percent, answers))
        fail = start_ahead(asking, SESSION_CLIENTS_MAX, failure);
    if (!fail)
        fail = ask_nodes(asking, session, last, nodes, count, failure);
    session_free(session);
    return fail;
}

/* About what the processes of a session are asked for again. */
enum { SESSION_ANSWERS = 96 };

void asking_audit_ahead(struct asking *asking, int percent, int64_t until_us)
{
    struct failure *failure = &asking->audit.failure;
    const uint64_t runs = asking->worker.runs;
    bool has_more;
    if (asking->failure.code || failure->code || !has_time(asking, until_us))
        return;
    enum fail fail = FAIL_NONE;
    if (asking->audit.ahead && lacks(asking, percent, SESSION_ANSWERS))
        fail = audit_some(asking, percent, &has_more, failure);
    else if (lacks(asking, percent, SESSION_ANSWERS / 2))
        fail = start_ahead(asking, SESSION_CLIENTS_MAX, failure);
    asking->worker.runs = runs;
    if (!fail)
        return;
    asking->audit.has_two_answers = asking->worker.has_two_answers;
    asking->worker.has_two_answers = false;
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
    bool has_asked = true, has_more = true;
    asking->worker.runs_max = UINT64_MAX;
    take_failure(asking);
    if (!asking->failure.code)
        (void)asking_walk(asking, LEARNED_WALKS, &asking->failure);
    if (!asking->failure.code)
        (void)asking_walk_ends(asking, &asking->failure);
    if (!asking->failure.code && (has_asked = has_time(asking, until_us)))
        (void)asking_compare_clients(asking, &asking->failure);
    if (!asking->failure.code && has_asked)
        (void)asking_compare_long_ago(asking, &asking->failure);
    while (has_asked && has_more && !asking->failure.code && lacks(asking, percent, 0) &&
           (has_asked = has_time(asking, until_us)))
        (void)audit_some(asking, percent, &has_more, &asking->failure);
    for (uint32_t i = 0; i < asking->server.questions.count && !asking->failure.code; i++)
        if (i * (uint32_t)percent / 100 != (i + 1) * (uint32_t)percent / 100)
            (void)server_ask_again(&asking->server, i, &asking->failure);
    asking->worker.runs = runs;
    return has_asked;
}
