/* test_verdict_words.c - the sentences in which a report says what all its rows come to. */
#include "base/memory.h"
#include "report/conclusion.h"
#include "report/report.h"
#include "run/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <setjmp.h>
#include <cmocka.h> /* last: its fail() is a macro */

/* A scenario's row in which a property is violated for that cause, or holds. */
static struct result_row *add(struct results *results, const char *scheme, enum property property,
                              enum cause cause)
{
    struct result_row *row = results_add(results);
    const bool is_violated = cause != CAUSE_NONE;
    (void)snprintf(row->subject, sizeof row->subject, "crash");
    (void)snprintf(row->scheme, sizeof row->scheme, "%s", scheme);
    row->verdict = is_violated ? VERDICT_VIOLATED : VERDICT_HOLDS;
    row->properties = memory_new(1, sizeof *row->properties);
    row->properties_count = 1;
    row->properties[0] = (struct result_property){.property = property,
                                                  .verdict = row->verdict,
                                                  .expected = EXPECTED_NOTHING,
                                                  .cause = cause,
                                                  .count = is_violated};
    row->fail_on = FAIL_ON_SCHEME;
    row->as_expected =
        is_violated && cause_blame(cause) == BLAME_SCHEME ? AS_EXPECTED_NO : AS_EXPECTED_NONE;
    return row;
}

static void add_own(struct results *results, enum property property, enum cause cause)
{
    add(results, "my_lock.py", property, cause)->is_unrated = true;
}

/* Frees words. */
static void assert_words(char *words, const char *wanted)
{
    assert_non_null(words);
    assert_string_equal(words, wanted);
    free(words);
}

static void assert_sides(struct results *results, const char *wanted)
{
    struct view view;
    view_init(&view, results);
    assert_words(view_sides_words(&view), wanted);
    view_close(&view);
    results_free(results);
}

static void assert_verdict(struct results *results, const char *wanted)
{
    struct view view;
    view_init(&view, results);
    assert_words(view_verdict_words(&view), wanted);
    view_close(&view);
    results_free(results);
}

/* A lock of one's own fails, for all causes that are its doing; what waits has broken nothing. */
static void an_own_lock_fails_for_all_its_causes(void **state)
{
    struct results results = {0};
    (void)state;
    add_own(&results, PROPERTY_PROGRESS, CAUSE_ENDLESS_WAIT);
    add_own(&results, PROPERTY_FRESH_GRANT, CAUSE_LATE_GRANT);
    add_own(&results, PROPERTY_LEASE_EXCLUSION, CAUSE_LOST_GRANT);
    assert_sides(&results, "my_lock.py fails: late-grant, endless-wait.");
    add_own(&results, PROPERTY_EXTEND_OWN, CAUSE_FOREIGN_EXTEND);
    add_own(&results, PROPERTY_PROGRESS, CAUSE_STUCK);
    assert_sides(&results, "my_lock.py fails: foreign-extend, stuck.");
    add_own(&results, PROPERTY_LEASE_EXCLUSION, CAUSE_LOST_GRANT);
    assert_sides(&results, "my_lock.py did not break the lock by its own doing.");
}

/* Whether a bug or the server did it nobody saw: nobody is blamed. */
static void a_bug_or_loss_is_no_failure_of_its_own(void **state)
{
    struct results results = {0};
    (void)state;
    add_own(&results, PROPERTY_LEASE_EXCLUSION, CAUSE_BUG_OR_LOSS);
    assert_sides(&results,
                 "my_lock.py broke the lock, or its server or network did (bug-or-loss).");
}

static void a_scheme_of_the_table_broke_the_lock_or_fails_otherwise(void **state)
{
    struct results results = {0};
    (void)state;
    add(&results, "naive-one", PROPERTY_RELEASE_OWN, CAUSE_UNLOCK_BUG)->is_naive = true;
    add(&results, "naive-one", PROPERTY_PROGRESS, CAUSE_STUCK)->is_naive = true;
    add(&results, "safe-one", PROPERTY_PROGRESS, CAUSE_ENDLESS_WAIT);
    assert_sides(&results, "The naive naive-one broke the lock by its own doing (unlock-bug, "
                           "stuck). The safe safe-one did not, but fails in other ways "
                           "(endless-wait).");
}

