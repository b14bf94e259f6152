/* test_explore_sections.c - the explorer with critical sections that do something: fence-order and
 * no-lost-update, their witnesses, reductions that change no verdict. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/result/cell.h"
#include "test/decide.h"
#include "test/explore_replay.h"
#include "test/sample.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { NONE = FAULT_COUNT }; /* in tables: no fault */

static enum property judged_by(enum section section)
{
    return section == SECTION_WRITE ? PROPERTY_FENCE_ORDER : PROPERTY_NO_LOST_UPDATE;
}

/* One property is asked: the search ends where it is found violated. */
static struct explore_options options_of(const char *scheme, enum section section, int fault)
{
    struct explore_options options = {.scheme = scheme_named(scheme),
                                      .clients = 3,
                                      .rounds = 2,
                                      .servers = 1,
                                      .section = section,
                                      .reductions = REDUCE_ALL,
                                      .skips_progress = true,
                                      .sought = 1u << judged_by(section)};
    assert_non_null(options.scheme);
    if (options.scheme->needs_quorum) {
        options.clients = 2;
        options.rounds = 1;
        options.servers = 3;
    }
    if (fault != NONE)
        options.budget[fault] = 1;
    return options;
}

static void run(const struct explore_options *options, struct explore_outcome *outcome)
{
    struct failure failure = {0};
    if (explore(options, outcome, &failure))
        fail_msg("%s", failure.text);
}

static const char *words_of(int fault)
{
    return fault == NONE ? "no fault" : fault_name((enum fault)fault);
}

/* --- what is known --- */

static const struct {
    const char *scheme;
    enum section section;
    int fault;
    enum verdict verdict;
} known[] = {
    /* Minted in the step that grants, fences make an overrun harmless; but a server that forgets
       them mints them again. */
    {"fenced", SECTION_WRITE, NONE, VERDICT_HOLDS},
    {"fenced", SECTION_WRITE, FAULT_SLOW_WORK, VERDICT_HOLDS},
    {"fenced", SECTION_WRITE, FAULT_STALL, VERDICT_HOLDS},
    {"fenced", SECTION_WRITE, FAULT_LATE_REQUEST, VERDICT_HOLDS},
    {"fenced", SECTION_WRITE, FAULT_EVICT, VERDICT_HOLDS},
    {"fenced", SECTION_WRITE, FAULT_RESTART, VERDICT_VIOLATED},
    {"fenced", SECTION_WRITE, FAULT_FAILOVER, VERDICT_VIOLATED},
    /* Fetched by a command of their own they come in the wrong order. */
    {"fenced-late-incr", SECTION_WRITE, NONE, VERDICT_HOLDS},
    {"fenced-late-incr", SECTION_WRITE, FAULT_SLOW_WORK, VERDICT_HOLDS},
    {"fenced-late-incr", SECTION_WRITE, FAULT_STALL, VERDICT_VIOLATED},
    {"fenced-late-incr", SECTION_WRITE, FAULT_EVICT, VERDICT_VIOLATED},
    /* Without a fence the resource takes what is stale. */
    {"set-nx-px-cad", SECTION_WRITE, NONE, VERDICT_HOLDS},
    {"set-nx-px-cad", SECTION_WRITE, FAULT_SLOW_WORK, VERDICT_VIOLATED},
    {"set-nx-px-cad", SECTION_WRITE, FAULT_LATE_REQUEST, VERDICT_VIOLATED},
    /* An update is lost when two are in the section, whatever let them in. */
    {"set-nx-px-cad", SECTION_COUNTER, NONE, VERDICT_HOLDS},
    {"set-nx-px-cad", SECTION_COUNTER, FAULT_SLOW_WORK, VERDICT_VIOLATED},
    {"set-nx-px-cad", SECTION_COUNTER, FAULT_STALL, VERDICT_VIOLATED},
    {"set-nx-px-cad", SECTION_COUNTER, FAULT_LATE_REQUEST, VERDICT_VIOLATED},
    {"set-nx-px-cad", SECTION_COUNTER, FAULT_RESEND, VERDICT_HOLDS}, /* the same write twice */
    {"set-nx-px-cad", SECTION_COUNTER, FAULT_CRASH, VERDICT_HOLDS},
    {"set-nx-px-cad", SECTION_COUNTER, FAULT_RESTART, VERDICT_VIOLATED},
    {"set-nx-ex-del", SECTION_COUNTER, FAULT_RESEND, VERDICT_VIOLATED}, /* but a DEL twice */
    {"setnx-del", SECTION_COUNTER, FAULT_STALL, VERDICT_HOLDS},
    {"fenced", SECTION_COUNTER, FAULT_STALL, VERDICT_VIOLATED}, /* nobody looks at its fence */
    {"stamp-getset", SECTION_COUNTER, NONE, VERDICT_HOLDS},
    {"stamp-getset", SECTION_COUNTER, FAULT_CLIENT_CLOCK, VERDICT_VIOLATED},
    {"watchdog", SECTION_COUNTER, FAULT_SLOW_WORK, VERDICT_HOLDS},
    {"watchdog-guarded", SECTION_COUNTER, FAULT_SLOW_WORK, VERDICT_HOLDS},
    {"redlock", SECTION_COUNTER, NONE, VERDICT_HOLDS},
    {"redlock", SECTION_COUNTER, FAULT_LOSE_REQUEST, VERDICT_HOLDS},
    {"redlock", SECTION_COUNTER, FAULT_RESTART, VERDICT_VIOLATED},
};

