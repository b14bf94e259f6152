/* test_bfs.c - a search by layers of faults visits every state that a plain breadth-first walk
 * does: as many, with one fault after the other, whatever waits at which depth. */
/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/search/bfs.h"
#include "test/breadth_first.h"
#include "test/sample.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { STATES_MAX = 200000 };

static void put(void *context, const struct successor *step)
{
    breadth_put(context, step->words);
}

static uint64_t count_walked(const struct explore_options *options)
{
    static struct breadth breadth;
    breadth_open(&breadth, options, put, &breadth);
    while (breadth_next(&breadth, STATES_MAX))
        successors_expand(&breadth.successors, breadth.words);
    uint64_t count = breadth.visited.count;
    breadth_close(&breadth);
    return count;
}

static uint64_t count_searched(const struct explore_options *options)
{
    static struct search search;
    search_init(&search, options);
    search_run(&search);
    assert_int_equal(search.end, END_COMPLETE);
    uint64_t count = search.visited.count;
    search_close(&search);
    return count;
}

static int compare(const struct explore_options *options)
{
    uint64_t walked = count_walked(options), searched = count_searched(options);
    if (walked == searched || walked >= STATES_MAX)
        return 0;
    print_error("%s: %lu states by layers, %lu there are:", options->scheme->name,
                (unsigned long)searched, (unsigned long)walked);
    for (int i = 0; i < FAULT_COUNT; i++)
        for (int n = 0; n < options->budget[i]; n++)
            print_error(" %s", fault_name((enum fault)i));
    print_error("\n");
    return 1;
}

/* Seeds that lead nowhere new at one depth are followed by deeper ones. */
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
