/* test_checks_fresh.c - the lease of a foreign lock counts from the request that won it: of an
 * acquire that was refused first, and asked again, that is long after its call. And a timer that
 * rings late is no delay of the scheme's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

/* B is refused by A's lock at 4 and at 200, asks a last time, whose request is executed at 350, and
 * is told so then. */
static struct story *waits(bool is_refused, bool is_sent, double told_ms)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    takes(story, A);
    at(story, 3);
    calls(story, B, OP_ACQUIRE);
    if (is_refused) {
        runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
        at(story, 200);
        runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
    }
    at(story, 250);
    gives_back(story, A, deleted(A), RESULT_RELEASED);
    at(story, 340);
    if (is_sent)
        sends_script(story, B, OP_ACQUIRE);
    at(story, 350);
    runs(story, B, OP_ACQUIRE, created(B));
    at(story, told_ms);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    return story;
}

static void who_was_refused_asked_later(void **state)
{
    (void)state;
    /* Not before 200, and not after 350. */
    static const struct {
        bool is_refused, is_sent;
        double told_ms;
        enum verdict verdict;
        const char *words;
    } tried[] = {
        {true, false, 499, VERDICT_HOLDS, NULL},
        {true, false, 501, VERDICT_UNKNOWN, "nobody saw when what won the lock was sent"},
        {true, false, 649, VERDICT_UNKNOWN, "nobody saw when what won the lock was sent"},
        {true, false, 651, VERDICT_VIOLATED, "asked for the lock by 350.0 ms"},
        {true, true, 639, VERDICT_HOLDS, NULL},
        {true, true, 641, VERDICT_VIOLATED, "asked for the lock at 340.0 ms"},
        /* It waited for something else, or its request was long on its way. */
        {false, false, 360, VERDICT_UNKNOWN, "nobody saw when what won the lock was sent"},
        {false, false, 651, VERDICT_VIOLATED, "asked for the lock by 350.0 ms"},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = waits(tried[i].is_refused, tried[i].is_sent, tried[i].told_ms);
        const bool is_bad = tried[i].verdict == VERDICT_VIOLATED;
        assert_verdict(story, PROPERTY_FRESH_GRANT, tried[i].verdict);
        assert_int_equal(story->findings[PROPERTY_FRESH_GRANT].count, is_bad);
        if (tried[i].words)
            assert_true(says(story, PROPERTY_FRESH_GRANT, tried[i].words));
        story_free(story);
    }
}

/* A is refused, sets a timer, asks again when that rings at 410, late by so much, and is told so at
 * 420; C gets the lock when A's is over at the server. */
static struct story *rings_late(double late_ms)
{
    struct story *story = story_new(&expiring, 1, 300);
    acquires(story, B);
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, set(story, A), NIL);
    at(story, 250);
    releases(story, B, 1);
    at(story, 410);
    happens(story, (struct event){.kind = EVENT_WAKE,
                                  .client = A,
                                  .server = -1,
                                  .amount_us = (int64_t)(late_ms * 1000)});
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    at(story, 420);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    at(story, 800);
    acquires(story, C);
    ends(story);
    return story;
}

static void a_timer_that_rang_late_is_no_late_grant(void **state)
{
    (void)state;
    static const struct {
        double late_ms;
        bool is_late;
    } tried[] = {{0, true}, {-200, true}, {100, true}, {130, false}, {400, false}, {1e15, false}};
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = rings_late(tried[i].late_ms);
        if (tried[i].is_late) {
            assert_violated(story, PROPERTY_FRESH_GRANT, 1, CAUSE_LATE_GRANT);
            assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_LATE_GRANT);
        } else {
            assert_verdict(story, PROPERTY_FRESH_GRANT, VERDICT_UNKNOWN);
            assert_true(says(story, PROPERTY_FRESH_GRANT, "the machine's delay"));
            assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
        }
        assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        story_free(story);
    }
}

/* The same by calls and returns alone. */
static void a_timer_that_rang_late_is_no_late_grant_without_servers(void **state)
{
    (void)state;
    for (int late_ms = 0; late_ms <= 130; late_ms += 130) {
        struct story *story = story_new(&expiring, 1, 300);
        calls(story, A, OP_ACQUIRE);
        at(story, 410);
        happens(story,
                (struct event){
                    .kind = EVENT_WAKE, .client = A, .server = -1, .amount_us = late_ms * 1000});
        at(story, 420);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        if (late_ms == 0)
            assert_violated(story, PROPERTY_FRESH_GRANT, 1, CAUSE_LATE_GRANT);
        else
            assert_verdict(story, PROPERTY_FRESH_GRANT, VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* The next acquire is another one: what rang late before its call is no excuse. */
static void a_timer_before_the_call_excuses_nothing(void **state)
{
    (void)state;
    struct story *story = story_new(&expiring, 1, 300);
    calls(story, A, OP_ACQUIRE);
    at(story, 250);
    happens(story,
            (struct event){.kind = EVENT_WAKE, .client = A, .server = -1, .amount_us = 240000});
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    releases(story, A, 1);
    is_granted(story, A);
    at(story, 600);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_FRESH_GRANT, 1, CAUSE_LATE_GRANT);
    story_free(story);
}

/* A takes its lock at 0 for 300, is told so at told_ms, and believes in it until 330, when its
 * clock says 303, or less; or more. */
static struct story *slow_clock(int64_t gains_us, double told_ms)
{
    struct story *story = story_whole(&noticing, 1, 300);
    happens(story, (struct event){.kind = EVENT_FAULT,
                                  .fault = FAULT_CLIENT_DRIFT,
                                  .client = A,
                                  .server = -1,
                                  .amount_us = gains_us});
    is_granted(story, A);
    at(story, told_ms);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    at(story, 330);
    happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
    ends(story);
    return story;
}

/* The lease ends by the true time, and the witness says what the client's own clock did. */
static void a_clock_that_runs_slow_excuses_nothing_and_is_told(void **state)
{
    (void)state;
    static const int64_t gains_us[] = {-80945, 0, 80945};
    const char *words = "A's clock loses 80.9 ms every second, and by it the lease ends later.";
    for (size_t i = 0; i < sizeof gains_us / sizeof *gains_us; i++) {
        struct story *late = slow_clock(gains_us[i], 10);
        assert_violated(late, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
        assert_int_equal(says(late, PROPERTY_LOSS_NOTICE, words), gains_us[i] < 0);
        story_free(late);
        late = slow_clock(gains_us[i], 305);
        assert_violated(late, PROPERTY_FRESH_GRANT, 1, CAUSE_LATE_GRANT);
        assert_int_equal(says(late, PROPERTY_FRESH_GRANT, words), gains_us[i] < 0);
        story_free(late);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_that_rang_late_is_no_late_grant),
        cmocka_unit_test(a_timer_that_rang_late_is_no_late_grant_without_servers),
        cmocka_unit_test(a_timer_before_the_call_excuses_nothing),
        cmocka_unit_test(a_clock_that_runs_slow_excuses_nothing_and_is_told),
        cmocka_unit_test(who_was_refused_asked_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
