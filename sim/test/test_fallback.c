/* test_fallback.c - what a search that reached a limit tries then: smaller bounds, random runs;
 * what that finds, and what it may not say. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/result/cell.h"
#include "test/cell_said.h"
#include "test/decide.h"
#include "test/sample.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void open_cell(struct cell *cell, const struct scheme *scheme, const char *faults,
                      uint64_t states_max)
{
    struct failure failure = {0};
    cell_init(cell, scheme);
    cell->options.states_max = states_max;
    cell->options.leftovers =
        LEFTOVERS_TOO; /* else a graver violation may stand for a shorter one */
    if (cell_add_faults(cell, faults, &failure))
        fail_msg("%s", failure.text);
}

static void search(struct cell *cell)
{
    struct failure failure = {0};
    if (decide(cell, &failure))
        fail_msg("%s", failure.text);
}

static const struct explore_finding *finding_of(const struct cell *cell, enum property property)
{
    return &cell->outcome.findings[property];
}

/* --- it finds what the search did not come to --- */

static void a_smaller_bound_finds_it(void **state)
{
    struct cell cell;
    char text[CELL_TRIED_MAX], why[CELL_WHY_MAX];
    (void)state;
    open_cell(&cell, scheme_named("set-nx-ex-del"), "stall", 20000);
    cell.options.clients = 5;
    cell.options.rounds = 3;
    search(&cell);
    const struct explore_finding *finding = finding_of(&cell, PROPERTY_LEASE_EXCLUSION);
    assert_int_equal(cell.outcome.end, END_STATES);
    assert_int_equal(finding->verdict, VERDICT_VIOLATED);
    assert_true(cell.witnesses[PROPERTY_LEASE_EXCLUSION].is_confirmed);
    /* The committed matrix: 14 steps, and three clients in one round make them. */
    assert_int_equal(finding->events, 14);
    assert_int_equal(finding->clients, 3);
    assert_int_equal(finding->rounds, 1);
    assert_string_equal(cell_found_by(&cell, PROPERTY_LEASE_EXCLUSION, text, sizeof text),
                        "3 clients with 1 round");
    assert_cell_says(&cell, "broken (unlock-bug, at most 10 steps; late-grant, at most 6 steps)");
    assert_non_null(strstr(cell_tried(&cell, text, sizeof text), "random runs with seed 0"));
    /* What was not found stays unknown, and says what was tried; nothing can be said of progress.
     */
    assert_int_equal(finding_of(&cell, PROPERTY_ALWAYS_EXPIRES)->verdict, VERDICT_UNKNOWN);
    cell_why(&cell, PROPERTY_ALWAYS_EXPIRES, why, sizeof why);
    assert_non_null(strstr(why, "the limit of states was reached; tried: 2 clients with "));
    assert_non_null(strstr(why, " random runs with seed 0"));
    cell_why(&cell, PROPERTY_PROGRESS, why, sizeof why);
    assert_string_equal(why, "the limit of states was reached");
    cell_close(&cell);
}

/* It takes two, and no smaller bound has them. */
static void random_runs_find_it(void **state)
{
    struct cell cell;
    char text[CELL_TRIED_MAX], found_by[CELL_TRIED_MAX];
    (void)state;
    open_cell(&cell, scheme_named("set-nx-ex-del"), "stall", 90);
    cell.options.clients = 2;
    cell.options.rounds = 1;
    search(&cell);
    const struct explore_finding *finding = finding_of(&cell, PROPERTY_RELEASE_OWN);
    assert_int_equal(cell.outcome.end, END_STATES);
    assert_int_equal(finding->verdict, VERDICT_VIOLATED);
    assert_true(cell.witnesses[PROPERTY_RELEASE_OWN].is_confirmed);
    assert_true(finding->run > 0);
    assert_int_equal(finding->clients, 0);
    snprintf(text, sizeof text, "random run %d with seed 0", (int)finding->run);
    assert_string_equal(cell_found_by(&cell, PROPERTY_RELEASE_OWN, found_by, sizeof found_by),
                        text);
    cell_close(&cell);
}

/* --- and stays silent --- */

static void a_whole_search_tries_nothing(void **state)
{
    struct cell cell;
    char text[CELL_TRIED_MAX];
    (void)state;
    open_cell(&cell, scheme_named("set-nx-px-cad"), "stall", 0);
    search(&cell);
    for (int i = 0; i < SECTION_COUNT; i++)
        assert_false(cell.searches[i].tried.is_due);
    assert_string_equal(cell_tried(&cell, text, sizeof text), "");
    assert_string_equal(cell_found_by(&cell, PROPERTY_LEASE_EXCLUSION, text, sizeof text), "");
    assert_true(finding_of(&cell, PROPERTY_FRESH_GRANT)->is_shortest);
    cell_close(&cell);
}