static void finds_what_is_known(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        enum property property = judged_by(known[i].section);
        struct explore_options options =
            options_of(known[i].scheme, known[i].section, known[i].fault);
        struct explore_outcome outcome;
        run(&options, &outcome);
        enum verdict verdict = outcome.findings[property].verdict;
        if (verdict != known[i].verdict) {
            print_error("%s with %s: %s %s, not %s\n", known[i].scheme, words_of(known[i].fault),
                        property_name(property), verdict_name(verdict),
                        verdict_name(known[i].verdict));
            wrong++;
        }
        explore_outcome_free(&outcome);
    }
    assert_int_equal(wrong, 0);
}

/* Counted by hand: A's SET (call, arrive, hear) and its GET (send, arrive, hear); slow, two ticks;
 * the same six of B, and B's write (send, arrive); A's (send, arrive). */
static void witness_is_the_shortest(void **state)
{
    (void)state;
    struct explore_options options = options_of("set-nx-px-cad", SECTION_COUNTER, FAULT_SLOW_WORK);
    struct explore_outcome outcome;
    run(&options, &outcome);
    const struct explore_finding *finding = &outcome.findings[PROPERTY_NO_LOST_UPDATE];
    assert_int_equal(finding->faults, 1);
    assert_int_equal(finding->events, 6 + 1 + 2 + 6 + 2 + 2);
    explore_outcome_free(&outcome);
}

/* --- witnesses --- */

static bool replays(const struct explore_options *options, const struct explore_outcome *outcome,
                    enum property property)
{
    static struct finding findings[PROPERTY_COUNT];
    const struct explore_finding *finding = &outcome->findings[property];
    struct failure failure = {0};
    const struct replay replay = {.scheme = options->scheme,
                                  .clients = options->clients,
                                  .servers = options->servers,
                                  .lease_us = outcome->lease_us,
                                  .same_token = outcome->same_token,
                                  .has_replica = outcome->has_replica};
    bool delayed =
        replay_choices(&replay, finding->choices, finding->choices_count, findings, &failure);
    if (delayed && findings[property].verdict == VERDICT_VIOLATED)
        return true;
    print_error("%s: %s: %s\n", options->scheme->name, property_name(property),
                delayed ? "not seen by the checks" : failure.text);
    return false;
}

