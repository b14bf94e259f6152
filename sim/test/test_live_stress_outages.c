/* test_live_stress_outages.c - the free run with servers out of reach and clocks that drift: each
 * strikes for real, is told, costs a safe lock nothing, and shows what is wrong with one that is
 * not. */
#include "test/stress_summary.h"
#include "test/wrong_locks.h"

static struct stress_options refusing(const struct scheme *scheme)
{
    struct stress_options options = short_leases(scheme);
    options.refuse_ppm = 10000;
    options.refuse_us = 50000;
    return options;
}

/* Of a lock that reads no clock but its server's, clocks and silences change no verdict. */
static void silences_and_drifting_clocks_are_told(void **state)
{
    (void)state;
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    struct stress_options options = options_of("set-nx-px-cad");
    options.lease_us = scheme_lease_us(options.scheme, 100000);
    options.timeout_us = 20000;
    options.silence_ppm = 10000;
    options.silence_us = 50000;
    options.drift_ppm = 500000;
    for (int i = 0; i < RUNS_MAX && summary.faults[CHOICE_REACH] < 3; i++) {
        options.seed++;
        checks_agree(&options, findings, &counters);
        assert_int_not_equal(findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_VIOLATED);
        assert_int_not_equal(findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_VIOLATED);
    }
    assert_true(summary.faults[CHOICE_REACH] >= 3);
    assert_true(summary.faults[CHOICE_SILENCE] >= summary.faults[CHOICE_REACH]);
    assert_true(summary.faults[CHOICE_CLIENT_DRIFT] > 0);
    assert_true(summary.faults[CHOICE_GIVE_UP] > 0);
    assert_int_equal(summary.spoken, 0);
}

/* Nothing is executed meanwhile, attempts to connect fail, and every one of them is told. */
static void connections_are_refused_for_real(void **state)
{
    (void)state;
    struct stress_options options = refusing(scheme_named("redlock"));
    struct stress_outcome outcome;
    options.servers = 3;
    options.duration_us = 90 * (int64_t)SECOND_US; /* a slow machine takes longer, no more */
    summary.until_reached = 3;
    runs(&options, &outcome);
    assert_true(outcome.was_stopped && outcome.doubt.code == FAIL_NONE);
    assert_int_equal(outcome.struck[STRUCK_REFUSAL], summary.faults[CHOICE_REFUSE]);
    assert_in_range(outcome.struck[STRUCK_REFUSAL] - summary.faults[CHOICE_REACH], 0, 3);
    assert_true(outcome.connections_refused > 0);
    assert_true(summary.faults[CHOICE_GIVE_UP] >= outcome.connections_refused);
    assert_int_equal(summary.faults[CHOICE_SILENCE], 0);
    assert_int_equal(summary.spoken, 0);
    options = options_of("set-nx-px-cad"); /* whoever comes next finds them open */
    options.servers = 3;
    runs(&options, &outcome);
    assert_int_equal(outcome.clients, CLIENTS);
    assert_int_equal(outcome.connections_refused, 0);
}

/* A renewal that fails is no renewal: who knows that is told of a loss in time. */
static void safe_locks_survive_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int servers;
    } rows[] = {{"set-nx-px-cad", 1}, {"watchdog-guarded", 1}, {"redlock", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stress_options options = refusing(scheme_named(rows[i].scheme));
        struct finding findings[PROPERTY_COUNT];
        struct counters counters = {0};
        options.servers = rows[i].servers;
        int64_t grants = 0;
        for (int j = 0; j < RUNS_MAX && (summary.faults[CHOICE_REACH] < 3 || grants == 0); j++) {
            options.seed++;
            checks_agree(&options, findings, &counters);
            expect_no_blame(findings);
            grants += counters.grants;
        }
        assert_true(summary.faults[CHOICE_REACH] >= 3 && grants > 0);
    }
}

WRONG_LOCK(refused_is_taken, .ttl_halves = 2, .refuses_on_time_out = true)
WRONG_LOCK(refused_is_released, .ttl_halves = 2, .releases_always = true)

static enum verdict truth_of(struct stress_options *options, struct finding *finding)
{
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    options->seed++;
    checks_agree(options, findings, &counters);
    *finding = findings[PROPERTY_TRUTHFUL];
    return finding->verdict;
}

/* One takes a connection that was refused for a lock that is taken, one for a release. */
static void errors_taken_for_answers_are_found(void **state)
{
    (void)state;
    static const struct scheme *const rows[] = {&scheme_refused_is_taken,
                                                &scheme_refused_is_released};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stress_options options = refusing(rows[i]);
        struct finding finding;
        options.timeout_us = options.lease_us = 20 * SECOND_US;
        options.refuse_ppm = 0;
        assert_int_equal(truth_of(&options, &finding), VERDICT_HOLDS);
        options = refusing(rows[i]);
        /* On a slow machine time-outs strike, too: whose fault those are, is another question. */
        bool is_found = false;
        for (int j = 0; j < RUNS_MAX && !is_found; j++)
            is_found = truth_of(&options, &finding) == VERDICT_VIOLATED &&
                       cause_blame(finding.cause) == BLAME_SCHEME;
        assert_true(is_found);
    }
}

