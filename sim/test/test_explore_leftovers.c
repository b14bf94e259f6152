/* test_explore_leftovers.c - who is refused by what he has left behind: told, but never in place of
 * an untruth of the scheme's own. */
#include "test/explore_run.h"
#include "test/wrong_locks.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static struct explore_finding truthful_with(const char *scheme, int fault, enum leftovers leftovers)
{
    struct explore_options options = options_of(scheme, fault);
    struct explore_outcome outcome;
    options.leftovers = leftovers;
    run(&options, &outcome);
    struct explore_finding found = outcome.findings[PROPERTY_TRUTHFUL];
    found.choices = NULL;
    explore_outcome_free(&outcome);
    return found;
}

/* Who is refused by what a lost message has left behind is told an untruth, by nobody's fault. It
 * is told, and never in place of one that is the scheme's. */
static void what_is_left_behind_hides_no_other_untruth(void **state)
{
    static const int faults[] = {FAULT_LOSE_REPLY, FAULT_RESEND, FAULT_ANSWER_ERROR};
    int told = 0, hidden = 0;
    (void)state;
    for (int i = 0; i < schemes_count; i++)
        for (int k = 0; k < 3 && !schemes[i]->needs_quorum; k++) {
            const char *name = schemes[i]->name;
            struct explore_finding last = truthful_with(name, faults[k], LEFTOVERS_LAST);
            struct explore_finding other = truthful_with(name, faults[k], LEFTOVERS_NEVER);
            struct explore_finding any = truthful_with(name, faults[k], LEFTOVERS_TOO);
            bool is_other = other.verdict == VERDICT_VIOLATED;
            const struct explore_finding *right = is_other ? &other : &any;
            assert_int_equal(last.verdict, any.verdict);
            assert_int_equal(last.verdict, right->verdict);
            assert_int_equal(last.faults, right->faults);
            assert_int_equal(last.events, right->events);
            told += !is_other && any.verdict == VERDICT_VIOLATED;
            hidden += is_other && (any.faults != other.faults || any.events != other.events);
        }
    assert_true(told > 0);
    assert_true(hidden > 0);
}

/* Says "released" of what it knows nothing of: its key may still be there. */
WRONG_LOCK(released_always, .ttl_halves = 2, .releases_always = true)

static struct explore_finding orphan_with(const struct scheme *scheme, enum leftovers leftovers)
{
    struct explore_options options = options_of("set-nx-px-cad", FAULT_LATE_REQUEST);
    struct explore_outcome outcome;
    options.scheme = scheme;
    options.leftovers = leftovers;
    options.sought = 1u << PROPERTY_NO_ORPHAN; /* it ends when no other can come any more */
    run(&options, &outcome);
    struct explore_finding found = outcome.findings[PROPERTY_NO_ORPHAN];
    found.choices = NULL;
    explore_outcome_free(&outcome);
    return found;
}

/* A late SET leaves a key behind in fewer steps, and by nobody's fault: it must not stand before a
 * release that told an untruth. Where there is no such, it is told. */
static void what_comes_late_hides_no_untrue_release(void **state)
{
    (void)state;
    struct explore_finding last = orphan_with(&scheme_released_always, LEFTOVERS_LAST);
    struct explore_finding other = orphan_with(&scheme_released_always, LEFTOVERS_NEVER);
    struct explore_finding any = orphan_with(&scheme_released_always, LEFTOVERS_TOO);
    assert_int_equal(other.verdict, VERDICT_VIOLATED);
    assert_int_equal(last.events, other.events);
    assert_true(any.events < other.events);
    const struct scheme *right = scheme_named("set-nx-px-cad");
    assert_int_equal(orphan_with(right, LEFTOVERS_NEVER).verdict, VERDICT_HOLDS);
    assert_int_equal(orphan_with(right, LEFTOVERS_LAST).events, any.events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_behind_hides_no_other_untruth),
        cmocka_unit_test(what_comes_late_hides_no_untrue_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
