/* asking_clients.c - is what one client was asked true of all of them? New processes, one a client:
 * the tokens that they draw in their attempts must all differ, for the search has them differ; and
 * what shows each kind of answer is asked of each of them. See asking_state.h. */
#include "ask/asking_state.h"

#include "base/memory.h"
#include "live/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- tokens --- */

enum fail asking_clear(struct asking *asking, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int s = 0; s < asking->servers && !fail; s++)
        fail = control_do(session_control(asking->peers_session, s), failure, "FLUSHALL");
    return fail;
}

/* One attempt after the other, each where nothing is. */
static enum fail draw(struct asking *asking, struct seat *seat, struct spoken_token *drawn,
                      int attempts, struct failure *failure)
{
    struct session *session = seat->session;
    for (int i = 0; i < attempts; i++) {
        if (asking_clear(asking, failure))
            return failure->code;
        seat->commands = 0;
        seat->own.length = 0;
        if (seat_go_through(&asking->worker, seat, WORKER_ACQUIRE, failure))
            return failure->code;
        drawn[i] = seat->own;
        if (session_answer(session, seat->client)->kind == ANSWER_OK &&
            seat_go_through(&asking->worker, seat, WORKER_RELEASE, failure))
            return failure->code;
    }
    return FAIL_NONE;
}

/* drawn: `attempts` of each client; *repeats: pairs of a client's attempts that have one token. */
static enum fail compare_tokens(const struct spoken_token *drawn, int count, int attempts,
                                int *repeats, struct failure *failure)
{
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++) {
            if (!drawn[a].length || !token_is_same(&drawn[a], &drawn[b]))
                continue;
            if (a / attempts != b / attempts)
                return failure_set(
                    failure, FAIL_UNKNOWN,
                    "two clients draw the same token: attempt %d of %c and attempt %d of %c. "
                    "Either can release the other's lock, and by asking tokens differ; --search "
                    "random runs it",
                    a % attempts + 1, 'A' + a / attempts, b % attempts + 1, 'A' + b / attempts);
            (*repeats)++;
        }
    return FAIL_NONE;
}

enum fail asking_compare_tokens(struct asking *asking, int attempts, struct failure *failure)
{
    if (!asking->worker.token_word)
        return FAIL_NONE;
    const int count = asking->clients * attempts;
    struct spoken_token *drawn = memory_new((size_t)count, sizeof *drawn);
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < asking->clients && !fail; i++)
        fail = draw(asking, &asking->peers[i], drawn + i * attempts, attempts, failure);
    int repeats = 0;
    if (!fail)
        fail = compare_tokens(drawn, count, attempts, &repeats, failure);
    for (int i = 0; i < count && !fail; i++)
        worker_asker_add_drawn(&asking->worker, i / attempts, &drawn[i]);
    free(drawn);
    if (fail || !repeats)
        return fail;
    if (asking->program->promises & 1u << WORKER_PROMISES_TOKEN)
        return failure_set(failure, FAIL_UNKNOWN,
                           "it promises a token for each attempt, and a client has the same one in "
                           "two: the promise is not kept; --search random runs it");
    if (repeats < asking->clients * attempts * (attempts - 1) / 2)
        return failure_set(failure, FAIL_UNKNOWN,
                           "a client has the same token in some of its attempts, and another one "
                           "in others: that is not decided by asking; --search random runs it");
    asking->token = TOKEN_CLIENT;
    return FAIL_NONE;
}

/* --- answers --- */

/* A kind of answer: what a search can tell of a step, without its history and its bytes. */
struct kind {
    uint32_t happening, reply;
    int32_t names[SERVERS_MAX];
    uint8_t has_ended, answer, has_notice, is_asked;
    uint8_t elapsed; /* where that counts: within a lease, or not */
};

static struct kind kind_of(const struct asking *asking, uint32_t node)
{
    const struct history_edge edge = worker_asker_edge(&asking->worker, node);
    const struct remembered_step *step = &asking->worker.answers[node - 1];
    struct kind kind;
    memset(&kind, 0, sizeof kind);
    kind.happening = edge.happening;
    kind.reply = edge.reply;
    for (int s = 0; s < SERVERS_MAX; s++)
        kind.names[s] = step->sent[s].command ? step->sent[s].name + 1 : 0;
    kind.has_ended = step->has_ended;
    kind.answer = step->answer;
    kind.has_notice = step->has_notice;
    kind.is_asked = step->is_asked;
    if (edge.elapsed != ELAPSED_ANY)
        kind.elapsed = edge.elapsed < asking->lease_ticks * ELAPSED_EACH ? 1 : 2;
    return kind;
}

