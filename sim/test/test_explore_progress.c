/* test_explore_progress.c - progress in the explorer: a lock that cannot be had in time is stuck,
 * and one that can is not; the witness shows it to checks/. */
#include "test/cell_said.h"
#include "test/mutant_search.h"
#include "test/wrong_locks.h"

/* The lease is two ticks, patience four; a key of five is there when patience ends. */
WRONG_LOCK(ttl_right, .ttl_halves = 2)
WRONG_LOCK(ttl_patience, .ttl_halves = 4)
WRONG_LOCK(ttl_longer, .ttl_halves = 5)
WRONG_LOCK(ttl_tenfold, .ttl_halves = 20)
WRONG_LOCK(ttl_never, .ttl_halves = 0)

static void assert_stuck(const struct scheme *scheme, const char *faults, int events)
{
    struct cell cell;
    mutant_search(&cell, scheme, faults, SECTION_NOTHING);
    const struct explore_finding *found = &cell.outcome.findings[PROPERTY_PROGRESS];
    const struct cell_witness *witness = &cell.witnesses[PROPERTY_PROGRESS];
    assert_int_equal(found->verdict, VERDICT_VIOLATED);
    assert_int_equal(found->events, events);
    if (!witness->is_confirmed)
        fail_msg("%s with %s: %s", scheme->name, faults, witness->error);
    assert_int_equal(witness->cause, CAUSE_STUCK);
    cell_close(&cell);
}

static void assert_progress(const struct scheme *scheme, const char *faults)
{
    struct cell cell;
    mutant_search(&cell, scheme, faults, SECTION_NOTHING);
    assert_int_equal(cell.outcome.end, END_COMPLETE);
    assert_int_equal(cell.outcome.findings[PROPERTY_PROGRESS].verdict, VERDICT_HOLDS);
    cell_close(&cell);
}

/* Asked, executed, and then nobody is there who would delete it. */
static void a_key_that_outlives_patience_is_stuck(void **state)
{
    (void)state;
    assert_stuck(&scheme_ttl_longer, "crash", 3);
    assert_stuck(&scheme_ttl_longer, "lose-reply", 3);
    assert_stuck(&scheme_ttl_tenfold, "crash", 3);
    assert_stuck(&scheme_ttl_tenfold, "lose-reply", 3);
    assert_stuck(&scheme_ttl_never, "crash", 3);
}

static void a_key_that_goes_in_time_is_not(void **state)
{
    (void)state;
    assert_progress(&scheme_ttl_right, "crash");
    assert_progress(&scheme_ttl_right, "lose-reply");
    assert_progress(&scheme_ttl_patience, "crash");
    assert_progress(&scheme_ttl_patience, "lose-reply");
}

/* It is deleted when its holder is done, and nobody can say that it had to be sooner. */
static void while_somebody_holds_it_there_is_no_hurry(void **state)
{
    (void)state;
    assert_progress(&scheme_ttl_tenfold, "none");
    assert_progress(&scheme_ttl_tenfold, "slow-work");
    assert_progress(&scheme_ttl_tenfold, "server-clock");
}

/* --- nobody can ever acquire it --- */

WRONG_LOCK(setnx_wants_ok, .ttl_halves = 0, .expects = ANSWER_OTHER)
WRONG_LOCK(set_wants_one, .ttl_halves = 2, .expects = ANSWER_OTHER)
WRONG_LOCK(nothing_is_right, .ttl_halves = 2, .expects = ANSWER_NONE)
WRONG_LOCK(always_refused, .ttl_halves = 2, .expects = ANSWER_NONE, .refuses_always = true)
WRONG_LOCK(setnx_always_refused, .ttl_halves = 0, .expects = ANSWER_NONE, .refuses_always = true)
WRONG_LOCK(tries_for_ever, .ttl_halves = 0, .tries_again = true)
WRONG_LOCK(nonsense, .ttl_halves = 2, .asks_nonsense = true)
WRONG_LOCK(late_riser, .ttl_halves = 2, .sleeps_halves = 5)
WRONG_LOCK(early_riser, .ttl_halves = 2, .sleeps_halves = 4)

static void assert_words(const struct scheme *scheme, const char *words)
{
    struct cell cell;
    mutant_search(&cell, scheme, "none", SECTION_NOTHING);
    assert_cell_says(&cell, words);
    cell_close(&cell);
}

static void one_step_is_no_steps(void **state)
{
    struct cell cell;
    (void)state;
    cell_init(&cell, &scheme_always_refused);
    cell.outcome.findings[PROPERTY_PROGRESS] =
        (struct explore_finding){.verdict = VERDICT_VIOLATED, .events = 1, .is_shortest = true};
    cell.witnesses[PROPERTY_PROGRESS].cause = CAUSE_STUCK;
    assert_cell_says(&cell, "stuck (1 step)");
    cell.outcome.findings[PROPERTY_PROGRESS].events = 2;
    assert_cell_says(&cell, "stuck (2 steps)");
}

static void a_lock_that_nobody_ever_has_is_stuck_from_the_start(void **state)
{
    static const struct scheme *const never[] = {&scheme_setnx_wants_ok, &scheme_set_wants_one,
                                                 &scheme_nothing_is_right, &scheme_always_refused,
                                                 &scheme_setnx_always_refused};
    (void)state;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        assert_stuck(never[i], "none", 0);
        assert_stuck(never[i], "crash", 0);
    }
    assert_words(&scheme_setnx_wants_ok,
                 "stuck (from the start on; no-expiry, 3 steps; unreleased, 3 steps)");
    assert_words(&scheme_nonsense, "stuck (from the start on)");
}

static void an_acquire_that_tries_for_ever_shows_it(void **state)
{
    (void)state;
    assert_stuck(&scheme_tries_for_ever, "crash", 3);
}

/* What all ways together show, and no single one, is violated, and nothing to be confirmed; but it
 * is no error. */
static void what_no_replay_shows_is_said(void **state)
{
    static const struct {
        const struct scheme *scheme;
        const char *says;
    } rows[] = {{&scheme_nonsense, "nobody can ever acquire the lock"},
                {&scheme_late_riser, "nobody is granted the lock in time"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cell cell;
        mutant_search(&cell, rows[i].scheme, "none", SECTION_NOTHING);
        const struct cell_witness *witness = &cell.witnesses[PROPERTY_PROGRESS];
        assert_int_equal(cell.outcome.findings[PROPERTY_PROGRESS].verdict, VERDICT_VIOLATED);
        assert_false(witness->is_confirmed);
        assert_null(witness->error);
        assert_int_equal(witness->cause, CAUSE_STUCK);
        assert_int_equal(witness->lines, 2);
        assert_non_null(strstr(witness->text[0], rows[i].says));
        cell_close(&cell);
    }
    assert_progress(&scheme_early_riser, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_outlives_patience_is_stuck),
        cmocka_unit_test(a_key_that_goes_in_time_is_not),
        cmocka_unit_test(while_somebody_holds_it_there_is_no_hurry),
        cmocka_unit_test(one_step_is_no_steps),
        cmocka_unit_test(a_lock_that_nobody_ever_has_is_stuck_from_the_start),
        cmocka_unit_test(an_acquire_that_tries_for_ever_shows_it),
        cmocka_unit_test(what_no_replay_shows_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