/* Nothing is violated: it is never called safe for that. */
static void what_is_not_found_stays_unknown(void **state)
{
    struct cell cell;
    char text[CELL_TRIED_MAX];
    (void)state;
    open_cell(&cell, scheme_named("set-nx-px-cad"), "none", 300);
    search(&cell);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        assert_int_equal(finding_of(&cell, (enum property)i)->verdict, VERDICT_UNKNOWN);
    assert_cell_says(&cell, "unknown (the limit of states was reached)");
    assert_true(strlen(cell_tried(&cell, text, sizeof text)) > 0);
    cell_close(&cell);
}

static int64_t minute_us;

static int64_t a_minute_each(void)
{
    return minute_us += 60000000;
}

static void without_time_nothing_is_tried(void **state)
{
    struct cell cell;
    char text[CELL_TRIED_MAX];
    (void)state;
    open_cell(&cell, scheme_named("set-nx-px-cad"), "none", 0);
    cell.options.now_us = a_minute_each;
    cell.options.deadline_us = minute_us + 60000000;
    search(&cell);
    assert_int_equal(cell.outcome.end, END_TIME);
    assert_string_equal(cell_tried(&cell, text, sizeof text), "nothing: no time was left");
    cell_close(&cell);
}

/* --- what it finds is so --- */

/* Of the whole search: is that way among those that it knows, and not shorter than the shortest? */
static int judge(const struct cell *cut, const struct cell *whole, int *found)
{
    int wrong = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct explore_finding *met = finding_of(cut, (enum property)i);
        const struct explore_finding *best = finding_of(whole, (enum property)i);
        if (met->verdict == VERDICT_UNKNOWN)
            continue;
        bool is_cost_same = met->faults == best->faults && met->events == best->events;
        bool is_shorter = met->faults < best->faults ||
                          (met->faults == best->faults && met->events < best->events);
        bool is_bad = met->verdict != best->verdict || is_shorter ||
                      (met->is_shortest && !is_cost_same) ||
                      (met->verdict == VERDICT_VIOLATED && !cut->witnesses[i].is_confirmed);
        *found += met->clients > 0 || met->run > 0;
        wrong += is_bad;
        if (is_bad)
            print_error("%s, %s, %s: %s (%d, %d)%s%s, whole: %s (%d, %d)\n",
                        cut->options.scheme->name, cut->faults, property_name((enum property)i),
                        verdict_name(met->verdict), met->faults, met->events,
                        met->is_shortest ? ", the shortest" : "",
                        cut->witnesses[i].is_confirmed ? "" : ", not confirmed",
                        verdict_name(best->verdict), best->faults, best->events);
    }
    return wrong;
}

static void what_is_found_behind_a_limit_is_violated_and_no_shorter(void **state)
{
    static const uint64_t limits[] = {20, 300, 2000};
    int wrong = 0, found = 0;
    (void)state;
    for (int i = 0; i < schemes_count; i++)
        for (int fault = -1; fault < FAULT_COUNT; fault++) {
            const char *faults = fault < 0 ? "none" : fault_name((enum fault)fault);
            struct cell whole, cut;
            if (!is_in_sample())
                continue;
            open_cell(&whole, schemes[i], faults, 0);
            open_cell(&cut, schemes[i], faults, limits[(i + fault + 1) % 3]);
            whole.options.clients = cut.options.clients = 2;
            search(&whole);
            search(&cut);
            wrong += judge(&cut, &whole, &found);
            cell_close(&whole);
            cell_close(&cut);
        }
    assert_int_equal(wrong, 0);
    assert_true(found > 100 / sample_every());
}

/* The same twice. */
static void it_finds_the_same_again(void **state)
{
    struct cell cells[2];
    char text[2][CELL_TRIED_MAX];
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_cell(&cells[i], scheme_named("redlock"), "restart-empty", 3000);
        search(&cells[i]);
        cell_tried(&cells[i], text[i], sizeof text[i]);
    }
    assert_string_equal(text[0], text[1]);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct explore_finding *a = finding_of(&cells[0], (enum property)i);
        const struct explore_finding *b = finding_of(&cells[1], (enum property)i);
        assert_int_equal(a->verdict, b->verdict);
        assert_int_equal(a->choices_count, b->choices_count);
        for (int k = 0; k < a->choices_count; k++)
            assert_memory_equal(&a->choices[k], &b->choices[k], sizeof a->choices[k]);
    }
    cell_close(&cells[0]);
    cell_close(&cells[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smaller_bound_finds_it),
        cmocka_unit_test(random_runs_find_it),
        cmocka_unit_test(a_whole_search_tries_nothing),
        cmocka_unit_test(what_is_not_found_stays_unknown),
        cmocka_unit_test(without_time_nothing_is_tried),
        cmocka_unit_test(what_is_found_behind_a_limit_is_violated_and_no_shorter),
        cmocka_unit_test(it_finds_the_same_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
