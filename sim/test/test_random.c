/* test_random.c - the random search: what it finds is as short as what the exhaustive one finds,
 * the same for the same seed, and never "holds". */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/search/explore.h"
#include "explore/result/cell.h"
#include "test/explore_replay.h"
#include "test/sample.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

enum { NONE = FAULT_COUNT }; /* in tables: no fault */

static struct explore_options options_of(const struct scheme *scheme, int fault)
{
    struct cell cell;
    cell_init(&cell, scheme);
    if (fault != NONE)
        cell.options.budget[fault] = 1;
    cell.options.skips_progress = true;
    return cell.options;
}

static struct explore_options random_options(const char *scheme, int fault, uint64_t runs)
{
    struct explore_options options = options_of(scheme_named(scheme), fault);
    options.search = SEARCH_RANDOM;
    options.seed = 1;
    options.runs_max = runs;
    return options;
}

static void run(const struct explore_options *options, struct explore_outcome *outcome)
{
    struct failure failure = {0};
    if (explore(options, outcome, &failure))
        fail_msg("%s", failure.text);
}

/* --- against the exhaustive search --- */

/* Its witness replays, and checks/ sees the violation. */
static bool is_confirmed(const struct explore_options *options,
                         const struct explore_outcome *outcome, enum property property)
{
    struct finding *findings = calloc(PROPERTY_COUNT, sizeof *findings);
    struct failure failure = {0};
    const struct replay replay = {.scheme = options->scheme,
                                  .clients = options->clients,
                                  .servers = options->servers,
                                  .lease_us = outcome->lease_us,
                                  .same_token = outcome->same_token,
                                  .has_replica = outcome->has_replica};
    const struct explore_finding *finding = &outcome->findings[property];
    bool delayed =
        replay_choices(&replay, finding->choices, finding->choices_count, findings, &failure);
    bool is_seen = delayed && findings[property].verdict == VERDICT_VIOLATED;
    free(findings);
    return is_seen;
}

/* Counts what is wrong with a random outcome, and tells it. */
static int compare(const struct explore_options *options, const char *fault,
                   const struct explore_outcome *random, const struct explore_outcome *all)
{
    int wrong = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct explore_finding *found = &random->findings[i], *best = &all->findings[i];
        bool is_longer = found->faults != best->faults || found->events != best->events;
        if (found->verdict == VERDICT_UNKNOWN)
            continue;
        if (found->verdict == best->verdict && !(is_longer && best->is_shortest) &&
            found->is_shortest && is_confirmed(options, random, (enum property)i))
            continue;
        print_error("%s with %s, %s: %s, %d faults, %d events%s; not %s, %d faults, %d events\n",
                    options->scheme->name, fault, property_name((enum property)i),
                    verdict_name(found->verdict), found->faults, found->events,
                    found->is_shortest ? "" : " (not proved)", verdict_name(best->verdict),
                    best->faults, best->events);
        wrong++;
    }
    return wrong;
}

/* Every scheme and fault of the default matrix that is searched quickly. */
static void finds_what_is_as_short(void **state)
{
    (void)state;
    int wrong = 0, found = 0, missed = 0;
    for (int s = 0; s < schemes_count; s++) {
        for (int fault = 0; fault <= NONE; fault++) {
            struct explore_options options = options_of(schemes[s], fault);
            struct explore_outcome random, all;
            if (!is_in_sample())
                continue;
            options.states_max = 200000;
            run(&options, &all);
            if (all.end == END_COMPLETE) {
                options.search = SEARCH_RANDOM;
                options.seed = (uint64_t)fault;
                options.runs_max = 600;
                run(&options, &random);
                wrong += compare(&options, fault == NONE ? "none" : fault_name((enum fault)fault),
                                 &random, &all);
                for (int i = 0; i < PROPERTY_COUNT; i++) {
                    found += random.findings[i].verdict == VERDICT_VIOLATED;
                    missed += random.findings[i].verdict == VERDICT_UNKNOWN &&
                              all.findings[i].verdict == VERDICT_VIOLATED;
                }
                explore_outcome_free(&random);
            }
            explore_outcome_free(&all);
        }
    }
    print_message("found %d, missed %d\n", found, missed);
    assert_int_equal(wrong, 0);
    assert_true(sample_every() > 1 || found > 10 * missed);
}

/* --- the outcome --- */

