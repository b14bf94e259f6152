/* test_checks_contention.c - an exclusion is unknown where nobody asked for a lock that another
 * client had; whose request counts as that. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

static void assert_contended(struct story *story, int64_t attempts)
{
    const enum verdict verdict = attempts > 0 ? VERDICT_HOLDS : VERDICT_UNKNOWN;
    ends(story);
    assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, verdict);
    assert_verdict(story, PROPERTY_LEASE_EXCLUSION, verdict);
    assert_holds(story, PROPERTY_RELEASE_OWN); /* it needs none */
    assert_int_equal(story->counters.contended, attempts);
    story_free(story);
}

static void one_after_the_other_is_no_contention(void **state)
{
    struct story *story = story_undirected(&expiring, 1, 300);
    (void)state;
    for (int i = 0; i < 4; i++) {
        acquires(story, i % 2);
        releases(story, i % 2, 1);
    }
    assert_contended(story, 0);

    /* A's key is gone before B asks, though A was not told so yet. */
    story = story_undirected(&expiring, 1, 300);
    acquires(story, A);
    calls(story, A, OP_RELEASE);
    executes(story, A, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, A), 0), INTEGER(1));
    acquires(story, B);
    returns(story, A, OP_RELEASE, RESULT_RELEASED);
    assert_contended(story, 0);

    /* B loads its script while A has the lock, and asks for it when it is free. */
    story = story_undirected(&expiring, 1, 300);
    acquires(story, A);
    calls(story, B, OP_ACQUIRE);
    executes(story, B, OP_ACQUIRE, command(VERB_SCRIPT_LOAD, 0, 0), OK);
    releases(story, A, 1);
    executes(story, B, OP_ACQUIRE, set(story, B), OK);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    assert_contended(story, 0);

    /* A called, and was not answered, before A had the lock: B came first. */
    story = story_undirected(&expiring, 1, 300);
    calls(story, A, OP_ACQUIRE);
    acquires(story, B);
    releases(story, B, 1);
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    assert_contended(story, 0);

    /* A's lock has expired, unreleased by a process that has crashed. */
    story = story_undirected(&expiring, 1, 300);
    acquires(story, A);
    strikes(story, "crash", A, -1, 0);
    at(story, 400);
    acquires(story, B);
    assert_contended(story, 0);
}

static void who_comes_while_another_has_the_lock_contends(void **state)
{
    struct story *story = story_undirected(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    is_refused(story, B);
    is_refused(story, B);
    is_refused(story, C);
    releases(story, A, 1);
    assert_contended(story, 3);

    /* A is not told yet, but has it at the server. */
    story = story_undirected(&expiring, 1, 300);
    is_granted(story, A);
    is_refused(story, B);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    assert_contended(story, 1);

    /* An attempt that asks twice is one. */
    story = story_undirected(&expiring, 1, 300);
    acquires(story, A);
    calls(story, B, OP_ACQUIRE);
    executes(story, B, OP_ACQUIRE, set(story, B), NIL);
    executes(story, B, OP_ACQUIRE, set(story, B), NIL);
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    assert_contended(story, 1);
}

/* Of three servers, what a minority keeps is no lock that anybody has. */
static void a_minority_is_not_contended_for(void **state)
{
    (void)state;
    for (int kept = 1; kept <= 2; kept++) {
        struct story *story = story_undirected(&majority, 3, 300);
        calls(story, A, OP_ACQUIRE);
        const struct command own = set(story, A);
        for (int s = 0; s < kept; s++)
            executes_at(story, A, s, OP_ACQUIRE, own, OK);
        calls(story, B, OP_ACQUIRE);
        executes_at(story, B, 0, OP_ACQUIRE, set(story, B), NIL);
        ends(story);
        assert_int_equal(story->counters.contended, kept == 2);
        story_free(story);
    }
}

/* Where nobody saw the servers: who is told "refused" is told that another one has it. */
static void a_refusal_that_was_told_is_contention(void **state)
{
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        struct story *story = story_undirected(&expiring, 1, 300);
        calls(story, A, OP_ACQUIRE);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        calls(story, B, OP_ACQUIRE);
        if (refused)
            returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        calls(story, A, OP_RELEASE);
        returns(story, A, OP_RELEASE, RESULT_RELEASED);
        if (!refused)
            returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_verdict(story, PROPERTY_LEASE_EXCLUSION, refused ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* Whoever directs a scenario chose the moment. */
static void a_directed_order_needs_two_who_ask(void **state)
{
    (void)state;
    for (int two = 0; two < 2; two++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        releases(story, A, 1);
        acquires(story, two ? B : A);
        ends(story);
        assert_verdict(story, PROPERTY_LEASE_EXCLUSION, two ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        assert_int_equal(story->counters.contended, 0);
        story_free(story);
    }
}

/* A run in which no fault struck inside a hold may have found something by that. */
static void a_stall_in_a_release_is_counted(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    strikes(story, "pause", A, -1, 1);
    acquires(story, A);
    strikes(story, "pause", A, -1, 1);
    calls(story, A, OP_RELEASE);
    strikes(story, "give-up", A, 0, 0);
    strikes(story, "pause", B, -1, 1);
    strikes(story, "pause", A, -1, 1);
    returns(story, A, OP_RELEASE, RESULT_FAILED);
    strikes(story, "pause", A, -1, 1);
    ends(story);
    assert_int_equal(story->counters.faults, 5);
    assert_int_equal(story->counters.faults_in_hold, 1);
    assert_int_equal(story->counters.stalls_in_release, 1);
    story_free(story);
}

/* The server forgets A's lock; B asks it while A holds, or when A has released, or A alone does. */
static void lost_keys_are_counted_when_somebody_asks_for_a_lock_that_is_held(void **state)
{
    static const struct {
        const char *fault;
        bool asks, asks_in_time;
        int64_t in_hold;
    } rows[] = {{"restart-empty", true, true, 1},   {"restart-empty", true, false, 0},
                {"restart-empty", false, false, 0}, {"flush-all", true, true, 1},
                {"flush-all", true, false, 0},      {"restart-aof", true, false, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        strikes(story, rows[i].fault, -1, 0, 0);
        if (rows[i].asks && rows[i].asks_in_time)
            acquires(story, B);
        calls(story, A, OP_RELEASE);
        returns(story, A, OP_RELEASE, RESULT_FAILED);
        if (rows[i].asks && !rows[i].asks_in_time)
            acquires(story, B);
        ends(story);
        assert_int_equal(story->counters.faults, 1);
        assert_int_equal(story->counters.faults_in_hold, rows[i].in_hold);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_keys_are_counted_when_somebody_asks_for_a_lock_that_is_held),
        cmocka_unit_test(one_after_the_other_is_no_contention),
        cmocka_unit_test(who_comes_while_another_has_the_lock_contends),
        cmocka_unit_test(a_minority_is_not_contended_for),
        cmocka_unit_test(a_refusal_that_was_told_is_contention),
        cmocka_unit_test(a_directed_order_needs_two_who_ask),
        cmocka_unit_test(a_stall_in_a_release_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