static void witnesses_replay(void **state)
{
    (void)state;
    int replayed = 0, wrong = 0;
    for (int i = 0; i < schemes_count; i++) {
        for (int fault = 0; fault <= FAULT_COUNT; fault++) {
            for (int section = SECTION_WRITE; section < SECTION_COUNT; section++) {
                if (!is_in_sample())
                    continue;
                enum property property = judged_by((enum section)section);
                struct explore_options options =
                    options_of(schemes[i]->name, (enum section)section, fault);
                struct explore_outcome outcome;
                run(&options, &outcome);
                if (outcome.findings[property].verdict == VERDICT_VIOLATED) {
                    assert_int_equal(outcome.end, END_ENOUGH);
                    replayed++;
                    wrong += !replays(&options, &outcome, property);
                }
                explore_outcome_free(&outcome);
            }
        }
    }
    assert_true(replayed > 100 / sample_every());
    assert_int_equal(wrong, 0);
}

/* --- reductions --- */

static int compare_reductions(const char *scheme, enum section section, int fault)
{
    static const unsigned subsets[] = {REDUCE_CLIENTS, REDUCE_SERVERS, REDUCE_EAGER, REDUCE_ALL};
    struct explore_options options = options_of(scheme, section, fault);
    struct explore_outcome plain, reduced;
    int wrong = 0;
    options.rounds = 1;
    options.sought = 0;
    options.reductions = 0;
    run(&options, &plain);
    for (size_t i = 0; i < sizeof subsets / sizeof *subsets; i++) {
        options.reductions = subsets[i];
        run(&options, &reduced);
        for (int p = 0; p < PROPERTY_COUNT; p++) {
            const struct explore_finding *a = &plain.findings[p], *b = &reduced.findings[p];
            if (a->verdict == b->verdict && a->faults == b->faults && a->events == b->events)
                continue;
            wrong++;
            print_error("%s with %s: %s: %s or %s\n", scheme, words_of(fault),
                        property_name((enum property)p), verdict_name(a->verdict),
                        verdict_name(b->verdict));
        }
        assert_true(reduced.states <= plain.states);
        explore_outcome_free(&reduced);
    }
    explore_outcome_free(&plain);
    return wrong;
}

static void reductions_change_no_verdict(void **state)
{
    (void)state;
    static const char *const names[] = {"set-nx-ex-del", "fenced", "fenced-late-incr",
                                        "stamp-getset", "redlock"};
    static const int faults[] = {NONE, FAULT_STALL, FAULT_RESEND, FAULT_RESTART};
    int wrong = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
            for (int section = SECTION_WRITE; section < SECTION_COUNT; section++)
                if (is_in_sample())
                    wrong += compare_reductions(names[i], (enum section)section, faults[k]);
    assert_int_equal(wrong, 0);
}

/* --- the rest --- */

/* What a section does not do is not judged, and makes no state more. */
static void only_what_it_does_is_judged(void **state)
{
    (void)state;
    for (int section = 0; section < SECTION_COUNT; section++) {
        struct explore_options options =
            options_of("fenced-late-incr", (enum section)section, FAULT_STALL);
        struct explore_outcome outcome;
        options.sought = 0;
        run(&options, &outcome);
        assert_int_equal(outcome.end, END_COMPLETE);
        for (int p = 0; p < PROPERTY_COUNT; p++) {
            bool is_judged = explore_judges((enum section)section, (enum property)p);
            if (!is_judged)
                assert_int_equal(outcome.findings[p].verdict, VERDICT_UNKNOWN);
            assert_true(is_judged || !explore_promises(&options, (enum property)p));
        }
        assert_int_equal(outcome.findings[PROPERTY_MUTUAL_EXCLUSION].verdict, VERDICT_VIOLATED);
        assert_int_equal(outcome.findings[PROPERTY_NO_ORPHAN].verdict, VERDICT_HOLDS);
        explore_outcome_free(&outcome);
    }
}

/* --- a cell of the matrix --- */

static void run_cell(struct cell *cell, const char *scheme, const char *faults, unsigned ignored)
{
    struct failure failure = {0};
    cell_init(cell, scheme_named(scheme));
    cell->ignored = ignored;
    if (cell_add_faults(cell, faults, &failure) || decide(cell, &failure))
        fail_msg("%s", failure.text);
}

