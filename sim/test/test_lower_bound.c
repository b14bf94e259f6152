/* test_lower_bound.c - no step takes a state nearer to a violation than by one event, and one that
 * violates comes from a state that is one event away; so what is left out is too far away. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/breadth_first.h"
#include "test/explore_run.h"

#include "explore/reduce/lower_bound.h"
#include "explore/search/bfs.h"
#include "test/sample.h"

enum { STATES = 150000 };

static const enum fault NOTHING = (enum fault)NONE;

/* Of sim/schemes and of sim/test/mutants. */
extern const struct scheme scheme_redlock, scheme_quorum_lock, scheme_quorum_off_by_one,
    scheme_minority_left;

static const enum property measured[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION,
                                         PROPERTY_NO_LOST_UPDATE};

enum { MEASURED = sizeof measured / sizeof *measured };

static const enum section sections[] = {SECTION_NOTHING, SECTION_COUNTER};

enum { SECTIONS = sizeof sections / sizeof *sections };

struct bound_walk {
    struct breadth breadth;
    int distances[MEASURED];    /* of the state in hand */
    int wrong, violating, near; /* steps; near: to a state from which one event is missing */
};

static void measure(struct bound_walk *stage, const uint32_t *words, int *distances)
{
    int breaks = successors_breaks(&stage->breadth.successors, words);
    for (int i = 0; i < MEASURED; i++)
        distances[i] = lower_bound_to(&stage->breadth.space, words, 1u << measured[i], breaks);
}

static void take(void *context, const struct successor *step)
{
    struct bound_walk *stage = context;
    int after[MEASURED];
    measure(stage, step->words, after);
    for (int i = 0; i < MEASURED; i++) {
        bool is_violated = step->violated >> measured[i] & 1;
        stage->wrong += stage->distances[i] > 1 + after[i];
        stage->wrong += is_violated && stage->distances[i] > 1;
        stage->violating += is_violated;
        stage->near += after[i] == 1;
    }
    breadth_put(&stage->breadth, step->words);
}

static struct explore_options options_for(const struct scheme *scheme, enum section section,
                                          enum fault one, enum fault other)
{
    struct explore_options options = {.scheme = scheme,
                                      .clients = 2,
                                      .rounds = 2,
                                      .servers = 3,
                                      .lease_ticks = 2,
                                      .section = section,
                                      .reductions = REDUCE_ALL};
    if (one != NOTHING)
        options.budget[one]++;
    if (other != NOTHING)
        options.budget[other]++;
    return options;
}

/* Breadth-first over the first states; returns how many steps are wrong. */
static int walk(const struct explore_options *options, int *violating, int *near)
{
    static struct bound_walk stage;
    memset(&stage, 0, sizeof stage);
    breadth_open(&stage.breadth, options, take, &stage);
    stage.breadth.space.config.has_lower_bound = true;
    while (breadth_next(&stage.breadth, STATES)) {
        measure(&stage, stage.breadth.words, stage.distances);
        successors_expand(&stage.breadth.successors, stage.breadth.words);
    }
    *violating += stage.violating;
    *near += stage.near;
    breadth_close(&stage.breadth);
    return stage.wrong;
}

static void a_step_is_one_event(void **state)
{
    static const struct scheme *const quorums[] = {
        &scheme_redlock, &scheme_quorum_lock, &scheme_quorum_off_by_one, &scheme_minority_left};
    static const enum fault faults[][2] = {
        {FAULT_RESTART, NOTHING},          {FAULT_FAILOVER, NOTHING},
        {FAULT_EVICT, FAULT_SERVER_CLOCK}, {FAULT_RESTART, FAULT_RESTART},
        {FAULT_FAILOVER, FAULT_RESTART},   {FAULT_SAME_TOKEN, FAULT_RESTART}};
    int wrong = 0, violating = 0, near = 0;
    (void)state;
    for (size_t i = 0; i < sizeof quorums / sizeof *quorums; i++)
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
            for (int section = 0; section < SECTION_COUNT; section++) {
                struct explore_options options =
                    options_for(quorums[i], (enum section)section, faults[k][0], faults[k][1]);
                if (section != SECTION_WRITE && is_in_sample())
                    wrong += walk(&options, &violating, &near);
            }
    assert_int_equal(wrong, 0);
    assert_true(violating > 1000 / sample_every());
    assert_true(near > 1000 / sample_every());
}

/* Any two of them. */
static void three_clients_are_no_nearer(void **state)
{
    int wrong = 0, violating = 0, near = 0;
    (void)state;
    for (int m = 0; m < SECTIONS; m++) {
        struct explore_options options =
            options_for(&scheme_redlock, sections[m], FAULT_RESTART, NOTHING);
        options.clients = 3;
        options.rounds = 1;
        wrong += walk(&options, &violating, &near);
    }
    assert_int_equal(wrong, 0);
    assert_true(violating > 0);
}