/* What a stress run did not find may still be there. */
static void a_sample_says_that_it_is_one(void **state)
{
    struct results results = {0};
    (void)state;
    struct result_row *row = add(&results, "naive-one", PROPERTY_RELEASE_OWN, CAUSE_NONE);
    row->is_naive = true;
    row->stress = memory_new(1, sizeof *row->stress);
    assert_sides(&results, "The naive naive-one did not break the lock by its own doing in this "
                           "run.");
}

static void nobody_is_to_blame_only_where_that_is_so(void **state)
{
    struct results results = {0};
    (void)state;
    add_own(&results, PROPERTY_NO_ORPHAN, CAUSE_LEFTOVER);
    assert_verdict(&results, "Nobody is to blame for any violation.");
    add_own(&results, PROPERTY_NO_ORPHAN, CAUSE_LOST_GRANT);
    assert_verdict(&results, "No violation of a run counts as a failure.");
}

/* --- cells --- */

static struct result_row *add_cell(struct results *results, const char *words)
{
    struct result_row *row = results_add(results);
    (void)snprintf(row->subject, sizeof row->subject, "server-clock");
    (void)snprintf(row->scheme, sizeof row->scheme, "my_lock.py");
    row->is_unrated = true;
    row->search = memory_new(1, sizeof *row->search);
    row->properties = memory_new(4, sizeof *row->properties);
    (void)snprintf(row->search->words, sizeof row->search->words, "%s", words);
    return row;
}

static void add_violation(struct result_row *row, enum property property, enum cause cause,
                          int64_t steps)
{
    const int at = row->properties_count++;
    row->properties[at] =
        (struct result_property){.property = property,
                                 .verdict = VERDICT_VIOLATED,
                                 .expected = EXPECTED_NOTHING,
                                 .cause = cause,
                                 .steps = steps,
                                 .is_shortest = true,
                                 .is_failure = cause_blame(cause) == BLAME_SCHEME};
}

static void assert_cell_says(struct result_row *row, const char *words, int headline)
{
    result_name_causes(row);
    assert_string_equal(row->search->words, words);
    assert_ptr_equal(view_headline(row), &row->properties[headline]);
}

/* What the deployment did does not hide what the lock did, and each cause has the steps of its own
 * shortest witness. */
static void a_cell_tells_all_that_counts(void **state)
{
    struct results results = {0};
    (void)state;
    struct result_row *row = add_cell(&results, "safe");
    add_violation(row, PROPERTY_LEASE_EXCLUSION, CAUSE_EARLY_EXPIRY, 7);
    assert_cell_says(row, "broken (early-expiry, 7 steps)", 0);
    add_violation(row, PROPERTY_MUTUAL_EXCLUSION, CAUSE_LATE_GRANT, 9);
    add_violation(row, PROPERTY_FRESH_GRANT, CAUSE_LATE_GRANT, 6);
    add_violation(row, PROPERTY_RELEASE_OWN, CAUSE_UNLOCK_BUG, 8);
    assert_cell_says(row, "broken (unlock-bug, 8 steps; late-grant, 6 steps)", 3);
    row->properties[2].faults = 2; /* shorter, but it takes more of them */
    assert_cell_says(row, "broken (unlock-bug, 8 steps; late-grant, 9 steps)", 3);
    row->properties[3].is_shortest = false;
    for (int i = 0; i < row->properties_count; i++)
        row->properties[i].is_failure = false;
    assert_cell_says(
        row, "broken (unlock-bug, at most 8 steps; late-grant, 9 steps; early-expiry, 7 steps)", 3);
    results_free(&results);
}