/* --- servers without their keys --- */

/* Who holds it has lost it, and somebody else is let in; it is not the scheme's doing. */
static void lost_keys_let_others_in(void **state)
{
    (void)state;
    LONG_ONLY();
    struct stress_options options = slow_work();
    struct finding findings[PROPERTY_COUNT];
    const struct finding *found = &findings[PROPERTY_LEASE_EXCLUSION];
    struct counters counters = {0};
    for (int i = 0; i < 2; i++) {
        options.seed++;
        checks_agree(&options, findings, &counters);
        assert_int_not_equal(found->verdict, VERDICT_VIOLATED);
        assert_int_equal(summary.faults[CHOICE_FLUSH_ALL], 0);
    }
    options.flush_all_ppm = 20000;
    for (int i = 0; i < RUNS_MAX && (i == 0 || found->verdict != VERDICT_VIOLATED); i++) {
        options.seed++;
        checks_agree(&options, findings, &counters);
        expect_no_blame(findings);
    }
    assert_int_equal(found->verdict, VERDICT_VIOLATED);
    assert_int_equal(found->cause, CAUSE_LOST_GRANT);
    assert_true(summary.faults[CHOICE_FLUSH_ALL] > 0);
}

/* What is counted is what the history tells of. */
static void lost_keys_are_counted(void **state)
{
    (void)state;
    struct stress_options options = slow_work();
    struct stress_outcome outcome;
    options.duration_us = SECOND_US / 2;
    options.flush_all_ppm = 20000;
    runs(&options, &outcome);
    assert_true(outcome.struck[STRUCK_FLUSH_ALL] > 0 && outcome.doubt.code == FAIL_NONE);
    assert_int_equal(outcome.struck[STRUCK_FLUSH_ALL], summary.faults[CHOICE_FLUSH_ALL]);
}

/* --- servers that end all connections --- */

/* Every end is told, and nothing of it costs a safe lock its safety. */
static void ended_connections_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int servers;
    } rows[] = {{"set-nx-px-cad", 1}, {"watch-multi-del", 1}, {"redlock", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stress_options options = short_leases(scheme_named(rows[i].scheme));
        struct stress_outcome outcome;
        options.servers = rows[i].servers;
        options.duration_us = SECOND_US / 2;
        options.client_kill_ppm = 20000;
        runs(&options, &outcome);
        assert_true(outcome.struck[STRUCK_CLIENT_KILL] > 0 && outcome.doubt.code == FAIL_NONE);
        assert_int_equal(outcome.struck[STRUCK_CLIENT_KILL], summary.faults[CHOICE_CLIENT_KILL]);
        assert_true(summary.faults[CHOICE_GIVE_UP] >= summary.faults[CHOICE_CLIENT_KILL]);
    }
}

/* Without the proxy, too, keys and connections go while nothing is with the server; who wanted
 * something of it then, notices. */
