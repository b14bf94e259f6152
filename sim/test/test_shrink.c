/* test_shrink.c - schedules while they are worked on: steps by name, shrinking, order, and the
 * search for something shorter, each by itself. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/result/cell.h"
#include "explore/search/minimize.h"
#include "explore/search/strategy.h"
#include "explore/search/shrink.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

enum { SEEDS = 200, RUN_MAX = 400 };

static struct explore_options options_of(const char *scheme, int fault)
{
    struct cell cell;
    cell_init(&cell, scheme_named(scheme));
    cell.options.lease_ticks = 2;
    cell.options.budget[fault] = 1;
    cell.options.skips_progress = true;
    return cell.options;
}

/* Random runs until one violates the property; the way to it. */
static void find(struct trace_replayer *replayer, enum property property, uint64_t seed,
                 struct trace *trace)
{
    struct strategy_run run;
    for (uint64_t n = 0;; n++) {
        struct random random = {.seed = seed, .stream = n};
        strategy_begin(&run, (enum strategy)(n % STRATEGY_NOVELTY), &replayer->options,
                       &replayer->space.config, random, 30);
        trace->count = 0;
        replayer_start(replayer);
        while (trace->count < RUN_MAX) {
            int at = strategy_pick(&run, replayer, NULL);
            if (at < 0)
                break;
            const struct successor step = replayer->steps[at];
            struct event_label label = label_of(&replayer->space, replayer->words, &step);
            trace_add(trace, &label);
            if (step.violated >> property & 1)
                return;
            strategy_made(&run, &step, false);
            replayer_go(replayer, step.words);
        }
    }
}

/* A name means one step; else a path would not lead where it led. */
static void names_are_of_one_step(void **state)
{
    (void)state;
    const char *const names[] = {"set-nx-ex-get-del", "watchdog", "stamp-getset", "redlock"};
    for (size_t s = 0; s < sizeof names / sizeof *names; s++) {
        struct explore_options options = options_of(names[s], FAULT_RESEND);
        struct trace_replayer replayer;
        struct strategy_run run;
        options.budget[FAULT_LATE_REQUEST] = options.budget[FAULT_LOSE_REPLY] = 1;
        options.budget[FAULT_CLIENT_CLOCK] = options.budget[FAULT_FAILOVER] = 1;
        options.section = (enum section)(s % SECTION_COUNT);
        replayer_init(&replayer, &options);
        for (uint64_t n = 0; n < 60; n++) {
            struct random random = {.seed = 1, .stream = n};
            strategy_begin(&run, STRATEGY_UNIFORM, &options, &replayer.space.config, random, 30);
            replayer_start(&replayer);
            for (int i = 0; i < 100; i++) {
                for (int k = 0; k < replayer.count; k++) {
                    struct event_label label =
                        label_of(&replayer.space, replayer.words, &replayer.steps[k]);
                    assert_ptr_equal(replayer_find(&replayer, &label), &replayer.steps[k]);
                }
                int at = strategy_pick(&run, &replayer, NULL);
                if (at < 0)
                    break;
                const struct successor step = replayer.steps[at];
                strategy_made(&run, &step, false);
                replayer_go(&replayer, step.words);
            }
        }
        replayer_close(&replayer);
    }
}

/* What a plain DEL takes to break release-own: 10 events, whatever was found at first. */
static void reaches_the_optimum_on_a_plain_del(void **state)
{
    (void)state;
    struct explore_options options = options_of("set-nx-ex-del", FAULT_STALL);
    struct trace_replayer replayer;
    struct trace trace = {0};
    int longest = 0;
    replayer_init(&replayer, &options);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        find(&replayer, PROPERTY_RELEASE_OWN, seed, &trace);
        longest = trace.count > longest ? trace.count : longest;
        shrink(&replayer, &trace, PROPERTY_RELEASE_OWN);
        assert_true(trace_follows(&replayer, &trace, PROPERTY_RELEASE_OWN));
        assert_int_equal(trace.count, 10);
        assert_int_equal(trace_faults(&trace), 1);
    }
    assert_true(longest > 20);
    trace_close(&trace);
    replayer_close(&replayer);
}

static int count_changes(const struct trace *trace)
{
    int changes = 0;
    for (int i = 1; i < trace->count; i++)
        changes += label_actor(&trace->labels[i]) != label_actor(&trace->labels[i - 1]);
    return changes;
}

/* Neither gathering nor renaming makes a way longer, or another one. */
static void order_and_names_keep_the_way(void **state)
{
    (void)state;
    struct explore_options options = options_of("redlock", FAULT_RESTART);
    struct trace_replayer replayer;
    struct trace trace = {0};
    int before = 0, after = 0;
    replayer_init(&replayer, &options);
    for (uint64_t seed = 0; seed < 5; seed++) {
        find(&replayer, PROPERTY_LEASE_EXCLUSION, seed, &trace);
        shrink(&replayer, &trace, PROPERTY_LEASE_EXCLUSION);
        int count = trace.count, faults = trace_faults(&trace);
        before += count_changes(&trace);
        shrink_gather(&replayer, &trace, PROPERTY_LEASE_EXCLUSION);
        after += count_changes(&trace);
        shrink_rename(&replayer, &trace, PROPERTY_LEASE_EXCLUSION);
        assert_true(trace_follows(&replayer, &trace, PROPERTY_LEASE_EXCLUSION));
        assert_int_equal(trace.count, count);
        assert_int_equal(trace_faults(&trace), faults);
        assert_int_equal(trace.labels[0].client, 0);
    }
    assert_true(after < before);
    trace_close(&trace);
    replayer_close(&replayer);
}

/* From whatever was found to the shortest there is: fewest faults first, and then fewest events. */
static void minimises_to_the_shortest(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct trace_replayer replayer;
    struct trace traces[PROPERTY_COUNT] = {0};
    uint64_t states;
    options.leftovers = LEFTOVERS_TOO;
    replayer_init(&replayer, &options);
    find(&replayer, PROPERTY_MUTUAL_EXCLUSION, 1, &traces[PROPERTY_MUTUAL_EXCLUSION]);
    unsigned proved = minimize(&replayer, &options, traces, &states);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        assert_int_equal(proved >> i & 1, traces[i].count > 0);
        assert_true(traces[i].count == 0 || trace_follows(&replayer, &traces[i], (enum property)i));
    }
    assert_int_equal(traces[PROPERTY_MUTUAL_EXCLUSION].count, 15);
    assert_int_equal(trace_faults(&traces[PROPERTY_MUTUAL_EXCLUSION]), 1);
    /* Met on the way, and takes no fault. */
    assert_int_equal(trace_faults(&traces[PROPERTY_NO_CRASH]), 0);
    assert_true(traces[PROPERTY_NO_CRASH].count > 0);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        trace_close(&traces[i]);
    replayer_close(&replayer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_of_one_step),
        cmocka_unit_test(reaches_the_optimum_on_a_plain_del),
        cmocka_unit_test(order_and_names_keep_the_way),
        cmocka_unit_test(minimises_to_the_shortest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
