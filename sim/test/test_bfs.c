/* test_bfs.c - a search by layers of faults visits every state that a plain
 * breadth-first walk does: as many, with one fault after the other, whatever
 * waits at which depth; and the first violation of each property takes as few
 * faults and, with so many, as few events. */
/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/search/bfs.h"
#include "test/breadth_first.h"
#include "test/sample.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <limits.h>

enum { STATES_MAX = 200000, NOT_FOUND = INT_MAX };

struct way_cost {
    int faults, events;
};

/* What a walk or a search comes to. */
struct layer_course {
    uint64_t states;
    struct way_cost first[PROPERTY_COUNT]; /* the least of a violation */
};

/* Every way to a state has its faults: their budgets are in it. */
struct plain_walk {
    struct breadth breadth;
    struct way_cost costs[2 * STATES_MAX]; /* by state */
    struct layer_course course;
};

static void note(struct layer_course *course, unsigned violated, struct way_cost cost)
{
    for (; violated != 0; violated &= violated - 1) {
        struct way_cost *first = &course->first[__builtin_ctz(violated)];
        if (cost.faults < first->faults ||
            (cost.faults == first->faults && cost.events < first->events))
            *first = cost;
    }
}

static void put(void *context, const struct successor *step)
{
    struct plain_walk *walk = context;
    struct way_cost cost = walk->costs[walk->breadth.next - 1];
    cost.faults += step_is_fault(step);
    cost.events++;
    note(&walk->course, step->violated & ((1u << PROPERTY_COUNT) - 1), cost);
    if (breadth_put(&walk->breadth, step->words)) {
        assert_true(walk->breadth.visited.count <= 2 * STATES_MAX);
        walk->costs[walk->breadth.visited.count - 1] = cost;
    }
}

static void course_init(struct layer_course *course)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        course->first[i] = (struct way_cost){NOT_FOUND, NOT_FOUND};
}

static struct layer_course walked(const struct explore_options *options)
{
    static struct plain_walk walk;
    walk.costs[0] = (struct way_cost){0};
    course_init(&walk.course);
    breadth_open(&walk.breadth, options, put, &walk);
    while (breadth_next(&walk.breadth, STATES_MAX))
        successors_expand(&walk.breadth.successors, walk.breadth.words);
    walk.course.states = walk.breadth.visited.count;
    breadth_close(&walk.breadth);
    return walk.course;
}

static struct layer_course searched(const struct explore_options *options)
{
    static struct search search;
    struct layer_course course;
    course_init(&course);
    search_init(&search, options);
    search_run(&search);
    assert_int_equal(search.end, END_COMPLETE);
    course.states = search.visited.count;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct violation *first = &search.first_violations[i];
        if (first->state != STATE_NONE)
            course.first[i] = (struct way_cost){first->faults, first->events};
    }
    search_close(&search);
    return course;
}

static int compare(const struct explore_options *options)
{
    const struct layer_course walk = walked(options), search = searched(options);
    if (walk.states >= STATES_MAX ||
        (walk.states == search.states && !memcmp(walk.first, search.first, sizeof walk.first)))
        return 0;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (memcmp(&walk.first[i], &search.first[i], sizeof walk.first[i]) != 0)
            print_error("%s: faults, events: %d, %d by layers, %d, %d there are\n",
                        property_name((enum property)i), search.first[i].faults,
                        search.first[i].events, walk.first[i].faults, walk.first[i].events);
    print_error("%s: %lu states by layers, %lu there are:", options->scheme->name,
                (unsigned long)search.states, (unsigned long)walk.states);
    for (int i = 0; i < FAULT_COUNT; i++)
        for (int n = 0; n < options->budget[i]; n++)
            print_error(" %s", fault_name((enum fault)i));
    print_error("\n");
    return 1;
}

/* Seeds that lead nowhere new at one depth are followed by deeper ones, and none is expanded before
 * its depth has come. */
static void no_layer_ends_before_its_last_seed(void **state)
{
    static const char *const names[] = {"set-nx-ex-del", "set-nx-px-cad", "setnx-del",
                                        "stamp-getset", "watchdog"};
    static const unsigned reductions[] = {0, REDUCE_ALL};
    int wrong = 0, cases = 0;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int fault = 0; fault < FAULT_COUNT; fault++)
            for (int other = 0; other < 2; other++)
                for (int r = 0; r < 2; r++) {
                    if (!is_in_sample())
                        continue;
                    struct explore_options options = {.scheme = scheme_named(names[i]),
                                                      .clients = 2,
                                                      .rounds = 2,
                                                      .servers = 1,
                                                      .lease_ticks = 3,
                                                      .leftovers = LEFTOVERS_TOO,
                                                      .skips_progress = r == 0,
                                                      .reductions = reductions[r]};
                    options.budget[fault]++;
                    options.budget[other ? FAULT_CRASH : fault]++;
                    wrong += compare(&options);
                    cases++;
                }
    assert_int_equal(wrong, 0);
    assert_true(cases > 100 / sample_every());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_layer_ends_before_its_last_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
