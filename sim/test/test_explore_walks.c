/* test_explore_walks.c - the explorer's judge against checks/: random walks, judged by both.
 *
 * Each walk is also a test that the simulated world can follow every step of the explorer. Two ways
 * of agreeing: what checks/ finds at the end of a walk, the explorer saw on the way; what the
 * explorer saw at a step, checks/ finds when the history ends there. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "base/random.h"
#include "explore/translate.h"
#include "test/explore_replay.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { WALK_STEPS_MAX = 110, CHOICES_OF_WALK = 2 * WALK_STEPS_MAX };

/* How many walks, how long, and which. */
struct pace {
    uint64_t walks, seed;
    int steps;
};

static const struct pace plain_pace = {.walks = 400, .seed = 20260101, .steps = 60};
static const struct pace section_pace = {.walks = 150, .seed = 20260101, .steps = 60};
static const struct pace long_pace = {.walks = 1200, .seed = 777, .steps = WALK_STEPS_MAX};

struct walker {
    struct explore_options options;
    struct space space;
    struct stepper stepper;
    struct random random;
    uint32_t words[WORDS_MAX];
    struct step_taken chosen;
    uint64_t seen; /* weight of the steps offered so far */
    /* What came of it. */
    struct choice choices[CHOICES_OF_WALK];
    int count;
    unsigned violated;
    int first[PROPERTY_COUNT]; /* choices up to the first violation */
};

/* One of all steps, drawn as they come; a fault seldom, a way out of idleness more often than
 * idleness. */
static void draw(void *context, const struct step_taken *step)
{
    struct walker *walker = context;
    uint64_t weight = step_is_fault(step) ? 2 : 10;
    walker->seen += weight;
    if (random_below(&walker->random, walker->seen) < weight)
        walker->chosen = *step;
}

static bool walk_on(struct walker *walker)
{
    walker->seen = 0;
    stepper_expand(&walker->stepper, walker->words);
    if (walker->seen == 0)
        return false;
    const struct step_taken *step = &walker->chosen;
    walker->count +=
        translate_step(&walker->space, walker->words, step, walker->choices + walker->count);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (step->violated >> i & 1 && !(walker->violated >> i & 1))
            walker->first[i] = walker->count;
    walker->violated |= step->violated;
    memcpy(walker->words, step->words, sizeof walker->words);
    return true;
}

/* Not judged step by step: progress is about all ways on. */
static bool is_compared(enum section section, enum property property)
{
    return explore_judges(section, property) && property != PROPERTY_PROGRESS;
}

/* The book of checks/ keeps a key that has expired until somebody looks at it: an attempt that
 * returns meanwhile seems to leave it behind, and one whose key a clock jump has ended seems to
 * have it still; of several servers one seems to keep what makes a majority with another. And it
 * has a lease of patience with an acquire under way when a history ends, where the explorer sees
 * what becomes of it. */
static bool is_stricter_in_checks(struct walker *walker, enum property property)
{
    bool is_acquiring = false;
    for (int i = 0; i < walker->space.setting.clients; i++)
        is_acquiring |= space_place(&walker->space, walker->words[i])->phase == PHASE_ACQUIRING;
    if (property == PROPERTY_ALWAYS_EXPIRES && is_acquiring)
        return true;
    return property == PROPERTY_NO_ORPHAN ||
           (property == PROPERTY_TRUTHFUL && walker->options.budget[FAULT_SERVER_CLOCK] > 0) ||
           (property == PROPERTY_FENCE_ORDER && walker->options.scheme->needs_quorum);
}

static void say(const struct walker *walker, const char *what, enum property property, int count)
{
    char line[256];
    print_error("%s: %s: %s\n", walker->options.scheme->name, property_name(property), what);
    for (int i = 0; i < count; i++)
        print_error("  %s\n",
                    choice_print(&walker->choices[i], (const char(*)[NAME_MAX_BYTES])replay_names,
                                 line, sizeof line));
}

/* Two majorities have a server in common, and what happened there is the cause: of a scheme that
 * counts right nothing is a split grant, whatever servers lose. */
static void judge_causes(const struct walker *walker, const struct finding *findings, int count)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (findings[i].verdict != VERDICT_VIOLATED || findings[i].cause != CAUSE_SPLIT_GRANT)
            continue;
        say(walker, "a split grant", (enum property)i, count);
        fail();
    }
}

static void compare(struct walker *walker)
{
    static struct finding findings[PROPERTY_COUNT];
    struct failure failure = {0};
    const struct setting *setting = &walker->space.setting;
    const struct replay replay = {.scheme = setting->scheme,
                                  .clients = setting->clients,
                                  .servers = setting->servers,
                                  .lease_us = translate_lease_us(setting),
                                  .same_token = setting->is_collision ? 0xff : 0,
                                  .has_replica = true};
    if (!replay_choices(&replay, walker->choices, walker->count, findings, &failure)) {
        say(walker, failure.text, PROPERTY_COUNT - 1, walker->count);
        fail_msg("the simulated world did not follow: %s", failure.text);
    }
    judge_causes(walker, findings, walker->count);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (!is_compared(setting->section, (enum property)i) ||
            is_stricter_in_checks(walker, (enum property)i) ||
            findings[i].verdict != VERDICT_VIOLATED || walker->violated >> i & 1)
            continue;
        say(walker, "found by the checks only", (enum property)i, walker->count);
        for (int k = 0; k < findings[i].witness_lines; k++)
            print_error("  %s\n", findings[i].witness[k]);
        fail();
    }
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (!(walker->violated >> i & 1))
            continue;
        assert_true(replay_choices(&replay, walker->choices, walker->first[i], findings, &failure));
        judge_causes(walker, findings, walker->first[i]);
        if (findings[i].verdict == VERDICT_VIOLATED)
            continue;
        say(walker, "found by the explorer only", (enum property)i, walker->first[i]);
        fail();
    }
}

