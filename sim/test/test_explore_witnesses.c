/* test_explore_witnesses.c - the explorer's witnesses: the shortest, the cheapest, the same each
 * time, and they replay. Of a share of the cells, as in sample.h. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/explore_replay.h"
#include "test/explore_run.h"
#include "test/sample.h"
#include "test/wrong_locks.h"

/* Counted by hand: A's SET (call, arrive, hear), its stall and two ticks, B's SET (call, arrive),
 * A's DEL (call, arrive). */
static void witness_is_the_shortest(void **state)
{
    (void)state;
    struct explore_options options = options_of("set-nx-ex-del", FAULT_STALL);
    struct explore_outcome outcome;
    run(&options, &outcome);
    const struct explore_finding *finding = &outcome.findings[PROPERTY_RELEASE_OWN];
    assert_int_equal(finding->faults, 1);
    assert_int_equal(finding->events, 10);
    assert_int_equal(finding->choices_count, 9); /* the stall is nothing but the time that passes */
    explore_outcome_free(&outcome);
}

/* Of three the committed matrix tells, which harness/test_explore.py makes again. */
static struct explore_options of_two_clients(const char *scheme, int fault)
{
    struct explore_options options = options_of(scheme, fault);
    options.clients = 2;
    return options;
}

/* A fault that is left over is not spent, and a fault's own step is no shorter than it is. */
static void no_fault_is_spent_in_vain(void **state)
{
    (void)state;
    for (int i = 0; i < schemes_count; i++) {
        if (schemes[i]->needs_quorum)
            continue;
        struct explore_outcome without, with;
        struct explore_options options = of_two_clients(schemes[i]->name, NONE);
        run(&options, &without);
        for (int fault = 0; fault < FAULT_COUNT; fault++) {
            if (!is_in_sample())
                continue;
            options = of_two_clients(schemes[i]->name, fault);
            options.leftovers = LEFTOVERS_TOO; /* else one waits for a graver one, at any price */
            run(&options, &with);
            for (int p = 0; p < PROPERTY_COUNT; p++) {
                const struct explore_finding *a = &without.findings[p], *b = &with.findings[p];
                if (a->verdict != VERDICT_VIOLATED ||
                    fault_blame((enum fault)fault) == FAULT_OF_RUN)
                    continue;
                assert_int_equal(b->faults, 0);
                assert_int_equal(b->events, a->events);
            }
            explore_outcome_free(&with);
        }
        explore_outcome_free(&without);
    }
}

/* It stops early, and with the witness that all states would have given. */
static void a_search_can_be_for_one_property(void **state)
{
    (void)state;
    int ended = 0;
    for (int i = 0; i < schemes_count; i++) {
        struct explore_options options = options_of(schemes[i]->name, FAULT_STALL);
        struct explore_outcome all, one;
        if (!is_in_sample())
            continue;
        options.sought = 0;
        run(&options, &all);
        for (int p = 0; p < PROPERTY_COUNT; p++) {
            const struct explore_finding *full = &all.findings[p], *found;
            if (full->verdict != VERDICT_VIOLATED || p == PROPERTY_PROGRESS)
                continue;
            options.sought = 1u << p;
            run(&options, &one);
            found = &one.findings[p];
            assert_true(one.end == END_ENOUGH || one.states == all.states);
            assert_int_equal(found->verdict, VERDICT_VIOLATED);
            assert_int_equal(found->choices_count, full->choices_count);
            for (int k = 0; k < full->choices_count; k++)
                assert_memory_equal(&found->choices[k], &full->choices[k], sizeof(struct choice));
            ended += one.end == END_ENOUGH && one.states < all.states;
            explore_outcome_free(&one);
        }
        explore_outcome_free(&all);
    }
    if (sample_every() == 1)
        assert_true(ended > 10);
    /* What is never found ends nothing. */
    struct explore_options options = options_of("set-nx-px-cad", FAULT_STALL);
    struct explore_outcome outcome;
    options.sought = 1u << PROPERTY_RELEASE_OWN | 1u << PROPERTY_MUTUAL_EXCLUSION;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_COMPLETE);
    assert_int_equal(outcome.findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_HOLDS);
    explore_outcome_free(&outcome);
}

