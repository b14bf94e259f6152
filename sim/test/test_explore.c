/* test_explore.c - the explorer: what it must find, and must not. Its witnesses:
 * test_explore_witnesses.c; what it counts, and where it stops: test_explore_limits.c. */
#include "test/explore_run.h"
#include "test/sample.h"

/* Claims of ARTICLES and of HAZARDS, and what repairs each: scheme, fault, property, verdict.
 */
static const struct {
    const char *scheme;
    int fault;
    enum property property;
    enum verdict verdict;
} known[] = {
    /* A plain DEL is safe until something is slow; a compare-and-delete stays safe, but for the
       overrun. */
    {"set-nx-ex-del", NONE, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"set-nx-ex-del", NONE, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"set-nx-ex-del", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    {"set-nx-ex-del", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    {"set-nx-ex-del", FAULT_STALL, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-ex-del", FAULT_RESEND, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_SLOW_WORK, PROPERTY_MUTUAL_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_SLOW_WORK, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_STALL, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_RESEND, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    /* The gap between GET and DEL; WATCH closes it, when it comes first. */
    {"set-nx-ex-get-del", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    {"watch-multi-del", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"get-watch-multi-del", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    /* Tokens that collide make the comparison worthless. */
    {"set-nx-px-cad-weak-token", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"set-nx-px-cad-empty-token", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    /* A crash between two steps leaves a key for ever; one command, or a script, does not. */
    {"setnx-expire-del", FAULT_CRASH, PROPERTY_ALWAYS_EXPIRES, VERDICT_VIOLATED},
    {"setnx-expire-del", FAULT_CRASH, PROPERTY_PROGRESS, VERDICT_VIOLATED},
    {"lua-setnx-expire-del", FAULT_CRASH, PROPERTY_ALWAYS_EXPIRES, VERDICT_HOLDS},
    {"lua-setnx-expire-del", FAULT_CRASH, PROPERTY_PROGRESS, VERDICT_HOLDS},
    {"setnx-del", FAULT_CRASH, PROPERTY_PROGRESS, VERDICT_VIOLATED},
    {"setnx-del", NONE, PROPERTY_PROGRESS, VERDICT_HOLDS},
    {"set-nx-ex-del", FAULT_CRASH, PROPERTY_PROGRESS, VERDICT_HOLDS},
    /* Every loser refreshes the winner's expiry. */
    {"multi-setnx-expire-del", NONE, PROPERTY_EXTEND_OWN, VERDICT_VIOLATED},
    {"lua-setnx-expire-del", NONE, PROPERTY_EXTEND_OWN, VERDICT_HOLDS},
    /* A nil between SETNX and GET trips the source's code. */
    {"stamp-getset", NONE, PROPERTY_NO_CRASH, VERDICT_VIOLATED},
    {"stamp-del-setnx", NONE, PROPERTY_NO_CRASH, VERDICT_HOLDS},
    {"stamp-getset", NONE, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"stamp-getset", FAULT_STALL, PROPERTY_EXTEND_OWN, VERDICT_VIOLATED},
    {"stamp-getset", FAULT_CLIENT_CLOCK, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_CLIENT_CLOCK, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    /* Late grants: who does not look at the clock believes them; redlock looks. */
    {"set-nx-px-cad", FAULT_LATE_REPLY, PROPERTY_FRESH_GRANT, VERDICT_VIOLATED},
    {"redlock", FAULT_LATE_REPLY, PROPERTY_FRESH_GRANT, VERDICT_HOLDS},
    {"redlock", NONE, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"redlock", FAULT_LOSE_REQUEST, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"redlock", FAULT_RESTART, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"redlock", FAULT_SERVER_CLOCK, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    /* A lost reply leaves a key behind; sent again, the client is refused for its own. */
    {"set-nx-px-cad", FAULT_LOSE_REPLY, PROPERTY_NO_ORPHAN, VERDICT_VIOLATED},
    {"set-nx-px-cad", NONE, PROPERTY_NO_ORPHAN, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_RESEND, PROPERTY_TRUTHFUL, VERDICT_VIOLATED},
    {"set-nx-px-cad", NONE, PROPERTY_TRUTHFUL, VERDICT_HOLDS},
    /* Sent twice: refused for its own, once more; and a transaction without its WATCH. */
    {"set-nx-px-cad", FAULT_DUPLICATE, PROPERTY_TRUTHFUL, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_DUPLICATE, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_DUPLICATE, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"watch-multi-del", FAULT_DUPLICATE, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    /* Refused half way: one command has no half. What stops a timer must not hang on an answer. */
    {"setnx-expire-del", FAULT_ANSWER_ERROR, PROPERTY_PROGRESS, VERDICT_VIOLATED},
    {"lua-setnx-expire-del", FAULT_ANSWER_ERROR, PROPERTY_ALWAYS_EXPIRES, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_ANSWER_ERROR, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"watchdog", FAULT_ANSWER_ERROR, PROPERTY_PROGRESS, VERDICT_VIOLATED},
    {"watchdog-guarded", FAULT_ANSWER_ERROR, PROPERTY_PROGRESS, VERDICT_HOLDS},
    /* The server forgets. */
    {"set-nx-px-cad", FAULT_RESTART, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_FAILOVER, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_EVICT, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_SERVER_CLOCK, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    /* Out of reach: renewals fail, and whoever has set no end believes for ever. */
    {"watchdog", FAULT_SILENT_SERVER, PROPERTY_MUTUAL_EXCLUSION, VERDICT_VIOLATED},
    {"watchdog", FAULT_REFUSING_SERVER, PROPERTY_MUTUAL_EXCLUSION, VERDICT_VIOLATED},
    {"watchdog-guarded", FAULT_SILENT_SERVER, PROPERTY_LOSS_NOTICE, VERDICT_HOLDS},
    {"watchdog-guarded", FAULT_REFUSING_SERVER, PROPERTY_LOSS_NOTICE, VERDICT_HOLDS},
    {"redlock", FAULT_SILENT_SERVER, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"redlock", FAULT_REFUSING_SERVER, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    /* Writes wait: to look first does not help, a script waits as a whole. */
    {"set-nx-ex-get-del", FAULT_CLIENT_PAUSE, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_CLIENT_PAUSE, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    /* A script that is not known has to be sent whole. */
    {"set-nx-px-evalsha", FAULT_FLUSH_SCRIPTS, PROPERTY_NO_ORPHAN, VERDICT_VIOLATED},
    {"set-nx-px-evalsha", FAULT_FLUSH_SCRIPTS, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"set-nx-px-evalsha-eval", FAULT_FLUSH_SCRIPTS, PROPERTY_NO_ORPHAN, VERDICT_HOLDS},
    /* A watchdog that renews, and one that also tells. */
    {"watchdog", FAULT_SLOW_WORK, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"watchdog", FAULT_EVICT, PROPERTY_LOSS_NOTICE, VERDICT_HOLDS},
    {"watchdog-guarded", FAULT_SLOW_WORK, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"watchdog-guarded", FAULT_LATE_REPLY, PROPERTY_FRESH_GRANT, VERDICT_HOLDS},
};

static void finds_what_is_known(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct explore_options options = options_of(known[i].scheme, known[i].fault);
        struct explore_outcome outcome;
        if (!is_in_sample())
            continue;
        run(&options, &outcome);
        enum verdict verdict = outcome.findings[known[i].property].verdict;
        if (verdict != known[i].verdict) {
            print_error("%s with %s: %s %s, not %s\n", known[i].scheme,
                        known[i].fault == NONE ? "no fault"
                                               : fault_name((enum fault)known[i].fault),
                        property_name(known[i].property), verdict_name(verdict),
                        verdict_name(known[i].verdict));
            wrong++;
        }
        explore_outcome_free(&outcome);
    }
    assert_int_equal(wrong, 0);
}

/* What each fault is good for: a scheme that holds without it and is broken with it. */
static const struct {
    const char *scheme;
    enum property property;
    int beside; /* a fault that strikes in both: FAULT + 1 */
} broken_by[FAULT_COUNT] = {
    [FAULT_SLOW_WORK] = {"set-nx-ex-del", PROPERTY_RELEASE_OWN, 0},
    [FAULT_STALL] = {"set-nx-ex-get-del", PROPERTY_RELEASE_OWN, 0},
    [FAULT_LATE_REQUEST] = {"setnx-del", PROPERTY_PROGRESS, 0},
    [FAULT_LATE_REPLY] = {"set-nx-px-cad", PROPERTY_FRESH_GRANT, 0},
    [FAULT_LOSE_REQUEST] = {"setnx-del", PROPERTY_PROGRESS, 0},
    [FAULT_LOSE_REPLY] = {"set-nx-px-cad", PROPERTY_NO_ORPHAN, 0},
    [FAULT_RESEND] = {"set-nx-px-cad", PROPERTY_TRUTHFUL, 0},
    [FAULT_DUPLICATE] = {"set-nx-ex-del", PROPERTY_RELEASE_OWN, 0},
    [FAULT_ANSWER_ERROR] = {"setnx-expire-del", PROPERTY_ALWAYS_EXPIRES, 0},
    [FAULT_CRASH] = {"setnx-expire-del", PROPERTY_ALWAYS_EXPIRES, 0},
    [FAULT_CLIENT_CLOCK] = {"stamp-getset", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_SERVER_CLOCK] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    /* A rate shows when time passes. */
    [FAULT_CLIENT_DRIFT] = {"redlock", PROPERTY_FRESH_GRANT, FAULT_LATE_REPLY + 1},
    [FAULT_SERVER_DRIFT] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, FAULT_SLOW_WORK + 1},
    [FAULT_RESTART] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_RESTART_AOF] = {"set-nx-px-evalsha", PROPERTY_NO_ORPHAN, 0},
    [FAULT_RESTART_OLD] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_FLUSH_ALL] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_FAILOVER] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_EVICT] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_FLUSH_SCRIPTS] = {"set-nx-px-evalsha", PROPERTY_NO_ORPHAN, 0},
    [FAULT_CLIENT_KILL] = {"set-nx-px-cad", PROPERTY_NO_ORPHAN, 0},
    [FAULT_SILENT_SERVER] = {"set-nx-px-cad", PROPERTY_FRESH_GRANT, 0},
    [FAULT_REFUSING_SERVER] = {"setnx-del", PROPERTY_PROGRESS, 0},
    [FAULT_CLIENT_PAUSE] = {"set-nx-ex-get-del", PROPERTY_RELEASE_OWN, 0},
    [FAULT_SAME_TOKEN] = {"set-nx-px-cad-weak-token", PROPERTY_RELEASE_OWN, FAULT_SLOW_WORK + 1},
};

static enum verdict verdict_with(int fault, int row)
{
    struct explore_options options = options_of(broken_by[row].scheme, fault);
    struct explore_outcome outcome;
    if (broken_by[row].beside)
        options.budget[broken_by[row].beside - 1] = 1;
    run(&options, &outcome);
    enum verdict verdict = outcome.findings[broken_by[row].property].verdict;
    explore_outcome_free(&outcome);
    return verdict;
}

static void every_fault_breaks_what_holds_without(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_COUNT; i++) {
        const char *name = fault_name((enum fault)i);
        if (fault_not_of_schemes((enum fault)i)) {
            for (int k = 0; k < schemes_count; k++)
                assert_false(fault_is_applicable((enum fault)i, schemes[k]));
            continue; /* workers show it: harness/test_worker_connections.py */
        }
        if (!broken_by[i].scheme)
            fail_msg("nothing shows what %s does", name);
        if (verdict_with(NONE, i) != VERDICT_HOLDS)
            fail_msg("%s is broken without %s", broken_by[i].scheme, name);
        if (verdict_with(i, i) != VERDICT_VIOLATED)
            fail_msg("%s does not break %s", name, broken_by[i].scheme);
    }
}

/* Of two clocks one runs fast: it finds a stamp past that lasts. Nothing else is needed, and the
 * clock is named for it. */
static void a_drifting_clock_breaks_stamps(void **state)
{
    (void)state;
    for (int fault = NONE;; fault = FAULT_CLIENT_DRIFT) {
        struct explore_options options = options_of("stamp-del-setnx", fault);
        struct explore_outcome outcome;
        int drifts = 0;
        run(&options, &outcome);
        const struct explore_finding *finding = &outcome.findings[PROPERTY_LEASE_EXCLUSION];
        for (int i = 0; i < finding->choices_count; i++)
            drifts += finding->choices[i].kind == CHOICE_CLIENT_DRIFT;
        assert_int_equal(outcome.end, END_COMPLETE);
        assert_int_equal(finding->verdict, fault == NONE ? VERDICT_HOLDS : VERDICT_VIOLATED);
        assert_int_equal(drifts > 0, fault != NONE);
        explore_outcome_free(&outcome);
        if (fault != NONE)
            break;
    }
}

/* The stalled loser's older stamp lets a third client in: it takes two faults, and that is what a
 * witness shows. */
static void finds_what_takes_two_faults(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct explore_outcome outcome;
    run(&options, &outcome);
    assert_int_equal(outcome.findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_HOLDS);
    explore_outcome_free(&outcome);
    options.budget[FAULT_CRASH] = 1;
    run(&options, &outcome);
    assert_int_equal(outcome.findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_VIOLATED);
    assert_int_equal(outcome.findings[PROPERTY_LEASE_EXCLUSION].faults, 2);
    explore_outcome_free(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_known),
        cmocka_unit_test(every_fault_breaks_what_holds_without),
        cmocka_unit_test(a_drifting_clock_breaks_stamps),
        cmocka_unit_test(finds_what_takes_two_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