/* Its word is that of the gravest cause: so it is counted, too. */
static void a_cell_is_stuck_where_nothing_graver_is_there(void **state)
{
    struct results results = {0};
    struct view view;
    (void)state;
    struct result_row *row = add_cell(&results, "safe");
    add_violation(row, PROPERTY_ALWAYS_EXPIRES, CAUSE_NO_EXPIRY, 1);
    add_violation(row, PROPERTY_FRESH_GRANT, CAUSE_LATE_GRANT, 6);
    assert_cell_says(row, "broken (no-expiry, 1 step; late-grant, 6 steps)", 0);
    add_violation(row, PROPERTY_PROGRESS, CAUSE_STUCK, 3);
    assert_cell_says(row, "stuck (3 steps; no-expiry, 1 step; late-grant, 6 steps)", 2);
    view_init(&view, &results);
    assert_int_equal(view_count(&view).words[CELL_STUCK], 1);
    view_close(&view);
    add_violation(row, PROPERTY_RELEASE_OWN, CAUSE_UNLOCK_BUG, 8);
    row->properties[2].steps = 0;
    assert_cell_says(row,
                     "broken (unlock-bug, 8 steps; stuck, from the start on; no-expiry, 1 step; "
                     "late-grant, 6 steps)",
                     3);
    row->properties[2].cause = CAUSE_ENDLESS_WAIT;
    row->properties[2].steps = 2;
    row->properties_count = 3;
    row->properties[0].verdict = row->properties[1].verdict = VERDICT_HOLDS;
    assert_cell_says(row, "stuck (endless-wait, 2 steps)", 2);
    results_free(&results);
}

/* Of what was not searched it would say nothing. */
static void what_is_nobodys_fault_is_told_of_a_whole_search(void **state)
{
    struct results results = {0};
    (void)state;
    struct result_row *row = add_cell(&results, "unknown (the time was up)");
    add_violation(row, PROPERTY_NO_ORPHAN, CAUSE_LEFTOVER, 3);
    add_violation(row, PROPERTY_MUTUAL_EXCLUSION, CAUSE_OVERRUN, 8);
    result_name_causes(row);
    assert_string_equal(row->search->words, "unknown (the time was up)");
    assert_null(view_headline(row));
    row->search->is_complete = true;
    assert_cell_says(row, "overrun only", 1);
    row->properties[0].is_failure = row->properties[1].is_failure = true; /* --fail-on any */
    assert_cell_says(row, "nobody's fault (overrun, 8 steps; leftover, 3 steps)", 1);
    results_free(&results);
}

static void add_held(struct result_row *row, enum property property)
{
    const int at = row->properties_count++;
    row->properties[at] = (struct result_property){
        .property = property, .verdict = VERDICT_HOLDS, .expected = EXPECTED_NOTHING};
}

/* What each cell shows, and no more: of one in which a server lost the lock, nothing; and of a
 * property that was not judged everywhere, nothing at all. */
static void good_news_is_told_where_it_was_shown(void **state)
{
    struct results results = {0};
    struct view view;
    (void)state;
    struct result_row *row = add_cell(&results, "broken (early-expiry, 7 steps)");
    add_violation(row, PROPERTY_LEASE_EXCLUSION, CAUSE_EARLY_EXPIRY, 7);
    add_held(row, PROPERTY_RELEASE_OWN);
    row = add_cell(&results, "safe");
    add_held(row, PROPERTY_LEASE_EXCLUSION);
    add_held(row, PROPERTY_RELEASE_OWN);
    view_init(&view, &results);
    assert_words(conclusion_held(&view),
                 "Held: no release removed another client's lock (in 2 cells up to their bounds), "
                 "and nobody else got the lock within a lease (in 1 cell up to its bounds; in 1 "
                 "other a server lost the lock).");
    row->properties[0].verdict = VERDICT_UNKNOWN;
    assert_words(conclusion_held(&view), "Held: no release removed another client's lock (in 2 "
                                         "cells up to their bounds).");
    row->properties[1].verdict = VERDICT_VIOLATED;
    row->properties[1].cause = CAUSE_UNLOCK_BUG;
    assert_null(conclusion_held(&view));
    view_close(&view);
    results_free(&results);
}

/* A scenario that shows otherwise is named beside what the cells show. */
static void good_news_of_cells_names_the_runs_that_contradict_it(void **state)
{
    struct results results = {0};
    struct view view;
    (void)state;
    struct result_row *row = add_cell(&results, "safe");
    add_held(row, PROPERTY_LEASE_EXCLUSION);
    view_init(&view, &results);
    assert_words(conclusion_held(&view),
                 "Held: nobody else got the lock within a lease (in 1 cell up to its bounds).");
    view_close(&view);
    row = results_add(&results);
    row->properties = memory_new(PROPERTY_COUNT, sizeof *row->properties);
    row->properties[row->properties_count++] =
        (struct result_property){.property = PROPERTY_LEASE_EXCLUSION,
                                 .verdict = VERDICT_VIOLATED,
                                 .cause = CAUSE_LOST_GRANT,
                                 .expected = EXPECTED_NOTHING};
    view_init(&view, &results);
    assert_words(conclusion_held(&view), "Held: nobody else got the lock within a lease (in 1 cell "
                                         "up to its bounds; in 1 run a server lost the lock).");
    row->properties[0].cause = CAUSE_UNLOCK_BUG;
    assert_null(conclusion_held(&view));
    view_close(&view);
    results_free(&results);
}