static const char names[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B", "C", "D", "E", "F"};

static bool is_same_choice(const struct choice *one, const struct choice *other)
{
    char line[256], same[256];
    return strcmp(choice_print(one, names, line, sizeof line),
                  choice_print(other, names, same, sizeof same)) == 0;
}

static bool are_equal(const struct explore_outcome *a, const struct explore_outcome *b)
{
    bool is_equal = a->end == b->end && a->states == b->states && a->runs == b->runs &&
                    a->transitions == b->transitions && a->new_per_1000 == b->new_per_1000 &&
                    a->shorter_states == b->shorter_states;
    for (int i = 0; i < PROPERTY_COUNT && is_equal; i++) {
        const struct explore_finding *one = &a->findings[i], *other = &b->findings[i];
        is_equal = one->verdict == other->verdict && one->run == other->run &&
                   one->choices_count == other->choices_count &&
                   one->is_shortest == other->is_shortest;
        for (int k = 0; k < one->choices_count && is_equal; k++)
            is_equal = is_same_choice(&one->choices[k], &other->choices[k]);
    }
    return is_equal;
}

static void is_the_same_for_a_seed(void **state)
{
    (void)state;
    struct explore_outcome one, again, other;
    struct explore_options options = random_options("set-nx-ex-get-del", FAULT_STALL, 300);
    run(&options, &one);
    run(&options, &again);
    options.seed++;
    run(&options, &other);
    assert_true(are_equal(&one, &again));
    assert_false(are_equal(&one, &other));
    explore_outcome_free(&one);
    explore_outcome_free(&again);
    explore_outcome_free(&other);
}

static void never_says_holds(void **state)
{
    (void)state;
    struct explore_outcome outcome;
    struct explore_options options = random_options("set-nx-px-cad", NONE, 0);
    options.skips_progress = false;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_STALE);
    assert_int_equal(outcome.new_per_1000, 0);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        assert_int_equal(outcome.findings[i].verdict, VERDICT_UNKNOWN);
    explore_outcome_free(&outcome);
}

static void visits_what_the_exhaustive_search_visits(void **state)
{
    (void)state;
    struct explore_outcome random, all;
    struct explore_options options = random_options("set-nx-px-cad", NONE, 0);
    run(&options, &random);
    options.search = SEARCH_EXHAUSTIVE;
    run(&options, &all);
    assert_int_equal(random.states, all.states);
    explore_outcome_free(&random);
    explore_outcome_free(&all);
}

static int64_t later(void)
{
    return 2;
}

static void stops_at_its_limits(void **state)
{
    (void)state;
    struct explore_outcome outcome;
    struct explore_options options = random_options("stamp-getset", FAULT_STALL, 7);
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_RUNS);
    assert_int_equal(outcome.runs, 7);
    assert_true(outcome.new_per_1000 > 0);
    explore_outcome_free(&outcome);
    options.states_max = 100;
    options.runs_max = 0;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_STATES);
    assert_true(outcome.states >= 100 && outcome.states < 1000);
    explore_outcome_free(&outcome);
    options.deadline_us = 1;
    options.now_us = later;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_TIME);
    assert_int_equal(outcome.runs, 0);
    explore_outcome_free(&outcome);
}

static void pct_alone_finds_too(void **state)
{
    (void)state;
    struct explore_outcome outcome;
    struct explore_options options = random_options("set-nx-ex-del", FAULT_STALL, 500);
    options.search = SEARCH_PCT;
    run(&options, &outcome);
    assert_int_equal(outcome.findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_VIOLATED);
    assert_int_equal(outcome.findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_VIOLATED);
    explore_outcome_free(&outcome);
}

/* A limit that stops the search below the found length is told; and yet a search among those who
 * take part has made the most of it. */
static void says_when_nothing_is_proved(void **state)
{
    (void)state;
    struct explore_outcome outcome;
    struct explore_options options = random_options("redlock", FAULT_RESTART, 2000);
    options.clients = 3;
    options.states_max = 80000;
    run(&options, &outcome);
    const struct explore_finding *finding = &outcome.findings[PROPERTY_LEASE_EXCLUSION];
    assert_int_equal(finding->verdict, VERDICT_VIOLATED);
    assert_false(finding->is_shortest);
    assert_int_equal(finding->events, 15);
    assert_true(outcome.shorter_states >= 80000);
    assert_true(is_confirmed(&options, &outcome, PROPERTY_LEASE_EXCLUSION));
    explore_outcome_free(&outcome);
}

static void names_are_read(void **state)
{
    (void)state;
    enum explore_search search;
    for (int i = 0; i < SEARCH_COUNT; i++) {
        assert_true(explore_search_read(explore_search_name((enum explore_search)i), &search));
        assert_int_equal(search, i);
    }
    assert_false(explore_search_read("rando", &search));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_as_short),
        cmocka_unit_test(is_the_same_for_a_seed),
        cmocka_unit_test(never_says_holds),
        cmocka_unit_test(visits_what_the_exhaustive_search_visits),
        cmocka_unit_test(stops_at_its_limits),
        cmocka_unit_test(pct_alone_finds_too),
        cmocka_unit_test(says_when_nothing_is_proved),
        cmocka_unit_test(names_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
