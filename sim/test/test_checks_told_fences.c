/* test_checks_told_fences.c - fencing tokens by calls and returns alone: what their order proves;
 * and which are told twice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "checks/told_fences.h"
#include "test/foreign_story.h"

static void is_told_fence(struct story *story, int client, double from, double until, int64_t fence)
{
    at(story, from);
    calls(story, client, OP_ACQUIRE);
    at(story, until);
    returns_fence(story, client, fence);
    at(story, until + 1);
    calls(story, client, OP_RELEASE);
    returns(story, client, OP_RELEASE, RESULT_RELEASED);
}

/* A asks again for what it may have, and is told the same token: of a lock that it has entered
 * again, which no answer tells from one that was granted anew. Who surely gave it back is told
 * another. */
static void one_token_is_told_twice_to_who_may_have_the_lock_yet(void **state)
{
    static const struct {
        enum result granted, released; /* the first round; NONE: no such thing */
        bool is_bad;
    } tried[] = {
        {RESULT_GRANTED, RESULT_NONE, false},    {RESULT_GRANTED, RESULT_FAILED, false},
        {RESULT_GRANTED, RESULT_RELEASED, true}, {RESULT_FAILED, RESULT_NONE, false},
        {RESULT_REFUSED, RESULT_NONE, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = story_new(&minting, 1, 300);
        calls(story, A, OP_ACQUIRE);
        if (tried[i].granted == RESULT_GRANTED)
            returns_fence(story, A, 7);
        else
            returns(story, A, OP_ACQUIRE, tried[i].granted);
        if (tried[i].released) {
            calls(story, A, OP_RELEASE);
            returns(story, A, OP_RELEASE, tried[i].released);
        }
        if (tried[i].granted != RESULT_GRANTED) /* the token is told, to one that gives it back */
            is_told_fence(story, A, 1, 2, 7);
        at(story, 10);
        calls(story, A, OP_ACQUIRE);
        returns_fence(story, A, 7);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_FENCE_ORDER].count, tried[i].is_bad);
        story_free(story);
    }
}

/* Told within their leases they grew in that order; what is told later grew behind what was told
 * before its call, and before what is called behind it; without a fence, or of another lock, it
 * says nothing. */
static void fences_that_were_told_must_grow(void **state)
{
    static const struct {
        int64_t second, third;
        bool is_late, is_apart, is_bad;
    } tried[] = {
        {8, 9, false, false, false}, {8, 8, false, false, true},  {8, 7, false, false, true},
        {0, 7, false, false, true},  {0, 8, false, false, false}, {9, 8, true, false, true},
        {6, 5, false, true, false},  {8, 9, true, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = story_new(&minting, 1, 300);
        is_told_fence(story, A, 0, 1, tried[i].is_apart ? 9 : 7);
        is_told_fence(story, B, 10, tried[i].is_late ? 311 : 11,
                      tried[i].second + tried[i].is_apart);
        story->lock = tried[i].is_apart;
        is_told_fence(story, C, 400, 401, tried[i].third);
        ends(story);
        const struct finding *found = &story->findings[PROPERTY_FENCE_ORDER];
        if (tried[i].is_apart) { /* B's 7 behind A's 9, and nothing of C's 5 */
            assert_int_equal(found->count, 1);
            assert_says(found, "B was granted it later, with 7,");
        } else {
            assert_int_equal(found->count, tried[i].is_bad);
        }
        if (tried[i].is_bad) {
            assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_FENCE_DISORDER);
            assert_says(found, tried[i].second == 9 ? "B was granted the lock with fencing token 9"
                               : tried[i].second    ? "B was granted the lock with fencing token 8"
                                                 : "A was granted the lock with fencing token 7");
        }
        story_free(story);
    }
}

/* A server that forgot its keys counts anew. */
static void fences_go_back_where_a_server_forgot(void **state)
{
    (void)state;
    struct story *story = story_new(&minting, 1, 300);
    is_told_fence(story, A, 0, 1, 7);
    happens(story, (struct event){
                       .kind = EVENT_FAULT, .client = -1, .server = 0, .fault = FAULT_FLUSH_ALL});
    is_told_fence(story, B, 400, 401, 1);
    ends(story);
    assert_int_equal(story->findings[PROPERTY_FENCE_ORDER].count, 0);
    assert_verdict(story, PROPERTY_FENCE_ORDER, VERDICT_UNKNOWN);
    story_free(story);
}

/* A and B are told late, so that neither lease says who came first: only a call behind a return
 * does. The same token is nobody's twice. */