static void a_cell_answers_what_needs_a_section(void **state)
{
    (void)state;
    const unsigned both = 1u << PROPERTY_FENCE_ORDER | 1u << PROPERTY_NO_LOST_UPDATE;
    struct cell cell, alone;
    run_cell(&cell, "fenced-late-incr", "stall", 0);
    run_cell(&alone, "fenced-late-incr", "stall", both);
    const struct explore_finding *findings = cell.outcome.findings;
    assert_int_equal(findings[PROPERTY_FENCE_ORDER].verdict, VERDICT_VIOLATED);
    assert_int_equal(cell.witnesses[PROPERTY_FENCE_ORDER].cause, CAUSE_FENCE_DISORDER);
    assert_int_equal(findings[PROPERTY_NO_LOST_UPDATE].verdict, VERDICT_VIOLATED);
    assert_true(cell.witnesses[PROPERTY_NO_LOST_UPDATE].is_confirmed);
    assert_int_equal(cell.outcome.end, END_COMPLETE);
    /* The others are answered without, and cost nothing more. */
    assert_true(alone.outcome.states < cell.outcome.states);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (both >> i & 1)
            assert_int_equal(alone.outcome.findings[i].verdict, VERDICT_UNKNOWN);
        else
            assert_int_equal(alone.outcome.findings[i].events, findings[i].events);
    }
    cell_close(&alone);
    cell_close(&cell);
}

/* A scheme without fences promises none: its stale writes are found where they are asked for. */
static void only_fences_are_asked_for_order(void **state)
{
    (void)state;
    enum section section;
    struct cell cell;
    cell_init(&cell, scheme_named("set-nx-px-cad"));
    assert_false(cell_asks(&cell, PROPERTY_FENCE_ORDER, &section));
    assert_true(cell_asks(&cell, PROPERTY_NO_LOST_UPDATE, &section));
    assert_int_equal(section, SECTION_COUNTER);
    cell.has_one_section = true;
    assert_false(cell_asks(&cell, PROPERTY_NO_LOST_UPDATE, &section));
    cell.options.section = SECTION_WRITE;
    assert_true(cell_asks(&cell, PROPERTY_FENCE_ORDER, &section));
    cell_init(&cell, scheme_named("fenced"));
    assert_true(cell_asks(&cell, PROPERTY_FENCE_ORDER, &section));
    assert_int_equal(section, SECTION_WRITE);
}

/* What a further search could not finish, its cell has not finished. */
static void a_limit_of_any_search_is_the_cells(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct cell cell;
    cell_init(&cell, scheme_named("set-nx-px-cad"));
    cell.options.states_max = 500; /* the first search needs 419 */
    assert_int_equal(decide(&cell, &failure), FAIL_NONE);
    assert_int_equal(cell.outcome.findings[PROPERTY_MUTUAL_EXCLUSION].verdict, VERDICT_HOLDS);
    assert_int_equal(cell.outcome.findings[PROPERTY_NO_LOST_UPDATE].verdict, VERDICT_UNKNOWN);
    assert_int_equal(cell.outcome.end, END_STATES);
    cell_close(&cell);
}

static void sections_have_names(void **state)
{
    (void)state;
    enum section section;
    for (int i = 0; i < SECTION_COUNT; i++) {
        assert_true(section_read(section_name((enum section)i), &section));
        assert_int_equal(section, i);
    }
    assert_false(section_read("nothing", &section));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_known),
        cmocka_unit_test(witness_is_the_shortest),
        cmocka_unit_test(witnesses_replay),
        cmocka_unit_test(reductions_change_no_verdict),
        cmocka_unit_test(only_what_it_does_is_judged),
        cmocka_unit_test(a_cell_answers_what_needs_a_section),
        cmocka_unit_test(only_fences_are_asked_for_order),
        cmocka_unit_test(a_limit_of_any_search_is_the_cells),
        cmocka_unit_test(sections_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
