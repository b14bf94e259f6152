/* test_explore_progress.c - progress in the explorer: a lock that cannot be had in time is stuck,
 * and one that can is not; the witness shows it to checks/. */
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
        fail_msg("%s with %s: %s", scheme->name, faults, witness->trouble);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_outlives_patience_is_stuck),
        cmocka_unit_test(a_key_that_goes_in_time_is_not),
        cmocka_unit_test(while_somebody_holds_it_there_is_no_hurry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