static void fences_of_late_grants_grow_where_their_order_is_known(void **state)
{
    static const struct {
        double called; /* B; A is told at 400 */
        int64_t first, second;
        bool is_bad;
    } tried[] = {
        {10, 8, 7, false}, {10, 7, 8, false},  {10, 7, 7, true},
        {401, 8, 7, true}, {401, 7, 8, false}, {401, 7, 7, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = story_new(&minting, 1, 300);
        calls(story, A, OP_ACQUIRE);
        at(story, tried[i].called < 400 ? tried[i].called : 400);
        if (tried[i].called < 400)
            calls(story, B, OP_ACQUIRE);
        at(story, 400);
        returns_fence(story, A, tried[i].first);
        if (tried[i].called > 400)
            calls(story, B, OP_ACQUIRE);
        at(story, 800);
        returns_fence(story, B, tried[i].second);
        ends(story);
        if (tried[i].is_bad)
            assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_FENCE_DISORDER);
        else
            assert_int_equal(story->findings[PROPERTY_FENCE_ORDER].count, 0);
        story_free(story);
    }
}

/* A grant, and when it was called and told: numbers of lines. */
struct drawn_grant {
    int called, told;
    bool is_within;
    int64_t fence;
};

static bool is_disorder(const struct drawn_grant *one, const struct drawn_grant *later)
{
    const bool is_in_order = one->told < later->called || (one->is_within && later->is_within);
    return one->fence == later->fence || (is_in_order && one->fence > later->fence);
}

/* Four clients ask, and are told numbers that mostly grow. Pair by pair, by the definition. */
static void what_is_said_of_random_fences_is_what_their_pairs_say(void **state)
{
    enum { HISTORIES = 2000, LINES = 24, CLIENTS = 4 };
    int found = 0;
    (void)state;
    for (int number = 0; number < HISTORIES; number++) {
        struct random random = {.seed = 1, .stream = (uint64_t)number};
        struct told_fences *fences = told_fences_new(CLIENTS, 1);
        struct drawn_grant grants[LINES];
        int count = 0, called[CLIENTS] = {-1, -1, -1, -1};
        for (int line = 0; line < LINES; line++) {
            struct event event = {.client = (int)random_below(&random, CLIENTS), .time_us = line};
            int *since = &called[event.client];
            if (*since < 0) {
                *since = line;
                told_fences_called(fences, &event);
                continue;
            }
            event.fence = line + (int64_t)random_below(&random, 8);
            grants[count] = (struct drawn_grant){.called = *since,
                                                 .told = line,
                                                 .is_within = random_below(&random, 2),
                                                 .fence = event.fence};
            bool is_bad = false;
            for (int i = 0; i < count; i++)
                is_bad |= is_disorder(&grants[i], &grants[count]);
            *since = -1;
            found += is_bad;
            assert_int_equal(
                told_fences_granted(fences, &event, grants[count].is_within, "A", false) != NULL,
                is_bad);
            count++;
            if (is_bad)
                break; /* what follows from it is not told twice */
        }
        told_fences_free(fences);
    }
    assert_true(found > HISTORIES / 10 && found < HISTORIES);
}

/* A asks again, and is told the token that it was told before. Its server says whether it has
 * entered its lock again, or was granted it anew. */
static void one_token_is_of_one_grant(void **state)
{
    static const struct {
        bool releases, is_over; /* between */
        enum did did;           /* of the second acquire */
        bool is_bad;
    } tried[] = {
        {false, false, DID_LENGTHENED, false}, {false, false, DID_OVERWRITTEN, false},
        {false, true, DID_CREATED, true},      {true, false, DID_CREATED, true},
        {true, false, DID_LENGTHENED, false}, /* it took one off the count */
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = foreign(ALL_PROMISES | PROMISE_FENCE, 1);
        for (int turn = 0; turn < 2; turn++) {
            struct key_effect effect = created(A);
            if (turn && tried[i].did == DID_LENGTHENED)
                effect = expiry(DID_LENGTHENED, LEASE_MS);
            else if (turn && tried[i].did == DID_OVERWRITTEN)
                effect.did = DID_OVERWRITTEN, effect.before = BEFORE_PRESENT;
            calls(story, A, OP_ACQUIRE);
            runs(story, A, OP_ACQUIRE, effect);
            happens(story, (struct event){.kind = EVENT_RETURN,
                                          .client = A,
                                          .op = OP_ACQUIRE,
                                          .result = RESULT_GRANTED,
                                          .fence = 7});
            if (turn == 0 && tried[i].releases) {
                calls(story, A, OP_RELEASE);
                runs(story, A, OP_RELEASE,
                     tried[i].is_bad ? deleted(A) : expiry(DID_LENGTHENED, LEASE_MS));
                returns(story, A, OP_RELEASE, RESULT_RELEASED);
            }
            if (turn == 0)
                at(story, tried[i].is_over ? 2 * LEASE_MS : 10);
        }
        ends(story);
        assert_int_equal(story->findings[PROPERTY_FENCE_ORDER].count, tried[i].is_bad);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_that_were_told_must_grow),
        cmocka_unit_test(one_token_is_of_one_grant),
        cmocka_unit_test(one_token_is_told_twice_to_who_may_have_the_lock_yet),
        cmocka_unit_test(fences_go_back_where_a_server_forgot),
        cmocka_unit_test(fences_of_late_grants_grow_where_their_order_is_known),
        cmocka_unit_test(what_is_said_of_random_fences_is_what_their_pairs_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
