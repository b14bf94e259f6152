/* test_checks_answers_long.c - the black-box engine on long histories of a lock that is right: one
 * was executed, so an order exists, and nothing may contradict it. Many operations have no answer,
 * and their clients go on, which small histories (selftest.h) have no room for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "checks/answers.h"
#include "test/sample.h"

#include <stdio.h>
#include <string.h>

enum { CLIENTS_DRAWN = 24, CLIENTS_MOST = 600, STEPS = 400 };

/* The lock, and what is under way at it. */
struct sighting {
    struct random random;
    struct answers_engine *engine;
    int64_t lease_us, now_us, index;
    int clients;
    int owner, owner_attempt; /* -1: free */
    int64_t ends_us;          /* not before that it may end by itself */
    struct sighted {
        enum { IDLE, CALLED, DONE } at;
        enum operation op;
        enum result result;
        int attempt;
        bool holds;
    } seen[CLIENTS_MOST];
    struct belated { /* what has no answer and may have its effect yet */
        int client, attempt;
        enum operation op;
        bool is_there;
    } later[8];
    int contradictions;
};

static bool takes_effect(struct sighting *it, int client, int attempt, enum operation op)
{
    bool is_own = it->owner == client && it->owner_attempt == attempt;
    if (op == OP_ACQUIRE && it->owner >= 0)
        return false;
    if (op != OP_ACQUIRE && !is_own)
        return false;
    it->owner = op == OP_RELEASE ? -1 : client;
    it->owner_attempt = attempt;
    it->ends_us = it->now_us + it->lease_us;
    return true;
}

static void tell(struct sighting *it, enum event_kind kind, int client, enum result result)
{
    const struct sighted *seen = &it->seen[client];
    const struct event event = {.index = it->index++,
                                .time_us = it->now_us,
                                .kind = kind,
                                .client = client,
                                .server = -1,
                                .attempt = seen->attempt,
                                .op = seen->op,
                                .result = result};
    it->contradictions += answers_event(it->engine, &event) == ANSWERS_CONTRADICT;
}

static void call(struct sighting *it, int client)
{
    struct sighted *seen = &it->seen[client];
    seen->op = OP_ACQUIRE;
    if (seen->holds && random_below(&it->random, 8) > 0)
        seen->op = random_below(&it->random, 3) > 0 ? OP_RELEASE : OP_EXTEND;
    if (seen->op == OP_ACQUIRE)
        seen->attempt++;
    seen->holds &= seen->op == OP_EXTEND;
    seen->at = CALLED;
    tell(it, EVENT_CALL, client, RESULT_NONE);
}

static enum result answer_to(enum operation op, bool had_effect)
{
    if (op == OP_ACQUIRE)
        return had_effect ? RESULT_GRANTED : RESULT_REFUSED;
    if (op == OP_RELEASE)
        return had_effect ? RESULT_RELEASED : RESULT_NOT_MINE;
    return had_effect ? RESULT_DONE : RESULT_NOT_MINE;
}

/* Its effect, or no answer: the effect was, comes later, or never. */
static void go_on(struct sighting *it, int client, int lost_in_16)
{
    struct sighted *seen = &it->seen[client];
    if (seen->at == CALLED && random_below(&it->random, 16) < (unsigned)lost_in_16) {
        struct belated *later = &it->later[random_below(&it->random, 8)];
        *later = (struct belated){client, seen->attempt, seen->op, true};
        tell(it, EVENT_RETURN, client, RESULT_FAILED);
        seen->holds = seen->op != OP_RELEASE && seen->holds;
        seen->at = IDLE;
    } else if (seen->at == CALLED) {
        seen->result = answer_to(seen->op, takes_effect(it, client, seen->attempt, seen->op));
        seen->at = DONE;
    } else {
        seen->holds = seen->result == RESULT_GRANTED || seen->result == RESULT_DONE;
        seen->at = IDLE;
        tell(it, EVENT_RETURN, client, seen->result);
    }
}

static void step(struct sighting *it, int lost_in_16)
{
    int client = (int)random_below(&it->random, (uint64_t)it->clients);
    struct belated *later = &it->later[random_below(&it->random, 8)];
    it->now_us += (int64_t)random_below(&it->random, 3);
    if (it->owner >= 0 && it->lease_us && it->now_us >= it->ends_us &&
        random_below(&it->random, 2) > 0)
        it->owner = -1;
    if (later->is_there && random_below(&it->random, 4) == 0) {
        later->is_there = false;
        (void)takes_effect(it, later->client, later->attempt, later->op);
    }
    if (it->seen[client].at == IDLE)
        call(it, client);
    else
        go_on(it, client, lost_in_16);
}

static int contradictions_of(uint64_t seed, bool *is_lenient)
{
    static const int64_t leases[] = {0, 5, 12, 40, 150};
    struct sighting it = {.random.seed = seed, .owner = -1};
    it.lease_us = leases[seed % 5];
    it.clients = 2 + (int)random_below(&it.random, CLIENTS_DRAWN - 1);
    it.engine = answers_new((struct answers_rules){.lease_us = it.lease_us}, it.clients, 1);
    const int lost_in_16 = (int)random_below(&it.random, 6);
    for (int i = 0; i < STEPS; i++)
        step(&it, lost_in_16);
    *is_lenient = answers_are_lenient(it.engine);
    answers_free(it.engine);
    return it.contradictions;
}

static void a_lock_that_is_right_is_never_contradicted(void **state)
{
    const uint64_t histories = (uint64_t)(600 / sample_every());
    uint64_t lenient = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= histories; seed++) {
        bool is_lenient;
        if (contradictions_of(seed, &is_lenient))
            fail_msg("seed %d: the engine contradicts what was executed", (int)seed);
        lenient += is_lenient;
    }
    assert_true(lenient < histories); /* some are weighed in full */
}

/* Whoever asked before the lock was given back was refused by its owner: that costs nothing, and
 * the engine does not ask which of the others may have had it, which are more than it has room for.
 */
static void one_owner_refuses_all_who_asked(void **state)
{
    struct sighting it = {.lease_us = 10, .clients = CLIENTS_MOST, .owner = -1};
    (void)state;
    it.engine = answers_new((struct answers_rules){.lease_us = it.lease_us}, it.clients, 1);
    for (int client = 0; client < CLIENTS_MOST; client++) {
        it.seen[client] = (struct sighted){.op = OP_ACQUIRE, .attempt = 1};
        tell(&it, EVENT_CALL, client, RESULT_NONE);
    }
    it.now_us = 1;
    tell(&it, EVENT_RETURN, 0, RESULT_GRANTED);
    it.seen[0].op = OP_RELEASE;
    tell(&it, EVENT_CALL, 0, RESULT_NONE);
    it.now_us = 2;
    tell(&it, EVENT_RETURN, 0, RESULT_RELEASED);
    for (int client = 1; client < CLIENTS_MOST; client++) {
        it.now_us = 100 * client;
        tell(&it, EVENT_RETURN, client, RESULT_REFUSED);
    }
    assert_int_equal(it.contradictions, 0);
    assert_false(answers_are_lenient(it.engine));
    answers_free(it.engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lock_that_is_right_is_never_contradicted),
                                       cmocka_unit_test(one_owner_refuses_all_who_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
