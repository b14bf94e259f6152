/* Tests of extends by asking once (ask/): who holds asks for its lease anew, once a hold. What a
 * good one does is silent, what a bad one does is found, as short as can be; and who does not
 * promise it is not asked. Lengths count events, the stroke of slow-work among them. */
#include "ask/asking.h"
#include "explore/search/explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/asked_worker.h"

enum { UNTOUCHED = -1 };

/* A cell of two clients and one attempt each. */
static void search_cell(struct worker_asked *asked, int fault, struct explore_outcome *outcome)
{
    struct explore_options options, own = options_of("set-nx-px-cad", fault);
    own.clients = 2;
    own.rounds = 1;
    own.has_extends = asking_extend(asked->asking) == EXTEND_IS_ASKED;
    search(asked, &own, &options, outcome);
    if (asking_failure(asked->asking)->code)
        fail_msg("%s: %s", asked->command, asking_failure(asked->asking)->text);
    assert_int_equal(outcome->end, END_COMPLETE);
}

/* How many events lead to a violation; UNTOUCHED: it holds. */
static int length_in(const struct explore_outcome *outcome, enum property property)
{
    const struct explore_finding *finding = &outcome->findings[property];
    if (finding->verdict == VERDICT_HOLDS)
        return UNTOUCHED;
    assert_int_equal(finding->verdict, VERDICT_VIOLATED);
    return finding->events;
}

struct lengths {
    int extend_own, truthful, lease_exclusion;
};

static void check_cell(struct worker_asked *asked, int fault, const struct lengths *expected)
{
    struct explore_outcome outcome;
    search_cell(asked, fault, &outcome);
    assert_int_equal(length_in(&outcome, PROPERTY_EXTEND_OWN), expected->extend_own);
    assert_int_equal(length_in(&outcome, PROPERTY_TRUTHFUL), expected->truthful);
    assert_int_equal(length_in(&outcome, PROPERTY_LEASE_EXCLUSION), expected->lease_exclusion);
    explore_outcome_free(&outcome);
}

/* Without a fault, and where holders may be slow. */
static void check(const char *name, struct lengths quick, struct lengths slow)
{
    struct worker_asked asked;
    ask_for(&asked, "scheme_worker", name, 1);
    assert_int_equal(asking_extend(asked.asking), EXTEND_IS_ASKED);
    check_cell(&asked, NONE, &quick);
    check_cell(&asked, FAULT_SLOW_WORK, &slow);
    assert_null(asking_late_doubt(asked.asking));
    ask_again_and_end(&asked);
}

static const struct lengths silent = {UNTOUCHED, UNTOUCHED, UNTOUCHED};

static void what_compares_first_is_silent(void **state)
{
    (void)state;
    check("extending", silent, silent);
    check("extending-anew", silent, silent);
}

/* A asks, its SET is executed, it hears (3), it works slowly, two ticks pass (6), B asks, its SET
 * is executed (8), A asks to extend, and that is executed: 10; A hears that it was: 11. */
static void what_extends_anybodys_is_found(void **state)
{
    (void)state;
    check("extending-anybodys", silent, (struct lengths){10, 11, UNTOUCHED});
}

/* A has the lock (3), extends it (6), works slowly, a tick passes (8), B asks, and is granted what
 * A counts on for another tick: 11. */
static void what_shortens_the_lease_is_found(void **state)
{
    (void)state;
    check("extending-briefly", silent, (struct lengths){UNTOUCHED, UNTOUCHED, 11});
}

/* On this grid nine tenths of a lease are a lease: what is not found then is not known. */
static void what_shortens_the_lease_by_less_than_a_tick_is_told(void **state)
{
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "scheme_worker", "extending-almost", 1);
    check_cell(&asked, FAULT_SLOW_WORK, &silent);
    assert_non_null(asking_late_doubt(asked.asking));
    assert_non_null(strstr(asking_late_doubt(asked.asking), "already 1.8s"));
    asking_free(asked.asking);
}

/* Who is told nothing says so; but A, whose lock it is (3), asks (4), and its answer is lost (6):
 * "not mine" (7). */
