/* test_explore_reductions.c - what makes the space smaller changes no verdict, and no witness's
 * cost. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/explore_run.h"
#include "test/sample.h"

/* subsets: of the reductions, up to none. */
static int compare_reductions(const char *scheme, int fault, int clients, const unsigned *subsets)
{
    struct explore_options options = options_of(scheme, fault);
    struct explore_outcome plain, reduced;
    int wrong = 0;
    options.clients = clients;
    options.rounds = 1;
    options.reductions = 0;
    run(&options, &plain);
    for (; *subsets; subsets++) {
        options.reductions = *subsets;
        run(&options, &reduced);
        wrong += differences(fault == NONE ? "no fault" : fault_name((enum fault)fault), &options,
                             &plain, &reduced);
        assert_true(reduced.states <= plain.states);
        explore_outcome_free(&reduced);
    }
    explore_outcome_free(&plain);
    return wrong;
}

/* Next to one server there are none to exchange. */
static int compare_next_to_one(const char *scheme, int fault)
{
    static const unsigned of_two[] = {REDUCE_EAGER, REDUCE_ALL, 0},
                          of_three[] = {REDUCE_CLIENTS, REDUCE_ALL, 0};
    int wrong = compare_reductions(scheme, fault, 2, of_two);
    if (is_in_sample_of(4))
        wrong += compare_reductions(scheme, fault, 3, of_three);
    return wrong;
}

static void reductions_change_no_verdict(void **state)
{
    static const unsigned each[] = {REDUCE_CLIENTS, REDUCE_SERVERS, REDUCE_EAGER, REDUCE_ALL, 0};
    (void)state;
    int wrong = 0;
    for (int i = 0; i < schemes_count; i++)
        for (int fault = 0; fault <= FAULT_COUNT && !schemes[i]->needs_quorum; fault++)
            wrong += is_in_sample() ? compare_next_to_one(schemes[i]->name, fault) : 0;
    for (int fault = 0; fault <= FAULT_COUNT; fault++)
        wrong += is_in_sample_of(3) ? compare_reductions("redlock", fault, 2, each) : 0;
    assert_int_equal(wrong, 0);
}

/* What replies that wait for each other have to get right: faults that strike one of them while
 * another one is excused. Without any reduction a pair would take too long. */
static void reductions_change_no_verdict_of_pairs(void **state)
{
    (void)state;
    static const enum fault pairs[][2] = {
        {FAULT_LATE_REQUEST, FAULT_LATE_REPLY}, {FAULT_LATE_REPLY, FAULT_LATE_REPLY},
        {FAULT_LATE_REPLY, FAULT_CLIENT_CLOCK}, {FAULT_STALL, FAULT_LOSE_REPLY},
        {FAULT_LATE_REQUEST, FAULT_RESEND},     {FAULT_RESTART, FAULT_LATE_REPLY},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct explore_options options = options_of("redlock", (int)pairs[i][0]);
        struct explore_outcome plain, reduced;
        options.budget[pairs[i][1]]++;
        options.reductions = REDUCE_CLIENTS | REDUCE_SERVERS;
        run(&options, &plain);
        options.reductions = REDUCE_ALL;
        run(&options, &reduced);
        wrong += differences(fault_name(pairs[i][1]), &options, &plain, &reduced);
        assert_true(reduced.states < plain.states);
        explore_outcome_free(&plain);
        explore_outcome_free(&reduced);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_change_no_verdict),
        cmocka_unit_test(reductions_change_no_verdict_of_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