static void assert_shown(const struct results *results, const char *where, const char *title)
{
    struct view view;
    view_init(&view, results);
    const struct conclusion conclusion = conclusion_of(&view);
    assert_int_equal(conclusion.count, 1);
    assert_words(conclusion_where(&conclusion.causes[0]), where);
    assert_words(conclusion_example(&conclusion.causes[0]), title);
    view_close(&view);
}

/* A server's clock that jumps is not what somebody asks for who can be stalled, too. */
static void the_plainest_fault_is_shown_and_the_soonest_named(void **state)
{
    struct results results = {0};
    (void)state;
    struct result_row *row = add_cell(&results, "broken (unlock-bug, 12 steps)");
    (void)snprintf(row->subject, sizeof row->subject, "stall");
    add_violation(row, PROPERTY_LEASE_EXCLUSION, CAUSE_UNLOCK_BUG, 14);
    add_violation(row, PROPERTY_RELEASE_OWN, CAUSE_UNLOCK_BUG, 12);
    assert_shown(&results, "in 1 cell, soonest in 12 steps under stall",
                 "The shortest counterexample (unlock-bug)");
    row = add_cell(&results, "broken (unlock-bug, 10 steps)");
    add_violation(row, PROPERTY_RELEASE_OWN, CAUSE_UNLOCK_BUG, 10);
    assert_shown(&results, "in 2 cells, in 12 steps under stall, soonest in 10 under server-clock",
                 "A counterexample (unlock-bug)");
    results_free(&results);
}

static void add_open(struct results *results, const char *fault, const char *why)
{
    struct result_row *row = add_cell(results, "unknown (not decided by asking)");
    (void)snprintf(row->subject, sizeof row->subject, "%s", fault);
    row->verdict = VERDICT_VIOLATED;
    row->as_expected = AS_EXPECTED_NONE;
    (void)snprintf(row->search->end, sizeof row->search->end, "%s", why);
    add_violation(row, PROPERTY_NO_ORPHAN, CAUSE_LEFTOVER, 3);
    row->properties[0].confirmed = CONFIRMED_YES;
}

/* Whatever stands between them. That a leftover was confirmed says nothing of what is unknown. */
static void what_is_open_for_one_reason_stands_together(void **state)
{
    struct results results = {0};
    struct view view;
    char *text = NULL;
    size_t size;
    (void)state;
    add_open(&results, "stall", "a timer");
    add_open(&results, "crash", "a thread");
    add_open(&results, "evict", "a timer");
    view_init(&view, &results);
    const struct conclusion conclusion = conclusion_of(&view);
    assert_words(conclusion_open(&view, &conclusion),
                 "Not decided: stall, evict (a timer), crash (a thread).");
    view_close(&view);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    report_terminal(out, &results, 0);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "unknown (not decided by asking)"));
    assert_null(strstr(text, "confirmed"));
    free(text);
    results_free(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_own_lock_fails_for_all_its_causes),
        cmocka_unit_test(a_bug_or_loss_is_no_failure_of_its_own),
        cmocka_unit_test(a_scheme_of_the_table_broke_the_lock_or_fails_otherwise),
        cmocka_unit_test(a_sample_says_that_it_is_one),
        cmocka_unit_test(a_cell_tells_all_that_counts),
        cmocka_unit_test(a_cell_is_stuck_where_nothing_graver_is_there),
        cmocka_unit_test(what_is_nobodys_fault_is_told_of_a_whole_search),
        cmocka_unit_test(good_news_is_told_where_it_was_shown),
        cmocka_unit_test(good_news_of_cells_names_the_runs_that_contradict_it),
        cmocka_unit_test(nobody_is_to_blame_only_where_that_is_so),
        cmocka_unit_test(the_plainest_fault_is_shown_and_the_soonest_named),
        cmocka_unit_test(what_is_open_for_one_reason_stands_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