/* Walks of one scheme with one budget; returns the properties that were violated in some of them.
 */
static unsigned walk(const struct explore_options *of, const struct pace *pace,
                     const enum fault *faults, int faults_count)
{
    const struct scheme *scheme = of->scheme;
    struct walker walker = {.options = {.scheme = scheme,
                                        .clients = of->clients,
                                        .rounds = 3,
                                        .servers = of->servers,
                                        .section = of->section,
                                        .lease_ticks = scheme->promises_notice ? 3 : 2}};
    unsigned violated = 0;
    for (int i = 0; i < faults_count; i++)
        walker.options.budget[faults[i]]++;
    space_init(&walker.space, &walker.options);
    stepper_init(&walker.stepper, &walker.space, &walker.options);
    walker.stepper.take = draw;
    walker.stepper.context = &walker;
    for (uint64_t n = 0; n < pace->walks; n++) {
        walker.random = (struct random){.seed = pace->seed, .stream = n};
        walker.count = 0;
        walker.violated = 0;
        stepper_start(&walker.stepper, &walker.options, walker.words);
        for (int i = 0; i < pace->steps && walk_on(&walker); i++)
            ;
        compare(&walker);
        violated |= walker.violated;
    }
    space_close(&walker.space);
    return violated;
}

static unsigned walk_every_fault(const struct explore_options *of)
{
    const struct pace *pace = of->section == SECTION_NOTHING ? &plain_pace : &section_pace;
    unsigned violated = walk(of, pace, NULL, 0);
    for (int i = 0; i < FAULT_COUNT; i++) {
        const enum fault one[] = {(enum fault)i, (enum fault)i};
        violated |= walk(of, pace, one, 2);
        const enum fault other[] = {(enum fault)i, FAULT_STALL, FAULT_LATE_REQUEST};
        violated |= walk(of, pace, other, 3);
    }
    return violated;
}

static void judge_agrees_with_checks(void **state)
{
    (void)state;
    for (int section = 0; section < SECTION_COUNT; section++) {
        unsigned violated = 0;
        for (int i = 0; i < schemes_count; i++) {
            const struct explore_options of = {
                .scheme = schemes[i], .clients = 3, .servers = 1, .section = (enum section)section};
            if (!schemes[i]->needs_quorum)
                violated |= walk_every_fault(&of);
        }
        /* The walks go where each of them can be violated. */
        for (int i = 0; i < PROPERTY_COUNT; i++)
            if (is_compared((enum section)section, (enum property)i) && !(violated >> i & 1))
                fail_msg("no walk violated %s", property_name((enum property)i));
    }
}

static void judge_agrees_with_checks_on_quorums(void **state)
{
    (void)state;
    for (int section = 0; section < SECTION_COUNT; section++) {
        const struct explore_options of = {.scheme = scheme_named("redlock"),
                                           .clients = 2,
                                           .servers = 3,
                                           .section = (enum section)section};
        walk_every_fault(&of);
    }
}

/* A replica brings back a lock of an attempt that was refused long ago. */
static void judge_agrees_with_checks_on_long_walks(void **state)
{
    (void)state;
    static const enum fault failovers[] = {FAULT_FAILOVER, FAULT_FAILOVER};
    for (int section = 0; section < SECTION_COUNT; section++) {
        const struct explore_options of = {.scheme = scheme_named("redlock"),
                                           .clients = 2,
                                           .servers = 3,
                                           .section = (enum section)section};
        walk(&of, &long_pace, failovers, 2);
    }
}

/* And two servers, or one of them twice, lose what they knew. */
static void what_servers_lose_is_no_split_grant(void **state)
{
    (void)state;
    static const enum fault losses[] = {FAULT_SERVER_CLOCK, FAULT_RESTART, FAULT_FAILOVER,
                                        FAULT_EVICT};
    const struct explore_options of = {
        .scheme = scheme_named("redlock"), .clients = 2, .servers = 3};
    unsigned violated = 0;
    for (int i = 0; i < 4; i++)
        for (int k = i; k < 4; k++)
            violated |= walk(&of, &long_pace, (const enum fault[]){losses[i], losses[k]}, 2);
    assert_true(violated >> PROPERTY_LEASE_EXCLUSION & 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judge_agrees_with_checks),
        cmocka_unit_test(judge_agrees_with_checks_on_quorums),
        cmocka_unit_test(judge_agrees_with_checks_on_long_walks),
        cmocka_unit_test(what_servers_lose_is_no_split_grant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
