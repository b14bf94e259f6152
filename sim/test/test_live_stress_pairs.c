/* test_live_stress_pairs.c - the free run with servers that are stopped, evict or lose all keys:
 * each breaks a lock that is safe without it, or lets one survive; the other half of these pairs is
 * in test_live_stress_strikes.c and test_live_stress_outages.c. */
#include "test/stress_summary.h"

/* A release that looks first is stopped between its two commands, and deletes what is another's by
 * then. Without that its hold is over at once. */
static void a_stopped_server_breaks_a_lock_that_looks_first(void **state)
{
    (void)state;
    struct finding findings[PROPERTY_COUNT];
    const struct finding *found = &findings[PROPERTY_RELEASE_OWN];
    struct counters counters = {0};
    struct stress_options options = short_leases(scheme_named("set-nx-ex-get-del"));
    options.timeout_us = 20 * SECOND_US;
    checks_agree(&options, findings, &counters);
    assert_int_equal(found->verdict, VERDICT_HOLDS);
    options.duration_us = 3 * SECOND_US;
    options.stopped_server_ppm = 5000;
    options.stopped_server_us = options.lease_us * 3 / 2;
    for (int i = 0; i < RUNS_MAX && (i == 0 || found->verdict != VERDICT_VIOLATED); i++) {
        options.seed++;
        checks_agree(&options, findings, &counters);
    }
    assert_int_equal(found->verdict, VERDICT_VIOLATED);
    assert_true(summary.faults[CHOICE_STOP] > 0);
}

/* Of three servers one has lost the key: no lock is blamed for what comes of it. */
static void a_majority_survives_keys_that_go(void **state)
{
    (void)state;
    static const enum server_strike rows[] = {SERVER_STRIKE_FLUSH_ALL, SERVER_STRIKE_EVICT};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct server_strike_row *row = &server_strike_rows[rows[i]];
        struct finding findings[PROPERTY_COUNT];
        struct counters counters = {0};
        int64_t grants = 0;
        struct stress_options options = options_of("redlock");
        options.lease_us = scheme_lease_us(options.scheme, SECOND_US);
        options.servers = 3;
        options.duration_us = SECOND_US / 2;
        *(uint32_t *)(void *)((char *)&options + row->ppm_at) = 10000;
        for (int j = 0; j < RUNS_MAX && (summary.faults[row->choice] < 3 || !grants); j++) {
            options.seed++;
            checks_agree(&options, findings, &counters);
            expect_no_blame(findings);
            grants += counters.grants;
        }
        assert_true(summary.faults[row->choice] >= 3 && grants > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_server_breaks_a_lock_that_looks_first),
        cmocka_unit_test(a_majority_survives_keys_that_go),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