/* Two clients ask all servers, are answered, and count; all but one of them may lose a request by
 * the same break. */
static void the_start_is_as_far_as_it_looks(void **state)
{
    struct explore_options options =
        options_for(&scheme_redlock, SECTION_COUNTER, FAULT_RESTART, NOTHING);
    struct state_space space;
    uint32_t words[WORDS_MAX] = {0};
    (void)state;
    options.servers = 5;
    space_init(&space, &options);
    space.config.has_lower_bound = true;
    space_start(&space, words);
    const int asked = 1 + 2 * 5;
    assert_int_equal(lower_bound_to(&space, words, 1u << PROPERTY_LEASE_EXCLUSION, 0), 2 * asked);
    assert_int_equal(lower_bound_to(&space, words, 1u << PROPERTY_LEASE_EXCLUSION, 1),
                     2 * asked - 1);
    /* Where a server may forget the counter it is enough that the other one reads it. */
    assert_int_equal(lower_bound_to(&space, words, 1u << PROPERTY_NO_LOST_UPDATE, 0),
                     2 * asked + 5 + 2);
    space_close(&space);
}

/* --- a search that leaves out what is too far away --- */

static void find(const struct explore_options *options, int within,
                 struct violation *first_violations)
{
    struct search search;
    search_init(&search, options);
    if (within > 0)
        search_bounded(&search, within, 1);
    search_run(&search);
    assert_int_equal(search.end, END_COMPLETE);
    assert_true(within == 0 || search.next_bound > within);
    memcpy(first_violations, search.first_violations, sizeof search.first_violations);
    search_close(&search);
}

/* Of so many events at most, all is found, and as soon; of more, or if it is not sought, nothing.
 */
static void compare(const struct explore_options *options, const struct violation *all, int within)
{
    struct violation some[PROPERTY_COUNT];
    find(options, within, some);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        bool is_known = all[i].state != STATE_NONE && options->sought >> i & 1;
        bool is_found = some[i].state != STATE_NONE;
        assert_int_equal(is_found, is_known && all[i].events <= within);
        if (is_found)
            assert_int_equal(some[i].events, all[i].events);
    }
}

static void short_ways_are_found_and_no_others(void **state)
{
    (void)state;
    for (int m = 0; m < SECTIONS; m++) {
        struct explore_options options =
            options_for(&scheme_minority_left, sections[m], FAULT_RESTART, NOTHING);
        struct violation all[PROPERTY_COUNT];
        options.rounds = 1;
        options.skips_progress = true;
        find(&options, 0, all);
        options.sought = 1u << PROPERTY_MUTUAL_EXCLUSION | 1u << PROPERTY_LEASE_EXCLUSION;
        if (sections[m] == SECTION_COUNTER)
            options.sought |= 1u << PROPERTY_NO_LOST_UPDATE;
        for (int within = 1; within < 40; within++)
            compare(&options, all, within);
    }
}

static void it_suits_faults_that_strike_no_client(void **state)
{
    struct explore_options options =
        options_for(&scheme_redlock, SECTION_COUNTER, FAULT_RESTART, FAULT_EVICT);
    (void)state;
    options.sought = 1u << PROPERTY_NO_LOST_UPDATE;
    assert_true(lower_bound_suits(&options));
    struct scheme impatient = scheme_redlock;
    impatient.waits_for_all = false;
    options.scheme = &impatient;
    assert_false(lower_bound_suits(&options));
    options.scheme = &scheme_redlock;
    options.sought |= 1u << PROPERTY_PROGRESS;
    assert_false(lower_bound_suits(&options));
    options.sought = 0;
    assert_false(lower_bound_suits(&options));
    options.sought = 1u << PROPERTY_MUTUAL_EXCLUSION;
    assert_true(lower_bound_suits(&options));
    options.section = SECTION_WRITE;
    assert_false(lower_bound_suits(&options));
    options = options_for(&scheme_redlock, SECTION_COUNTER, FAULT_RESTART, FAULT_DUPLICATE);
    options.sought = 1u << PROPERTY_NO_LOST_UPDATE;
    assert_false(lower_bound_suits(&options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_one_event),
        cmocka_unit_test(three_clients_are_no_nearer),
        cmocka_unit_test(the_start_is_as_far_as_it_looks),
        cmocka_unit_test(short_ways_are_found_and_no_others),
        cmocka_unit_test(it_suits_faults_that_strike_no_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
