/* test_shrink.c - schedules while they are worked on: steps by name, shrinking, order, and the
 * search for something shorter, each by itself. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/matrix.h"
#include "explore/minimise.h"
#include "explore/policy.h"
#include "explore/shrink.h"

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
static void find(struct stage *stage, enum property property, uint64_t seed, struct path *path)
{
    struct policy_run run;
    for (uint64_t n = 0;; n++) {
        struct random random = {.seed = seed, .stream = n};
        policy_begin(&run, (enum policy)(n % POLICY_NOVELTY), &stage->options,
                     &stage->space.setting, random, 30);
        path->count = 0;
        stage_start(stage);
        while (path->count < RUN_MAX) {
            int at = policy_pick(&run, stage, NULL);
            if (at < 0)
                break;
            const struct step_taken step = stage->steps[at];
            struct deed deed = deed_of(&stage->space, stage->words, &step);
            path_add(path, &deed);
            if (step.violated >> property & 1)
                return;
            policy_made(&run, &step, false);
            stage_go(stage, step.words);
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
        struct stage stage;
        struct policy_run run;
        options.budget[FAULT_LATE_REQUEST] = options.budget[FAULT_LOSE_REPLY] = 1;
        options.budget[FAULT_CLIENT_CLOCK] = options.budget[FAULT_FAILOVER] = 1;
        options.section = (enum section)(s % SECTION_COUNT);
        stage_init(&stage, &options);
        for (uint64_t n = 0; n < 60; n++) {
            struct random random = {.seed = 1, .stream = n};
            policy_begin(&run, POLICY_UNIFORM, &options, &stage.space.setting, random, 30);
            stage_start(&stage);
            for (int i = 0; i < 100; i++) {
                for (int k = 0; k < stage.count; k++) {
                    struct deed deed = deed_of(&stage.space, stage.words, &stage.steps[k]);
                    assert_ptr_equal(stage_find(&stage, &deed), &stage.steps[k]);
                }
                int at = policy_pick(&run, &stage, NULL);
                if (at < 0)
                    break;
                const struct step_taken step = stage.steps[at];
                policy_made(&run, &step, false);
                stage_go(&stage, step.words);
            }
        }
        stage_close(&stage);
    }
}

/* What a plain DEL takes to break release-own: 10 events, whatever was found at first. */
static void reaches_the_optimum_on_a_plain_del(void **state)
{
    (void)state;
    struct explore_options options = options_of("set-nx-ex-del", FAULT_STALL);
    struct stage stage;
    struct path path = {0};
    int longest = 0;
    stage_init(&stage, &options);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        find(&stage, PROPERTY_RELEASE_OWN, seed, &path);
        longest = path.count > longest ? path.count : longest;
        shrink(&stage, &path, PROPERTY_RELEASE_OWN);
        assert_true(path_follows(&stage, &path, PROPERTY_RELEASE_OWN));
        assert_int_equal(path.count, 10);
        assert_int_equal(path_faults(&path), 1);
    }
    assert_true(longest > 20);
    path_close(&path);
    stage_close(&stage);
}

static int count_changes(const struct path *path)
{
    int changes = 0;
    for (int i = 1; i < path->count; i++)
        changes += deed_actor(&path->deeds[i]) != deed_actor(&path->deeds[i - 1]);
    return changes;
}

/* Neither gathering nor renaming makes a way longer, or another one. */
static void order_and_names_keep_the_way(void **state)
{
    (void)state;
    struct explore_options options = options_of("redlock", FAULT_RESTART);
    struct stage stage;
    struct path path = {0};
    int before = 0, after = 0;
    stage_init(&stage, &options);
    for (uint64_t seed = 0; seed < 5; seed++) {
        find(&stage, PROPERTY_LEASE_EXCLUSION, seed, &path);
        shrink(&stage, &path, PROPERTY_LEASE_EXCLUSION);
        int count = path.count, faults = path_faults(&path);
        before += count_changes(&path);
        shrink_gather(&stage, &path, PROPERTY_LEASE_EXCLUSION);
        after += count_changes(&path);
        shrink_rename(&stage, &path, PROPERTY_LEASE_EXCLUSION);
        assert_true(path_follows(&stage, &path, PROPERTY_LEASE_EXCLUSION));
        assert_int_equal(path.count, count);
        assert_int_equal(path_faults(&path), faults);
        assert_int_equal(path.deeds[0].client, 0);
    }
    assert_true(after < before);
    path_close(&path);
    stage_close(&stage);
}

/* From whatever was found to the shortest there is: fewest faults first, and then fewest events. */
static void minimises_to_the_shortest(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct stage stage;
    struct path paths[PROPERTY_COUNT] = {0};
    uint64_t states;
    stage_init(&stage, &options);
    find(&stage, PROPERTY_MUTUAL_EXCLUSION, 1, &paths[PROPERTY_MUTUAL_EXCLUSION]);
    unsigned proved = minimise(&stage, &options, paths, &states);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        assert_int_equal(proved >> i & 1, paths[i].count > 0);
        assert_true(paths[i].count == 0 || path_follows(&stage, &paths[i], (enum property)i));
    }
    assert_int_equal(paths[PROPERTY_MUTUAL_EXCLUSION].count, 15);
    assert_int_equal(path_faults(&paths[PROPERTY_MUTUAL_EXCLUSION]), 1);
    /* Met on the way, and takes no fault. */
    assert_int_equal(path_faults(&paths[PROPERTY_NO_CRASH]), 0);
    assert_true(paths[PROPERTY_NO_CRASH].count > 0);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        path_close(&paths[i]);
    stage_close(&stage);
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
