/* test_live_stress_strikes.c - the free run with what is done to the process of a server: each
 * strikes for real and is told; a lock that is safe without it breaks, and one survives it. */
#include "test/stress_summary.h"

/* Its hold is over at once, but for what strikes: without that it is safe. */
static struct stress_options quick_work(const char *scheme)
{
    struct stress_options options = short_leases(scheme_named(scheme));
    options.timeout_us = 20 * SECOND_US;
    return options;
}

static bool is_violated(struct stress_options *options, enum property property)
{
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    options->seed++;
    checks_agree(options, findings, &counters);
    return findings[property].verdict == VERDICT_VIOLATED;
}

/* It strikes, is counted and told, and no history makes a safe lock guilty. */
static void survives(struct stress_options *options, enum choice_kind choice, enum struck struck)
{
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    struct stress_outcome outcome;
    for (int i = 0; i < RUNS_MAX && summary.faults[choice] < 3; i++) {
        options->seed++;
        checks_agree(options, findings, &counters);
        expect_no_blame(findings);
    }
    assert_true(summary.faults[choice] >= 3 && counters.grants > 0);
    const int64_t before = summary.faults[choice];
    summary.events = 0;
    summary.checks = NULL;
    memset(summary.attempts, 0, sizeof summary.attempts);
    runs(options, &outcome);
    assert_int_equal(outcome.struck[struck], summary.faults[choice] - before);
    assert_int_equal(outcome.doubt.code, FAIL_NONE);
}

/* --- CLIENT PAUSE --- */

static void held_writes_break_a_lock_that_looks_first(void **state)
{
    (void)state;
    struct stress_options options = quick_work("set-nx-ex-get-del");
    options.duration_us = 3 * SECOND_US;
    assert_false(is_violated(&options, PROPERTY_RELEASE_OWN));
    options.client_pause_ppm = 5000;
    options.client_pause_us = options.lease_us * 3 / 2;
    bool is_found = false;
    for (int i = 0; i < RUNS_MAX && !is_found; i++)
        is_found = is_violated(&options, PROPERTY_RELEASE_OWN);
    assert_true(is_found && summary.faults[CHOICE_PAUSE_WRITES] > 0);
}

static void a_safe_lock_survives_held_writes(void **state)
{
    (void)state;
    for (int is_direct = 0; is_direct < 2; is_direct++) {
        struct stress_options options = short_leases(scheme_named("set-nx-px-cad"));
        options.client_pause_ppm = 10000;
        options.client_pause_us = 50000;
        options.is_direct = is_direct;
        survives(&options, CHOICE_PAUSE_WRITES, STRUCK_CLIENT_PAUSE);
    }
}

/* Nothing that may write is executed meanwhile, and something that cannot. */
static void reads_are_answered_while_writes_are_held(void **state)
{
    (void)state;
    struct stress_options options = quick_work("watch-multi-del");
    options.duration_us = 20 * (int64_t)SECOND_US;
    options.client_pause_ppm = 20000;
    options.client_pause_us = 20000;
    struct stress_outcome outcome;
    summary.until_read_held = 3;
    runs(&options, &outcome);
    assert_true(summary.read_held >= 3);
    assert_int_equal(summary.written_held, 0);
    assert_int_equal(outcome.doubt.code, FAIL_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_writes_break_a_lock_that_looks_first),
        cmocka_unit_test(a_safe_lock_survives_held_writes),
        cmocka_unit_test(reads_are_answered_while_writes_are_held),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
