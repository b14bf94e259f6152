/* heard_tokens.c - another's token, as a worker is told of it. Within an attempt it is one. In the
 * next attempt it is another one, or (WHOSE_SAME) that of before: who has it may have it still.
 *
 * A lock may read what stands in a token (whose it is, as JSON), so each is one that a worker has
 * drawn: another client, or for one of its own (WHOSE_EARLIER) itself, in its attempt or try
 * before, or once. */
#include "ask/worker_asker.h"

#include "live/control.h"

/* --- drawn --- */

enum fail seat_go_through(const struct worker_asker *asker, struct seat *seat, enum worker_op op,
                          struct failure *failure)
{
    enum { TRIES = 200 };
    struct session *session = seat->session;
    enum fail fail = seat_ask(seat, op, failure);
    for (int i = 0; i < TRIES && !fail && session_is_asked(session, seat->client); i++) {
        struct wire_message *message = seat_waits_for(seat, ANY_SERVER);
        const int64_t next_us = session_next_us(session, seat->client);
        if (message) {
            seat_note_token(asker, seat, message);
            fail = session_execute(session, message, failure);
            if (!fail)
                fail = session_deliver(session, message, failure);
        } else if (next_us != TIME_NEVER) {
            fail = session_set_now(session, next_us, failure);
        } else {
            break;
        }
    }
    return fail ? fail : seat_run_out(seat, failure);
}

/* One that is there already, or is none of the known shape, is left out. */
static void add(const struct worker_asker *asker, struct token_pool *pool,
                const struct spoken_token *token)
{
    bool is_new = token->length && token->length == asker->sample.length;
    for (int i = 0; i < pool->count; i++)
        is_new &= !token_is_same(&pool->tokens[i], token);
    if (is_new && pool->count < POOL_MAX)
        pool->tokens[pool->count++] = *token;
}

/* One attempt after the other, each where nothing is. */
static enum fail draw(struct worker_asker *asker, struct seat *seat, struct failure *failure)
{
    struct session *session = seat->session;
    if (seat_reset(asker, seat, failure))
        return failure->code;
    for (int i = 0; i < POOL_MAX; i++) {
        for (int s = 0; s < asker->servers; s++)
            if (control_do(session_control(session, s), failure, "FLUSHALL"))
                return failure->code;
        seat_begin_attempt(seat);
        if (seat_go_through(asker, seat, WORKER_ACQUIRE, failure))
            return failure->code;
        add(asker, &asker->pools[seat->client], &seat->own);
        if (session_answer(session, seat->client)->kind == ANSWER_OK &&
            seat_go_through(asker, seat, WORKER_RELEASE, failure))
            return failure->code;
    }
    return FAIL_NONE;
}

enum fail worker_asker_draw(struct worker_asker *asker, struct seat *second,
                            struct failure *failure)
{
    if (!asker->token_word)
        return FAIL_NONE;
    const uint64_t runs = asker->runs; /* of questions */
    enum fail fail = draw(asker, second, failure);
    if (!fail)
        fail = draw(asker, &asker->seat, failure);
    asker->runs = runs;
    return fail;
}

void worker_asker_add_drawn(struct worker_asker *asker, int client,
                            const struct spoken_token *token)
{
    if (client >= FIRST_CLIENTS)
        add(asker, &asker->pools[client], token);
}

/* --- told of --- */

void seat_begin_attempt(struct seat *seat)
{
    seat->commands = 0;
    seat->waited_us = 0;
    if (seat->own.length)
        seat->earlier = seat->own;
    seat->own.length = 0;
    seat->token_phrase = 0;
    if (seat->other.length && !seat->is_other_own)
        seat->before = seat->other;
    seat->other.length = 0;
}

/* Of all clients but that one, the first few. Returns how many. */
static int others_of(const struct worker_asker *asker, int client,
                     const struct spoken_token *others[POOL_MAX])
{
    int count = 0;
    for (int i = 0; i < SESSION_CLIENTS_MAX; i++)
        for (int k = 0; i != client && k < asker->pools[i].count && count < POOL_MAX; k++)
            others[count++] = &asker->pools[i].tokens[k];
    return count;
}

/* The next one, and not its own; nor that of before, where there is another one. */
static struct spoken_token another(const struct worker_asker *asker, struct seat *seat)
{
    const struct spoken_token *others[POOL_MAX], *found = NULL;
    const int count = others_of(asker, seat->client, others);
    for (int i = 0; i < count && (!found || token_is_same(found, &seat->before)); i++) {
        const struct spoken_token *token = others[seat->others++ % count];
        if (!token_is_same(token, &seat->own))
            found = token;
    }
    return found ? *found : token_unlike(seat->own.length ? &seat->own : &asker->sample);
}

static struct spoken_token earlier(const struct worker_asker *asker, struct seat *seat)
{
    const struct token_pool *pool = &asker->pools[seat->client];
    if (seat->earlier.length)
        return seat->earlier;
    for (int i = 0; i < pool->count; i++)
        if (!token_is_same(&pool->tokens[i], &seat->own))
            return pool->tokens[i];
    return another(asker, seat);
}

static struct spoken_token told_of(const struct worker_asker *asker, struct seat *seat,
                                   unsigned whose)
{
    if (whose == WHOSE_EARLIER)
        return earlier(asker, seat);
    return whose == WHOSE_SAME && seat->before.length ? seat->before : another(asker, seat);
}

const struct spoken_token *seat_token(const struct worker_asker *asker, struct seat *seat,
                                      unsigned whose)
{
    if (whose == WHOSE_NONE || whose == WHOSE_OWN)
        return &seat->own;
    if (!seat->other.length) {
        seat->other = told_of(asker, seat, whose);
        seat->is_other_own = whose == WHOSE_EARLIER;
    }
    return &seat->other;
}

bool worker_asker_has_heard(const struct worker_asker *asker, uint32_t node, bool before)
{
    while (node != NODE_ROOT) {
        const struct history_edge edge = worker_asker_edge(asker, node);
        if (!before && (edge.whose == WHOSE_OTHER || edge.whose == WHOSE_SAME))
            return true;
        before &= edge.happening != HAPPENS_ACQUIRE;
        node = edge.from;
    }
    return false;
}