static void a_direct_run_loses_keys_and_connections(void **state)
{
    (void)state;
    LONG_ONLY();
    static const struct {
        const char *scheme;
        int servers;
    } rows[] = {{"set-nx-px-cad", 1}, {"watch-multi-del", 1}, {"redlock", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stress_options options = short_leases(scheme_named(rows[i].scheme));
        struct stress_outcome outcome;
        struct model model;
        model_init(&model, 1000);
        summary.model = rows[i].servers == 1 ? &model : NULL;
        options.is_direct = true;
        options.servers = rows[i].servers;
        options.clients = 60;
        options.timeout_us = options.lease_us = 20 * SECOND_US;
        options.duration_us = 2 * SECOND_US;
        options.client_kill_ppm = options.flush_all_ppm = 10000;
        runs(&options, &outcome);
        assert_true(outcome.struck[STRUCK_CLIENT_KILL] > 0 && outcome.struck[STRUCK_FLUSH_ALL] > 0);
        assert_int_equal(outcome.struck[STRUCK_CLIENT_KILL], summary.faults[CHOICE_CLIENT_KILL]);
        assert_int_equal(outcome.struck[STRUCK_FLUSH_ALL], summary.faults[CHOICE_FLUSH_ALL]);
        assert_int_equal(outcome.doubt.code, FAIL_NONE);
        assert_true(summary.faults[CHOICE_GIVE_UP] >= summary.faults[CHOICE_CLIENT_KILL]);
    }
}

static void safe_locks_survive_ended_connections(void **state)
{
    (void)state;
    struct stress_options options = short_leases(scheme_named("set-nx-px-cad"));
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    int64_t grants = 0;
    options.client_kill_ppm = 10000;
    for (int i = 0; i < RUNS_MAX && (summary.faults[CHOICE_CLIENT_KILL] < 3 || grants == 0); i++) {
        options.seed++;
        checks_agree(&options, findings, &counters);
        expect_no_blame(findings);
        grants += counters.grants;
    }
    assert_true(summary.faults[CHOICE_CLIENT_KILL] >= 3 && grants > 0);
}

/* An acquire whose connection went may have been granted. */
static void ended_connections_taken_for_answers_are_found(void **state)
{
    (void)state;
    LONG_ONLY();
    struct stress_options options = short_leases(&scheme_refused_is_taken);
    struct finding finding;
    options.timeout_us = options.lease_us = 20 * SECOND_US;
    assert_int_equal(truth_of(&options, &finding), VERDICT_HOLDS);
    options.client_kill_ppm = 10000;
    /* Others than the acquire's may be lost: whose fault that is, is another question. */
    bool is_found = false;
    for (int j = 0; j < RUNS_MAX && !is_found; j++)
        is_found = truth_of(&options, &finding) == VERDICT_VIOLATED &&
                   cause_blame(finding.cause) == BLAME_SCHEME;
    assert_true(is_found);
}

/* --- servers' clocks --- */

static struct live *bent;

static void on_bent_time(void (*run)(void))
{
    struct live *others = live;
    const struct live_options options = {.steering = BENT_TIME};
    assert_int_equal(live_new(&bent, &options, NULL), FAIL_NONE);
    live = bent;
    run();
    live = others;
    live_free(bent);
}

/* The holder works for up to a lease: a server that ends leases a tenth too early lets others in.
 */
static bool lets_others_in(struct stress_options *options)
{
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    options->seed++;
    checks_agree(options, findings, &counters);
    expect_no_blame(findings);
    const struct finding *found = &findings[PROPERTY_LEASE_EXCLUSION];
    if (found->verdict == VERDICT_VIOLATED)
        assert_int_equal(found->cause, CAUSE_EARLY_EXPIRY);
    return found->verdict == VERDICT_VIOLATED;
}

static void try_fast_servers(void)
{
    struct stress_options options = short_leases(scheme_named("set-nx-px-cad"));
    int others = 0, struck = 0;
    options.timeout_us = 20 * SECOND_US;
    options.pause_ppm = 900000;
    options.pause_us = options.lease_us / 2;
    for (int i = 0; i < 4; i++) {
        assert_false(lets_others_in(&options));
        assert_int_equal(summary.faults[CHOICE_SERVER_DRIFT], 0);
    }
    options.server_drift_ppm = SECOND_US;
    for (int i = 0; i < RUNS_MAX && !others; i++) {
        others += lets_others_in(&options);
        assert_int_equal(summary.faults[CHOICE_SERVER_DRIFT], ++struck);
    }
    assert_true(others > 0);
}

static void a_fast_server_ends_leases_early(void **state)
{
    (void)state;
    on_bent_time(try_fast_servers);
}

/* A page that nobody reads: the server keeps our time. */
static void try_deaf_server(void)
{
    struct stress_options options = short_leases(scheme_named("set-nx-px-cad"));
    struct stress_outcome outcome;
    struct failure why;
    struct clock_page *page, deaf = {0};
    options.duration_us = SECOND_US / 10;
    runs(&options, &outcome);
    page = bent->servers.rows[0].process.clock;
    assert_int_equal(servers_set_rate(&bent->servers, 0, DRIFT_US, &why), FAIL_NONE);
    bent->servers.rows[0].process.clock = &deaf;
    clock_let_run(page);
    assert_int_equal(servers_set_rate(&bent->servers, 0, DRIFT_US, &why), FAIL_UNKNOWN);
    bent->servers.rows[0].process.clock = page;
    assert_non_null(strstr(why.text, "its clock was to gain 100000000 us in 1000 s, and gained"));
}

static void a_server_that_does_not_drift_is_told(void **state)
{
    (void)state;
    on_bent_time(try_deaf_server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silences_and_drifting_clocks_are_told),
        cmocka_unit_test(connections_are_refused_for_real),
        cmocka_unit_test(safe_locks_survive_refusals),
        cmocka_unit_test(errors_taken_for_answers_are_found),
        cmocka_unit_test(lost_keys_let_others_in),
        cmocka_unit_test(lost_keys_are_counted),
        cmocka_unit_test(ended_connections_are_told),
        cmocka_unit_test(a_direct_run_loses_keys_and_connections),
        cmocka_unit_test(safe_locks_survive_ended_connections),
        cmocka_unit_test(ended_connections_taken_for_answers_are_found),
        cmocka_unit_test(a_fast_server_ends_leases_early),
        cmocka_unit_test(a_server_that_does_not_drift_is_told),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
