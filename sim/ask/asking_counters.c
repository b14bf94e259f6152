/* asking_counters.c - does each attempt that is refused change a key for good? A counter that it
 * raises (of attempts, of fences drawn before the lock is had) has no last value, so the search
 * would have no end: told at once, with the key's name. See asking_state.h. */
#include "ask/asking_state.h"

#include "base/memory.h"
#include "live/control.h"

#include <stdlib.h>
#include <string.h>

/* So many attempts, one after the other; of so many keys beside the lock's. */
enum { ATTEMPTS = 3, KEYS_MAX = 8 };

struct kept_key {
    char *name;
    redisReply *values[ATTEMPTS]; /* as DUMP tells them; NULL: it was not there then */
};

static void close_keys(struct kept_key *keys)
{
    for (int i = 0; i < KEYS_MAX; i++) {
        free(keys[i].name);
        for (int k = 0; k < ATTEMPTS; k++)
            freeReplyObject(keys[i].values[k]);
    }
}

/* NULL: there is no room for one more. */
static struct kept_key *key_named(struct kept_key *keys, const char *name)
{
    for (int i = 0; i < KEYS_MAX; i++) {
        if (!keys[i].name)
            keys[i].name = memory_text(name);
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    }
    return NULL;
}

/* What is there of a key without an expiry; one that ends by itself comes to an end. */
static enum fail note_key(redisContext *control, const char *name, int attempt,
                          struct kept_key *keys, struct failure *failure)
{
    const int64_t left_ms = control_integer(control, failure, "PTTL %s", name);
    if (left_ms == INT64_MIN)
        return failure->code;
    struct kept_key *key = left_ms == -1 ? key_named(keys, name) : NULL;
    if (!key)
        return FAIL_NONE;
    key->values[attempt] = control_ask(control, failure, "DUMP %s", name);
    return key->values[attempt] ? FAIL_NONE : failure->code;
}

static enum fail note_keys(const struct asking *asking, redisContext *control, int attempt,
                           struct kept_key *keys, struct failure *failure)
{
    redisReply *all = control_ask(control, failure, "KEYS *");
    enum fail fail = all ? FAIL_NONE : failure->code;
    for (size_t i = 0; !fail && i < all->elements; i++)
        if (strcmp(all->element[i]->str, asking->server.key) != 0)
            fail = note_key(control, all->element[i]->str, attempt, keys, failure);
    freeReplyObject(all);
    return fail;
}

static bool is_same(const redisReply *a, const redisReply *b)
{
    return a && b && a->len == b->len && memcmp(a->str, b->str, a->len) == 0;
}

/* Another value behind each of them. */
static bool counts(const struct kept_key *key)
{
    for (int a = 0; a < ATTEMPTS; a++)
        for (int b = a + 1; b < ATTEMPTS; b++)
            if (!key->values[a] || is_same(key->values[a], key->values[b]))
                return false;
    return key->values[ATTEMPTS - 1] != NULL;
}

static enum fail refuse_counters(const struct kept_key *keys, struct failure *failure)
{
    for (int i = 0; i < KEYS_MAX && keys[i].name; i++)
        if (counts(&keys[i]))
            return failure_set(
                failure, FAIL_UNKNOWN,
                "each attempt that is refused changes the key '%.60s', which does not expire, so "
                "that its states have no end: leave it out of the worker, or count where the lock "
                "is held; --search random runs it as it is",
                keys[i].name);
    return FAIL_NONE;
}

/* A has the lock, and B is refused, again and again. */
static enum fail refuse_again(struct asking *asking, struct kept_key *keys, struct failure *failure)
{
    redisContext *control = session_control(asking->peers_session, SERVER_ONE);
    if (asking_clear(asking, failure) ||
        seat_go_through(&asking->worker, &asking->peers[0], WORKER_ACQUIRE, failure))
        return failure->code;
    const bool has_it = session_answer(asking->peers_session, 0)->kind == ANSWER_OK;
    for (int i = 0; i < ATTEMPTS && has_it; i++)
        if (seat_go_through(&asking->worker, &asking->peers[1], WORKER_ACQUIRE, failure) ||
            note_keys(asking, control, i, keys, failure))
            return failure->code;
    if (has_it && seat_go_through(&asking->worker, &asking->peers[0], WORKER_RELEASE, failure))
        return failure->code;
    return asking_clear(asking, failure);
}

enum fail asking_find_counters(struct asking *asking, struct failure *failure)
{
    struct kept_key *keys = memory_new(KEYS_MAX, sizeof *keys);
    enum fail fail = FAIL_NONE;
    if (asking->clients > 1)
        fail = refuse_again(asking, keys, failure);
    if (!fail)
        fail = refuse_counters(keys, failure);
    close_keys(keys);
    free(keys);
    return fail;
}
