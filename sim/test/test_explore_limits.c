/* test_explore_limits.c - what the explorer counts and hashes, where it stops, and what it refuses.
 */
#include "test/explore_run.h"

#include <string.h>

/* --- counting, hashing --- */

/* Counted by SPIN 6.5.2 on the same protocol written by hand; harness/test_spin.py runs it again
 * where SPIN is installed. */
static void counts_the_states_that_spin_counts(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int fault;
        uint64_t states, transitions;
    } counted[] = {
        {"set-nx-ex-del", NONE, 2131, 5853},
        {"set-nx-ex-del", FAULT_STALL, 17400, 52253},
        {"set-nx-px-cad", NONE, 2131, 5853},
        {"set-nx-px-cad", FAULT_STALL, 15540, 47033},
    };
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        struct explore_options options = options_of(counted[i].scheme, counted[i].fault);
        struct explore_outcome outcome;
        options.reductions = 0;
        run(&options, &outcome);
        assert_int_equal(outcome.states, counted[i].states);
        assert_int_equal(outcome.transitions, counted[i].transitions);
        explore_outcome_free(&outcome);
    }
}

static void nothing_is_lost_to_hashing(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_CLIENT_CLOCK);
    struct explore_outcome plain, other;
    run(&options, &plain);
    assert_true(plain.lost > 0 && plain.lost < 1e-6);
    options.hash_seed = 0x5eed;
    run(&options, &other);
    assert_int_equal(plain.states, other.states);
    assert_int_equal(differences("another seed", &options, &plain, &other), 0);
    explore_outcome_free(&other);
    options.has_full_states = true;
    run(&options, &other);
    assert_int_equal(plain.states, other.states);
    assert_int_equal(plain.transitions, other.transitions);
    assert_true(other.lost == 0);
    explore_outcome_free(&other);
    explore_outcome_free(&plain);
}

/* Two ticks express every order: with more of them the verdicts are the same. */
static void a_lease_of_two_ticks_is_enough(void **state)
{
    (void)state;
    static const char *const names[] = {"set-nx-ex-del", "set-nx-ex-get-del", "set-nx-px-cad",
                                        "setnx-expire-del", "watch-multi-del"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct explore_options options = options_of(names[i], FAULT_STALL);
        struct explore_outcome two, more;
        run(&options, &two);
        for (int ticks = 3; ticks <= 4; ticks++) {
            options.lease_ticks = ticks;
            run(&options, &more);
            for (int p = 0; p < PROPERTY_COUNT; p++)
                assert_int_equal(two.findings[p].verdict, more.findings[p].verdict);
            explore_outcome_free(&more);
        }
        explore_outcome_free(&two);
    }
}

/* --- limits and bad input --- */

static void a_limit_leaves_what_is_not_known(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct explore_outcome outcome;
    options.states_max = 2000;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_STATES);
    assert_int_equal(outcome.findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_UNKNOWN);
    assert_int_equal(outcome.findings[PROPERTY_NO_CRASH].verdict, VERDICT_VIOLATED);
    assert_int_equal(outcome.findings[PROPERTY_PROGRESS].verdict, VERDICT_UNKNOWN);
    explore_outcome_free(&outcome);
    options.states_max = 0;
    options.bytes_max = 1;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_BYTES);
    explore_outcome_free(&outcome);
}

static int64_t a_late_hour(void)
{
    return 1000;
}

static void time_that_is_up_ends_a_search(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct explore_outcome outcome;
    options.now_us = a_late_hour;
    options.deadline_us = 1000;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_TIME);
    explore_outcome_free(&outcome);
}

static void what_a_server_lacks_is_not_explored(void **state)
{
    (void)state;
    struct explore_options options = options_of("set-ifeq-delex", NONE);
    struct scheme says_nothing = *options.scheme;
    struct explore_outcome outcome;
    says_nothing.needs_delex = false;
    options.scheme = &says_nothing;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_UNSUPPORTED);
    assert_int_equal(outcome.findings[PROPERTY_MUTUAL_EXCLUSION].verdict, VERDICT_UNKNOWN);
    explore_outcome_free(&outcome);
}

/* DELEX IFEQ does at once what the script does: the same verdicts, in as many steps. */
static void a_newer_server_is_there_for_who_needs_it(void **state)
{
    (void)state;
    for (int fault = 0; fault <= FAULT_COUNT; fault++) {
        struct explore_options newer = options_of("set-ifeq-delex", fault);
        struct explore_options older = options_of("set-nx-px-cad", fault);
        struct explore_outcome one, other;
        run(&newer, &one);
        run(&older, &other);
        assert_int_equal(one.end, END_COMPLETE);
        assert_int_equal(one.states, other.states);
        for (int p = 0; p < PROPERTY_COUNT; p++) {
            assert_int_equal(one.findings[p].verdict, other.findings[p].verdict);
            assert_int_equal(one.findings[p].events, other.findings[p].events);
        }
        explore_outcome_free(&one);
        explore_outcome_free(&other);
    }
}

static void bounds_are_told(void **state)
{
    (void)state;
    struct explore_options options = options_of("set-nx-px-cad", NONE);
    struct explore_outcome outcome;
    struct failure failure = {0};
    options.clients = EXPLORE_CLIENTS_MAX + 1;
    assert_int_equal(explore(&options, &outcome, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "clients wants 1 to 6, not 7"));
    options.clients = 2;
    options.budget[FAULT_STALL] = EXPLORE_FAULTS_MAX + 1;
    assert_int_equal(explore(&options, &outcome, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "faults"));
    options.budget[FAULT_STALL] = 0;
    options.rounds = 0;
    assert_int_equal(explore(&options, &outcome, &failure), FAIL_INPUT);
}

static void faults_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_COUNT; i++) {
        enum fault fault;
        assert_true(fault_read(fault_name((enum fault)i), &fault));
        assert_int_equal(fault, i);
        assert_true(*fault_words(fault));
    }
    enum fault fault;
    assert_false(fault_read("no-such-fault", &fault));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_the_states_that_spin_counts),
        cmocka_unit_test(nothing_is_lost_to_hashing),
        cmocka_unit_test(a_lease_of_two_ticks_is_enough),
        cmocka_unit_test(a_limit_leaves_what_is_not_known),
        cmocka_unit_test(time_that_is_up_ends_a_search),
        cmocka_unit_test(what_a_server_lacks_is_not_explored),
        cmocka_unit_test(a_newer_server_is_there_for_who_needs_it),
        cmocka_unit_test(bounds_are_told),
        cmocka_unit_test(faults_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