static void witnesses_replay(void **state)
{
    (void)state;
    static struct finding findings[PROPERTY_COUNT];
    int replayed = 0, wrong = 0;
    for (int i = 0; i < schemes_count; i++) {
        for (int fault = 0; fault <= FAULT_COUNT; fault++) {
            struct explore_options options = of_two_clients(schemes[i]->name, fault);
            struct explore_outcome outcome;
            if (!is_in_sample())
                continue;
            run(&options, &outcome);
            const struct replay replay = {.scheme = schemes[i],
                                          .clients = options.clients,
                                          .servers = options.servers,
                                          .lease_us = outcome.lease_us,
                                          .same_token = outcome.same_token,
                                          .has_replica = outcome.has_replica};
            for (int p = 0; p < PROPERTY_COUNT; p++) {
                const struct explore_finding *finding = &outcome.findings[p];
                struct failure failure = {0};
                if (finding->verdict != VERDICT_VIOLATED)
                    continue;
                bool delayed = replay_choices(&replay, finding->choices, finding->choices_count,
                                              findings, &failure);
                replayed++;
                if (delayed && findings[p].verdict == VERDICT_VIOLATED)
                    continue;
                wrong++;
                print_error("%s with %s: %s: %s\n", schemes[i]->name,
                            fault == NONE ? "no fault" : fault_name((enum fault)fault),
                            property_name((enum property)p),
                            delayed ? "not seen by the checks" : failure.text);
            }
            explore_outcome_free(&outcome);
        }
    }
    assert_true(replayed > 100 / sample_every());
    assert_int_equal(wrong, 0);
}

static void same_search_same_witness(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct explore_outcome one, two;
    run(&options, &one);
    run(&options, &two);
    assert_int_equal(one.states, two.states);
    assert_int_equal(one.transitions, two.transitions);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        assert_int_equal(one.findings[i].choices_count, two.findings[i].choices_count);
        for (int k = 0; k < one.findings[i].choices_count; k++)
            assert_true(choice_is_same(&one.findings[i].choices[k], &two.findings[i].choices[k]));
    }
    explore_outcome_free(&one);
    explore_outcome_free(&two);
}

/* Takes away the key that it was not granted, and says "refused". */
WRONG_LOCK(cleans_up, .ttl_halves = 2, .cleans_up = true)

static struct explore_finding truthful_of_one(enum fault fault, enum explore_search search)
{
    static struct finding findings[PROPERTY_COUNT];
    struct failure failure = {0};
    struct explore_outcome outcome;
    struct explore_options options = options_of("set-nx-px-cad", (int)fault);
    options.scheme = &scheme_cleans_up;
    options.clients = 1;
    options.search = search;
    options.runs_max = 200;
    run(&options, &outcome);
    struct explore_finding finding = outcome.findings[PROPERTY_TRUTHFUL];
    const struct replay replay = {
        .scheme = options.scheme, .clients = 1, .servers = 1, .lease_us = outcome.lease_us};
    if (finding.verdict == VERDICT_VIOLATED) {
        assert_true(
            replay_choices(&replay, finding.choices, finding.choices_count, findings, &failure));
        assert_int_equal(findings[PROPERTY_TRUTHFUL].verdict, VERDICT_VIOLATED);
    }
    explore_outcome_free(&outcome);
    return finding;
}

/* "Refused" is not so where the lock was free all along. What its own request had made, and its DEL
 * has taken away, was there. */
static void a_guess_is_wrong_where_no_key_was(void **state)
{
    (void)state;
    assert_int_equal(truthful_of_one(FAULT_LOSE_REQUEST, SEARCH_EXHAUSTIVE).verdict,
                     VERDICT_VIOLATED);
    assert_int_equal(truthful_of_one(FAULT_LOSE_REQUEST, SEARCH_RANDOM).verdict, VERDICT_VIOLATED);
    assert_int_equal(truthful_of_one(FAULT_LOSE_REPLY, SEARCH_EXHAUSTIVE).verdict, VERDICT_HOLDS);
    assert_int_equal(truthful_of_one(FAULT_LOSE_REPLY, SEARCH_RANDOM).verdict, VERDICT_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(witness_is_the_shortest),
        cmocka_unit_test(no_fault_is_spent_in_vain),
        cmocka_unit_test(a_search_can_be_for_one_property),
        cmocka_unit_test(witnesses_replay),
        cmocka_unit_test(same_search_same_witness),
        cmocka_unit_test(a_guess_is_wrong_where_no_key_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