static void who_is_told_nothing_and_says_that_it_is_not_its_own_is_found(void **state)
{
    static const struct lengths told = {UNTOUCHED, 7, UNTOUCHED};
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "scheme_worker", "extending-unheard", 1);
    check_cell(&asked, NONE, &silent);
    check_cell(&asked, FAULT_LOSE_REPLY, &told);
    ask_again_and_end(&asked);
    ask_for(&asked, "scheme_worker", "extending", 1);
    check_cell(&asked, FAULT_LOSE_REPLY, &silent);
    ask_again_and_end(&asked);
}

/* The same lock, which does not promise it: as the scheme that it is. */
static void who_does_not_promise_it_is_not_asked(void **state)
{
    struct worker_asked asked;
    struct explore_outcome outcome, by_steps;
    struct explore_options own = options_of("set-nx-px-cad", NONE);
    (void)state;
    LONG_ONLY();
    ask_for(&asked, "scheme_worker", "set-nx-px-cad", 1);
    assert_int_equal(asking_extend(asked.asking), EXTEND_IS_NO_PROMISE);
    search_cell(&asked, NONE, &outcome);
    own.clients = 2;
    own.rounds = 1;
    run(&own, &by_steps);
    assert_int_equal(outcome.states, by_steps.states);
    explore_outcome_free(&outcome);
    explore_outcome_free(&by_steps);
    ask_again_and_end(&asked);
}

/* --- of three servers --- */

/* Two clients and one attempt each, without a fault. */
static void search_quorum(const char *as, bool merges, int learns, struct explore_outcome *outcome)
{
    struct worker_asked asked;
    struct explore_options options, own = options_of("redlock", NONE);
    ask_as(&asked, "quorum_worker", as, 3, merges, learns);
    own.has_extends = asking_extend(asked.asking) == EXTEND_IS_ASKED;
    own.rounds = 1;
    assert_true(own.has_extends);
    search(&asked, &own, &options, outcome);
    if (asking_failure(asked.asking)->code)
        fail_msg("%s: %s", as, asking_failure(asked.asking)->text);
    assert_int_equal(outcome->end, END_COMPLETE);
    ask_again_and_end(&asked);
}

/* A asks, and two servers grant it (3), B asks, and the third grants that (5), and refuses A (6); A
 * hears all of them (9) and has the lock, asks to extend (10), and the third server does: 11. */
static void what_extends_anybodys_on_one_server_of_three_is_found(void **state)
{
    struct explore_outcome outcome;
    (void)state;
    LONG_ONLY();
    search_quorum("extending anybodys", true, LEARNED_WAYS, &outcome);
    assert_int_equal(length_in(&outcome, PROPERTY_EXTEND_OWN), 11);
    explore_outcome_free(&outcome);
}

/* A is granted on three servers (4), hears them (7), asks, and is told (8). */
static void classes_of_histories_change_nothing(void **state)
{
    static const struct {
        const char *as;
        int extend_own, truthful;
    } rows[] = {{"extending", UNTOUCHED, UNTOUCHED}, {"extending in-words", UNTOUCHED, 8}};
    const struct explore_options own = options_of("redlock", NONE);
    (void)state;
    LONG_ONLY();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct explore_outcome whole, merged, learned;
        search_quorum(rows[i].as, false, 0, &whole);
        search_quorum(rows[i].as, true, 0, &merged);
        search_quorum(rows[i].as, true, LEARNED_WAYS, &learned);
        assert_int_equal(length_in(&whole, PROPERTY_EXTEND_OWN), rows[i].extend_own);
        assert_int_equal(length_in(&whole, PROPERTY_TRUTHFUL), rows[i].truthful);
        assert_int_equal(differences(rows[i].as, &own, &whole, &merged), 0);
        assert_int_equal(differences(rows[i].as, &own, &whole, &learned), 0);
        explore_outcome_free(&whole);
        explore_outcome_free(&merged);
        explore_outcome_free(&learned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_compares_first_is_silent),
        cmocka_unit_test(what_extends_anybodys_is_found),
        cmocka_unit_test(what_shortens_the_lease_is_found),
        cmocka_unit_test(what_shortens_the_lease_by_less_than_a_tick_is_told),
        cmocka_unit_test(who_is_told_nothing_and_says_that_it_is_not_its_own_is_found),
        cmocka_unit_test(who_does_not_promise_it_is_not_asked),
        cmocka_unit_test(what_extends_anybodys_on_one_server_of_three_is_found),
        cmocka_unit_test(classes_of_histories_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