/* Is there a kind on the way to that history that was not there before? They are there now. */
static bool has_new_kind(struct asking *asking, uint32_t node)
{
    const uint32_t before = asking->kinds.count;
    for (; node != NODE_ROOT; node = worker_asker_edge(&asking->worker, node).from) {
        const struct kind kind = kind_of(asking, node);
        (void)intern_put(&asking->kinds, &kind, sizeof kind);
    }
    return asking->kinds.count > before;
}

enum fail asking_compare_clients(struct asking *asking, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    /* The last ones first: they have the others on their way. */
    for (uint32_t node = asking->worker.questions.count; node > NODE_ROOT && !fail; node--) {
        if (!has_new_kind(asking, node))
            continue;
        for (int i = 1; i < asking->clients && !fail; i++) {
            fail = seat_reset(&asking->worker, &asking->peers[i], failure);
            if (!fail)
                fail = history_compare(&asking->worker, &asking->peers[i], node, failure);
        }
    }
    return fail;
}

/* --- long ago --- */

/* Is that elapsed time the longest that a search tells apart? */
static bool is_long_ago(const struct asking *asking, uint32_t node)
{
    const struct history_edge edge = worker_asker_edge(&asking->worker, node);
    return edge.happening != HAPPENS_TIMER &&
           edge.elapsed >= (asking->lease_ticks + PAST_TICKS) * ELAPSED_EACH;
}

static enum fail compare_longer(struct asking *asking, uint32_t node, struct failure *failure)
{
    static const int leases[] = {3, 6, 12};
    struct history_edge edge = worker_asker_edge(&asking->worker, node);
    for (size_t i = 0; i < sizeof leases / sizeof *leases; i++) {
        struct remembered_step told;
        char text[600], happened[200], did[600], else_did[600];
        edge.elapsed = leases[i] * asking->lease_ticks * ELAPSED_EACH;
        if (history_ask(&asking->worker, &edge, &told, failure))
            return failure->code;
        if (remembered_is_same(&told, &asking->worker.answers[node - 1]))
            continue;
        worker_asker_tell_step(&asking->worker, node, happened, sizeof happened, did, sizeof did);
        worker_asker_tell_step(&asking->worker, told.node, happened, sizeof happened, else_did,
                               sizeof else_did);
        (void)snprintf(asking->late.doubt, sizeof asking->late.doubt,
                       "in a search no more than a lease and %d ticks pass, and the worker minds "
                       "more: after \"%s\", when %s, it %s, and %d leases later it %s; --search "
                       "random runs it",
                       PAST_TICKS, worker_asker_tell(&asking->worker, edge.from, text, sizeof text),
                       happened, did, leases[i], else_did);
        return FAIL_NONE;
    }
    return FAIL_NONE;
}

void asking_note_long_ago(struct asking *asking, uint32_t node)
{
    struct late *late = &asking->late;
    if (!is_long_ago(asking, node))
        return;
    const uint32_t before = late->kinds.count;
    const struct kind kind = kind_of(asking, node);
    (void)intern_put(&late->kinds, &kind, sizeof kind);
    if (late->kinds.count == before)
        return;
    late->nodes = memory_resize(late->nodes, (size_t)before + 1, sizeof *late->nodes);
    late->nodes[before] = node;
}

void asking_forget_long_ago(struct asking *asking)
{
    intern_close(&asking->late.kinds);
    free(asking->late.nodes);
    asking->late = (struct late){0};
    intern_init(&asking->late.kinds);
}

const char *asking_late_doubt(struct asking *asking)
{
    struct late *late = &asking->late;
    const uint64_t runs = asking->worker.runs;
    enum fail fail = asking->failure.code;
    for (uint32_t i = 0; i < late->kinds.count && !fail && !late->doubt[0]; i++)
        fail = compare_longer(asking, late->nodes[i], &asking->failure);
    asking->worker.runs = runs;
    return late->doubt[0] ? late->doubt : NULL;
}
