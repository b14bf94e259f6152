/* test_checks_tries.c - an acquire that asks more than once, in one call, of a foreign lock: what
 * it lost before it was answered, what it got behind a refusal, what a try of before makes when it
 * has been answered; and a renewal that its server forgets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

static void faults(struct story *story, const char *name, int64_t amount_us)
{
    struct event event = {.kind = EVENT_FAULT, .client = -1, .amount_us = amount_us};
    assert_true(fault_read(name, &event.fault));
    happens(story, event);
}

static void is_told(struct story *story, int client, int64_t fence)
{
    happens(story, (struct event){.kind = EVENT_RETURN,
                                  .client = client,
                                  .op = OP_ACQUIRE,
                                  .result = RESULT_GRANTED,
                                  .fence = fence});
}

/* A's first try gets the lock, and is not answered; it runs out, or A gives it back; B is granted
 * it meanwhile; A asks once more at 400. */
static struct story *tries_twice(bool is_given_back)
{
    struct story *story = foreign(ALL_PROMISES | PROMISE_FENCE, 1);
    calls(story, A, OP_ACQUIRE);
    sends_script(story, A, OP_ACQUIRE);
    runs(story, A, OP_ACQUIRE, created(A));
    at(story, 200);
    if (is_given_back)
        runs(story, A, OP_ACQUIRE, deleted(A));
    at(story, 340);
    calls(story, B, OP_ACQUIRE);
    sends_script(story, B, OP_ACQUIRE);
    runs(story, B, OP_ACQUIRE, created(B));
    is_told(story, B, 2);
    at(story, 380);
    return story;
}

static void is_granted_the_second_time(struct story *story, int64_t fence)
{
    at(story, 400);
    sends_script(story, A, OP_ACQUIRE);
    runs(story, A, OP_ACQUIRE, created(A));
    is_told(story, A, fence);
    at(story, 410);
    ends(story);
}

static void what_ran_out_and_was_got_again_was_got_the_second_time(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const int64_t fence = i & 1 ? 1 : 3;
        struct story *story = tries_twice(i & 2);
        gives_back(story, B, deleted(B), RESULT_RELEASED);
        is_granted_the_second_time(story, fence);
        assert_verdict(story, PROPERTY_FENCE_ORDER, fence > 2 ? VERDICT_HOLDS : VERDICT_VIOLATED);
        story_free(story);
    }
}

static void what_was_lost_meanwhile_is_no_overrun(void **state)
{
    (void)state;
    for (int is_given_back = 0; is_given_back < 2; is_given_back++) {
        struct story *story = tries_twice(is_given_back);
        faults(story, "evict", 0);
        is_granted_the_second_time(story, 3);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_LOST_GRANT);
        story_free(story);
    }
}

static void sends_to_all(struct story *story)
{
    for (int s = 0; s < 3; s++)
        happens(
            story,
            (struct event){
                .kind = EVENT_SEND, .client = A, .server = s, .op = OP_ACQUIRE, .opaque = &script});
}

/* One server of three has what a round of before has left there: it is not what A was granted. */
static void the_lease_of_a_quorum_counts_from_the_round_that_won(void **state)
{
    (void)state;
    for (int servers = 1; servers < 3; servers++) {
        struct story *story = foreign(ALL_PROMISES | PROMISE_QUORUM, 3);
        calls(story, A, OP_ACQUIRE);
        sends_to_all(story);
        for (int s = 0; s < servers; s++)
            runs_on(story, A, s, OP_ACQUIRE, created(A));
        at(story, 200);
        sends_to_all(story);
        for (int s = 0; s < 3; s++)
            runs_on(story, A, s, OP_ACQUIRE, s < servers ? refused(EFFECT_SET, A) : created(A));
        at(story, 310);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_FRESH_GRANT].count, servers > 1);
        story_free(story);
    }
}

/* It is told "refused" when its own lease is over, as it must be; what it does not give back, or
 * not in time, is a leftover. */
static void what_who_must_refuse_leaves_is_a_leftover(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        at(story, 250);
        runs(story, A, OP_ACQUIRE, created(A));
        at(story, is_late ? 301 : 299);
        returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
        at(story, 600);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1,
                        is_late ? CAUSE_LEFTOVER : CAUSE_UNTRUE_ANSWER);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, !is_late);
        story_free(story);
    }
}

/* One server granted it in the first round, has refused A its own key in the second, or not heard
 * of that; in the third, a lease later, two others grant it. Where A asks no more, and the two are
 * late, its lease was over. */
static void a_key_of_the_first_round_is_not_what_the_lease_counts_from(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const bool asks_again = i < 2, is_heard = i == 0;
        struct story *story = foreign(ALL_PROMISES | PROMISE_QUORUM, 3);
        calls(story, A, OP_ACQUIRE);
        sends_to_all(story);
        runs_on(story, A, 1, OP_ACQUIRE, created(A));
        at(story, 100);
        if (asks_again)
            sends_to_all(story);
        if (is_heard)
            runs_on(story, A, 1, OP_ACQUIRE, refused(EFFECT_SET, A));
        at(story, LEASE_MS + 50);
        if (asks_again)
            sends_to_all(story);
        if (is_heard) /* the first key has run out */
            runs_on(story, A, 1, OP_ACQUIRE, created(A));
        runs_on(story, A, 0, OP_ACQUIRE, created(A));
        runs_on(story, A, 2, OP_ACQUIRE, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        if (asks_again)
            assert_holds(story, PROPERTY_FRESH_GRANT);
        else
            assert_violated(story, PROPERTY_FRESH_GRANT, 1, CAUSE_LATE_GRANT);
        story_free(story);
    }
}

/* Whoever takes over has an older copy of the key: its renewal is lost, and nobody gave it less. */
static void a_renewal_that_is_forgotten_is_a_lost_grant(void **state)
{
    static const struct {
        const char *keeps, *brings_back;
    } by[] = {{"cut-replica", "failover"}, {"save", "restart-old"}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        at(story, 50);
        faults(story, by[i / 2].keeps, 0);
        at(story, 150);
        calls(story, A, OP_EXTEND);
        sends_script(story, A, OP_EXTEND);
        runs(story, A, OP_EXTEND, expiry(DID_LENGTHENED, LEASE_MS));
        returns(story, A, OP_EXTEND, RESULT_DONE);
        at(story, i & 1 ? 310 : 200);
        faults(story, by[i / 2].brings_back, 0);
        at(story, 320);
        takes(story, B);
        ends(story);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_LOST_GRANT);
        assert_true(says(story, PROPERTY_LEASE_EXCLUSION, "without its last renewal"));
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ran_out_and_was_got_again_was_got_the_second_time),
        cmocka_unit_test(what_was_lost_meanwhile_is_no_overrun),
        cmocka_unit_test(the_lease_of_a_quorum_counts_from_the_round_that_won),
        cmocka_unit_test(a_key_of_the_first_round_is_not_what_the_lease_counts_from),
        cmocka_unit_test(what_who_must_refuse_leaves_is_a_leftover),
        cmocka_unit_test(a_renewal_that_is_forgotten_is_a_lost_grant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
