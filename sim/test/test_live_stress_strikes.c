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

static uint32_t *rate_of(struct stress_options *options, enum server_strike strike)
{
    return (uint32_t *)(void *)((char *)options + server_strike_rows[strike].ppm_at);
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
    int64_t grants = 0;
    for (int i = 0; i < RUNS_MAX && (summary.faults[choice] < 3 || grants == 0); i++) {
        options->seed++;
        checks_agree(options, findings, &counters);
        expect_no_blame(findings);
        grants += counters.grants;
    }
    assert_true(summary.faults[choice] >= 3);
    assert_true(grants > 0);
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

/* --- what is done to the process --- */

/* A machine that brings a server back behind the end of all leases sees nothing lost: so they are
 * made longer, until it does. */
static void lengthen(struct stress_options *options)
{
    options->lease_us *= 2;
    options->pause_us *= 2;
    options->restart_old_us *= 2;
    options->failover_us *= 2;
    options->duration_us *= 2;
}

/* Each breaks a lock that is safe without it: found where a holder works for most of its lease. */
static void servers_that_forget_let_others_in(void **state)
{
    (void)state;
    static const struct {
        enum server_strike strike;
        enum choice_kind choice;
        enum cause cause;
    } rows[] = {{SERVER_STRIKE_RESTART, CHOICE_RESTART, CAUSE_LOST_GRANT},
                {SERVER_STRIKE_SERVER_CLOCK, CHOICE_SERVER_CLOCK, CAUSE_EARLY_EXPIRY},
                /* long: */
                {SERVER_STRIKE_RESTART_OLD, CHOICE_RESTART_OLD, CAUSE_LOST_GRANT},
                {SERVER_STRIKE_FAILOVER, CHOICE_FAILOVER, CAUSE_LOST_GRANT},
                {SERVER_STRIKE_EVICT, CHOICE_EVICT, CAUSE_LOST_GRANT}};
    const size_t count = is_long() ? sizeof rows / sizeof *rows : 2;
    for (size_t i = 0; i < count; i++) {
        struct stress_options options = slow_work();
        struct finding findings[PROPERTY_COUNT];
        const struct finding *found = &findings[PROPERTY_LEASE_EXCLUSION];
        struct counters counters = {0};
        options.restart_old_us = options.failover_us = options.lease_us / 4;
        assert_false(is_violated(&options, PROPERTY_LEASE_EXCLUSION));
        *rate_of(&options, rows[i].strike) = 20000;
        for (int j = 0; j < RUNS_MAX && (j == 0 || found->verdict != VERDICT_VIOLATED); j++) {
            if (j % 8 == 7 && options.lease_us < 2 * SECOND_US)
                lengthen(&options);
            options.seed++;
            checks_agree(&options, findings, &counters);
            expect_no_blame(findings);
        }
        assert_int_equal(found->verdict, VERDICT_VIOLATED);
        assert_int_equal(found->cause, rows[i].cause);
        assert_true(summary.faults[rows[i].choice] > 0);
    }
}

/* A release whose script is not known leaves the key behind; one that sends it whole does not. */
static void scripts_that_are_forgotten_leave_keys_behind(void **state)
{
    (void)state;
    static const enum server_strike rows[] = {SERVER_STRIKE_FLUSH_SCRIPTS,
                                              /* long: */
                                              SERVER_STRIKE_RESTART_AOF, SERVER_STRIKE_SENTINEL};
    const size_t count = is_long() ? sizeof rows / sizeof *rows : 1;
    for (size_t i = 0; i < count; i++) {
        struct stress_options options = quick_work("set-nx-px-evalsha");
        /* A server that a busy machine brings back late has the key still. */
        options.lease_us = scheme_lease_us(options.scheme, SECOND_US);
        assert_false(is_violated(&options, PROPERTY_NO_ORPHAN));
        if (rows[i] == SERVER_STRIKE_SENTINEL)
            options.duration_us = 3 * SECOND_US; /* it notices, and elects itself */
        *rate_of(&options, rows[i]) = 10000;
        bool is_found = false;
        for (int j = 0; j < RUNS_MAX && !is_found; j++)
            is_found = is_violated(&options, PROPERTY_NO_ORPHAN);
        assert_true(is_found);
    }
    struct stress_options options = quick_work("set-nx-px-evalsha-eval");
    options.flush_scripts_ppm = 10000;
    for (int i = 0; i < RUNS_MAX && summary.faults[CHOICE_FLUSH_SCRIPTS] < 3; i++)
        assert_false(is_violated(&options, PROPERTY_NO_ORPHAN));
    assert_true(summary.faults[CHOICE_FLUSH_SCRIPTS] >= 3);
}

/* Struck, counted, told; and a lock that is safe there is not blamed. Every other one directly;
 * PICKLOCK_LONG: each both ways. */
static void safe_locks_survive_what_strikes_the_process(void **state)
{
    (void)state;
    static const struct {
        enum server_strike strike;
        const char *scheme;
        int servers;
    } rows[] = {{SERVER_STRIKE_RESTART, "redlock", 3},
                {SERVER_STRIKE_FLUSH_SCRIPTS, "set-nx-px-cad", 1},
                {SERVER_STRIKE_FAILOVER, "set-nx-px-wait", 1},
                {SERVER_STRIKE_STOPPED, "watchdog-guarded", 1},
                /* long: */
                {SERVER_STRIKE_RESTART_AOF, "set-nx-px-cad", 1},
                {SERVER_STRIKE_RESTART_OLD, "redlock", 3},
                {SERVER_STRIKE_SENTINEL, "set-nx-px-cad", 1},
                {SERVER_STRIKE_SERVER_CLOCK, "redlock", 3}};
    const size_t ways = is_long() ? 2 : 1, count = is_long() ? sizeof rows / sizeof *rows : 4;
    for (size_t i = 0; i < count; i++) {
        const struct server_strike_row *row = &server_strike_rows[rows[i].strike];
        for (size_t way = 0; way < ways; way++) {
            const bool is_direct = (i + way) % 2;
            struct stress_options options = short_leases(scheme_named(rows[i].scheme));
            options.servers = rows[i].servers;
            options.is_direct = is_direct;
            options.stopped_server_us = options.restart_old_us = options.failover_us = 20000;
            if (rows[i].strike == SERVER_STRIKE_SENTINEL)
                options.duration_us = 3 * SECOND_US; /* it notices, and elects itself */
            *rate_of(&options, rows[i].strike) = 5000;
            survives(&options, row->choice, row->struck);
        }
    }
}

/* Every command is answered as a server would that had executed them in the order that is told,
 * whatever process it was. */
static void the_order_is_known_across_restarts(void **state)
{
    (void)state;
    for (int is_direct = 0; is_direct < 2; is_direct++) {
        struct stress_options options = quick_work("set-nx-px-cad");
        struct stress_outcome outcome;
        struct model model;
        model_init(&model, 1000);
        summary.model = &model;
        options.is_direct = is_direct;
        options.clients = 40;
        options.timeout_us = options.lease_us = 20 * SECOND_US;
        options.restart_empty_ppm = options.restart_aof_ppm = 2000;
        options.duration_us = 2 * SECOND_US;
        runs(&options, &outcome);
        assert_true(outcome.struck[STRUCK_RESTART] > 0 && outcome.struck[STRUCK_RESTART_AOF] > 0);
        assert_int_equal(outcome.struck[STRUCK_RESTART], summary.faults[CHOICE_RESTART]);
        assert_int_equal(outcome.doubt.code, FAIL_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_writes_break_a_lock_that_looks_first),
        cmocka_unit_test(a_safe_lock_survives_held_writes),
        cmocka_unit_test(reads_are_answered_while_writes_are_held),
        cmocka_unit_test(servers_that_forget_let_others_in),
        cmocka_unit_test(scripts_that_are_forgotten_leave_keys_behind),
        cmocka_unit_test(safe_locks_survive_what_strikes_the_process),
        cmocka_unit_test(the_order_is_known_across_restarts),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
