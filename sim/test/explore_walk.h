/* explore_walk.h - random walks through the explorer's states, judged by both statements of each
 * property: the explorer's (properties.c, ghost.c, ghost_fences.c, workload.c, reachability.c), and
 * checks/.
 *
 * The walk is replayed in the simulated world, so it is also a test that this world can follow
 * every step; behind each, both have the same clients and messages (explore_same.h). Held to each
 * other at every step, property by property:
 *
 * - what checks/ has found by then, or finds when the history ends, the explorer has seen;
 * - what the explorer sees, checks/ finds when the history ends there;
 * - of progress, which is about all ways on: where checks/ calls the lock stuck, the walk has been
 *   in a state that the explorer calls so, or would if the acquire under way there had returned at
 *   once; and from such a state its witness shows it to checks/.
 */
#ifndef PICKLOCK_TEST_EXPLORE_WALK_H
#define PICKLOCK_TEST_EXPLORE_WALK_H

/* before cmocka.h, which has a macro named like our enum fail */
#include "base/random.h"
#include "explore/search/bfs.h"
#include "explore/search/schedule.h"
#include "explore/search/witness.h"
#include "test/explore_replay.h"
#include "test/explore_same.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>

enum { WALK_STEPS_MAX = 110, CHOICES_OF_WALK = TRANSLATED_MAX * WALK_STEPS_MAX };

/* How many walks, how long, and which. */
struct walk_plan {
    uint64_t walks, seed;
    int steps;
    int fault_weight, tick_weight; /* how often it is one; any other step: WALK_WEIGHT */
    int witnesses;                 /* of stuck states, at most */
    bool counts_right; /* the scheme: then nothing is a split grant, whatever servers lose */
};

enum { WALK_WEIGHT = 10 };

/* Of each kind, by all walks so far. */
static int64_t walk_choices_made[CHOICE_COUNT];
/* Of all walks so far: where checks/ called the lock stuck, and it was so only while an acquire was
 * under way. */
static int64_t walks_stuck_under_way;

struct walker {
    struct explore_options options;
    const struct walk_plan *pace;
    struct search search;
    bool knows_progress; /* every state was visited */
    struct random random;
    uint32_t words[WORDS_MAX];
    struct successor chosen;
    uint64_t seen; /* weight of the steps offered so far */
    /* What came of it. */
    struct choice choices[CHOICES_OF_WALK];
    int count, steps;
    int ends[WALK_STEPS_MAX];                   /* choices up to that step and with it */
    uint32_t states[WALK_STEPS_MAX][WORDS_MAX]; /* behind it */
    unsigned violated[WALK_STEPS_MAX];          /* by that step or an earlier one */
    bool wants[WALK_STEPS_MAX];                 /* after it somebody can ask for the lock */
    bool was_overdue[WALK_STEPS_MAX];           /* by then, while an acquire was under way */
    bool is_overdue;
    unsigned all;
    unsigned blamed;           /* of those: by more than a leftover */
    int first[PROPERTY_COUNT]; /* choices up to the first violation */
    int first_blamed[PROPERTY_COUNT];
    uint32_t stuck; /* the first stuck state; STATE_NONE: none */
    int witnesses;  /* that were replayed */
};

/* One of all steps, drawn as they come. */
static inline void walk_draw(void *context, const struct successor *step)
{
    struct walker *walker = context;
    int weight = step_is_fault(step) ? walker->pace->fault_weight
                 : step->is_tick     ? walker->pace->tick_weight
                                     : WALK_WEIGHT;
    walker->seen += (uint64_t)weight;
    if (random_below(&walker->random, walker->seen) < (uint64_t)weight)
        walker->chosen = *step;
}

static inline bool walk_is_acquiring(struct walker *walker)
{
    struct state_space *space = &walker->search.space;
    for (int i = 0; i < space->config.clients; i++)
        if (space_client(space, walker->words[i])->phase == PHASE_ACQUIRING)
            return true;
    return false;
}

static inline void walk_look(struct walker *walker, unsigned violated)
{
    const struct fingerprint_set *visited = &walker->search.visited;
    uint32_t state = STATE_NONE;
    if (walker->knows_progress)
        state =
            fingerprint_set_find(visited, fingerprint_of(visited, walker->words), walker->words);
    if (walker->knows_progress && state == STATE_NONE)
        fail_msg("a walk has left the states that were visited");
    if (walker->knows_progress && search_is_stuck(&walker->search, state)) {
        violated |= 1u << PROPERTY_PROGRESS;
        walker->stuck = walker->stuck == STATE_NONE ? state : walker->stuck;
    }
    if (walker->knows_progress)
        walker->is_overdue |=
            walk_is_acquiring(walker) && search_is_overdue(&walker->search, state);
    const unsigned blamed = violated & ~violated_by_leftover(violated) & ~(unsigned)BY_LEFTOVER;
    violated &= ~(unsigned)BY_LEFTOVER;
    for (unsigned left = violated & ~walker->all; left != 0; left &= left - 1)
        walker->first[__builtin_ctz(left)] = walker->count;
    for (unsigned left = blamed & ~walker->blamed; left != 0; left &= left - 1)
        walker->first_blamed[__builtin_ctz(left)] = walker->count;
    walker->all |= violated;
    walker->blamed |= blamed;
}

static inline bool walk_on(struct walker *walker)
{
    walker->seen = 0;
    successors_expand(&walker->search.successors, walker->words);
    if (walker->seen == 0)
        return false;
    const struct successor *step = &walker->chosen;
    walker->count +=
        translate_step(&walker->search.space, walker->words, step, walker->choices + walker->count);
    memcpy(walker->words, step->words, sizeof walker->words);
    memcpy(walker->states[walker->steps], step->words, sizeof walker->words);
    walk_look(walker, step->violated);
    walker->ends[walker->steps] = walker->count;
    walker->wants[walker->steps] = successors_want_lock(&walker->search.successors, walker->words);
    walker->was_overdue[walker->steps] = walker->is_overdue;
    walker->violated[walker->steps++] = walker->all;
    return true;
}

/* Where not every state was visited, nobody knows what is stuck. */
static inline bool walk_compares(const struct walker *walker, enum property property)
{
    return explore_judges(walker->options.section, property) &&
           (property != PROPERTY_PROGRESS || walker->knows_progress);
}

/* Something was given up on, and may still arrive. */
static inline bool walk_gives_up(const struct walker *walker)
{
    for (int i = 0; i < walker->count; i++)
        if (walker->choices[i].kind == CHOICE_GIVE_UP)
            return true;
    return false;
}

/* The book of checks/ keeps a key that has expired until somebody looks at it: an attempt that
 * returns meanwhile seems to leave it behind, and one whose key a clock jump has ended seems to
 * have it still; of several servers one seems to keep what makes a majority with another. And it
 * has a lease of patience with an acquire under way when a history ends, where the explorer sees
 * what becomes of it. Whoever is refused and changes another's lock keeps it alive: checks/ sees
 * that it did, where the explorer asks whether it must; so it does of a late release, which may
 * come and free the lock until the fault that ends it. */
static inline bool walk_is_stricter_in_checks(struct walker *walker, enum property property)
{
    if (property == PROPERTY_ALWAYS_EXPIRES && walk_is_acquiring(walker))
        return true;
    /* Its losers renew whatever key is there, also one that they have left behind themselves. */
    bool losers_renew = strcmp(walker->options.scheme->name, "multi-setnx-expire-del") == 0;
    if (property == PROPERTY_PROGRESS &&
        (losers_renew || walk_gives_up(walker) || walker->all >> PROPERTY_EXTEND_OWN & 1))
        return true;
    return property == PROPERTY_NO_ORPHAN ||
           (property == PROPERTY_TRUTHFUL && walker->options.budget[FAULT_SERVER_CLOCK] > 0) ||
           (property == PROPERTY_FENCE_ORDER && walker->options.scheme->needs_quorum);
}

static inline void walk_say(const struct walker *walker, const char *what, enum property property,
                            const struct choice *choices, int count)
{
    const struct explore_options *options = &walker->options;
    char line[256];
    print_error("%s, %d clients, %d rounds, %d servers, lease of %d, section %s, seed %" PRIu64 ":",
                options->scheme->name, options->clients, options->rounds, options->servers,
                options->lease_ticks, section_name(options->section), walker->pace->seed);
    for (int i = 0; i < FAULT_COUNT; i++)
        for (int n = 0; n < options->budget[i]; n++)
            print_error(" %s", fault_name((enum fault)i));
    print_error("\n%s: %s\n", property_name(property), what);
    for (int i = 0; i < count; i++)
        print_error("  %s\n", choice_print(&choices[i], (const char(*)[NAME_MAX_BYTES])replay_names,
                                           line, sizeof line));
}

static inline struct replay walk_replay(const struct walker *walker)
{
    const struct config *config = &walker->search.space.config;
    return (struct replay){.scheme = config->scheme,
                           .clients = config->clients,
                           .servers = config->servers,
                           .lease_us = translate_lease_us(config),
                           .same_token = config->is_collision ? 0xff : 0,
                           .has_replica = true};
}

static inline void walk_fail(const struct walker *walker, const char *what, enum property property,
                             int count, const struct finding *finding)
{
    walk_say(walker, what, property, walker->choices, count);
    for (int k = 0; finding && k < finding->witness_lines; k++)
        print_error("  %s\n", finding->witness[k]);
    fail();
}

/* Two majorities have a server in common, and what happened there is the cause. */
static inline void walk_judge_causes(const struct walker *walker, const struct finding *findings,
                                     int count)
{
    for (int i = 0; i < PROPERTY_COUNT && walker->pace->counts_right; i++)
        if (findings[i].verdict == VERDICT_VIOLATED && findings[i].cause == CAUSE_SPLIT_GRANT)
            walk_fail(walker, "a split grant", (enum property)i, count, &findings[i]);
}

/* The world and the explorer, behind the same step, are the same. */
static inline void walk_compare_worlds(void *context, struct world *world, int made)
{
    struct walker *walker = context;
    struct state_space *space = &walker->search.space;
    int step = 0;
    while (step < walker->steps && walker->ends[step] != made)
        step++;
    walk_choices_made[walker->choices[made - 1].kind]++;
    for (int i = 0; i < space->config.clients && step < walker->steps; i++) {
        struct client_state client;
        space_read_client(space, walker->states[step][i], &client);
        const char *difference = same_client(&client, world, i);
        if (difference) {
            walk_say(walker, difference, PROPERTY_COUNT - 1, walker->choices, made);
            fail_msg("of %s differs: %s", replay_names[i], difference);
        }
    }
}

/* Of progress: does the explorer know of it behind that step, or need not, as nobody can ask? */
static inline bool walk_is_excused(const struct walker *walker, int step)
{
    if (walker->wants[step] && walker->was_overdue[step])
        walks_stuck_under_way++;
    return !walker->wants[step] || walker->was_overdue[step];
}

/* What is more than a leftover for the explorer is for the checks, too. And so it is the other way
 * round where a server brought the key back; of what the scheme itself has left there, without a
 * lost message, the explorer says so when that happens, and not once more to who is refused by it.
 */
static inline void walk_compare_leftovers(struct walker *walker, enum property property)
{
    static struct finding findings[PROPERTY_COUNT];
    struct failure failure = {0};
    const struct replay replay = walk_replay(walker);
    if (!(walker->blamed >> property & 1))
        return;
    assert_true(replay_choices(&replay, walker->choices, walker->first_blamed[property], findings,
                               &failure));
    if (findings[property].blames == 1u << BLAME_NOBODY)
        walk_fail(walker, "a leftover for the checks only", property,
                  walker->first_blamed[property], &findings[property]);
}

/* What checks/ knows, step by step and at the end, the explorer knows. */
static inline void walk_compare_checks(struct walker *walker)
{
    static struct finding findings[PROPERTY_COUNT];
    static unsigned violated[CHOICES_OF_WALK];
    struct failure failure = {0};
    struct replay replay = walk_replay(walker);
    replay.violated = violated;
    replay.look = walk_compare_worlds;
    replay.context = walker;
    if (!replay_choices(&replay, walker->choices, walker->count, findings, &failure)) {
        walk_say(walker, failure.text, PROPERTY_COUNT - 1, walker->choices, walker->count);
        fail_msg("the simulated world did not follow: %s", failure.text);
    }
    walk_judge_causes(walker, findings, walker->count);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        enum property property = (enum property)i;
        if (!walk_compares(walker, property) || walk_is_stricter_in_checks(walker, property))
            continue;
        for (int n = 0; n < walker->steps; n++)
            if (violated[walker->ends[n] - 1] >> i & 1 && !(walker->violated[n] >> i & 1) &&
                !(property == PROPERTY_PROGRESS && walk_is_excused(walker, n)))
                walk_fail(walker, "found by the checks only", property, walker->ends[n],
                          &findings[i]);
        if (property == PROPERTY_TRUTHFUL && findings[i].causes >> CAUSE_LOST_GRANT & 1 &&
            !(walker->blamed >> i & 1))
            walk_fail(walker, "a leftover for the explorer only", property, walker->count,
                      &findings[i]);
        if (findings[i].verdict == VERDICT_VIOLATED && !(walker->all >> i & 1) &&
            !(property == PROPERTY_PROGRESS && walk_is_excused(walker, walker->steps - 1)))
            walk_fail(walker, "found by the checks only, at the end", property, walker->count,
                      &findings[i]);
    }
}

/* The way to a stuck state, and on until it shows. */
static inline void walk_compare_stuck(struct walker *walker)
{
    static struct finding findings[PROPERTY_COUNT];
    struct failure failure = {0};
    struct explore_finding witness = {0};
    const struct violation violation = {.state = walker->stuck, .step = -1};
    const struct replay replay = walk_replay(walker);
    if (walker->witnesses++ == walker->pace->witnesses)
        return;
    witness_build(&walker->search, &violation, &witness);
    walker->search.successors.take = walk_draw;
    walker->search.successors.context = walker;
    bool delayed =
        replay_choices(&replay, witness.choices, witness.choices_count, findings, &failure);
    if (!delayed || findings[PROPERTY_PROGRESS].verdict != VERDICT_VIOLATED) {
        walk_say(walker, "stuck for the explorer only", PROPERTY_PROGRESS, witness.choices,
                 witness.choices_count);
        fail_msg("%s", failure.text);
    }
    free(witness.choices);
}

/* What the explorer sees at a step, checks/ finds when the history ends there. */
static inline void walk_compare_explorer(struct walker *walker)
{
    static struct finding findings[PROPERTY_COUNT];
    struct failure failure = {0};
    const struct replay replay = walk_replay(walker);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        bool is_stuck = i == PROPERTY_PROGRESS && walker->stuck != STATE_NONE;
        if (!(walker->all >> i & 1) || is_stuck)
            continue;
        assert_true(replay_choices(&replay, walker->choices, walker->first[i], findings, &failure));
        walk_judge_causes(walker, findings, walker->first[i]);
        if (findings[i].verdict != VERDICT_VIOLATED)
            walk_fail(walker, "found by the explorer only", (enum property)i, walker->first[i],
                      NULL);
    }
    walk_compare_leftovers(walker, PROPERTY_TRUTHFUL);
    if (walker->stuck != STATE_NONE)
        walk_compare_stuck(walker);
}

static inline void walk_once(struct walker *walker, uint64_t stream)
{
    const struct walk_plan *pace = walker->pace;
    walker->random = (struct random){.seed = pace->seed, .stream = stream};
    walker->count = walker->steps = 0;
    walker->all = walker->blamed = 0;
    walker->is_overdue = false;
    walker->stuck = STATE_NONE;
    successors_start(&walker->search.successors, &walker->options, walker->words);
    walk_look(walker, 0);
    while (walker->steps < pace->steps && walk_on(walker))
        ;
    walk_compare_checks(walker);
    walk_compare_explorer(walker);
}

/* Walks with those options; returns the properties that were violated in some of them. states_max:
 * as many are visited first, for progress; 0: none, and progress is not compared. */
static inline unsigned walk_all(const struct explore_options *of, uint64_t states_max,
                                const struct walk_plan *pace)
{
    static struct walker walker;
    unsigned violated = 0;
    memset(&walker, 0, sizeof walker);
    walker.options = *of;
    walker.options.states_max = states_max;
    walker.options.judges_guesses = !pace->counts_right;
    walker.pace = pace;
    search_init(&walker.search, &walker.options);
    if (states_max > 0) {
        search_run(&walker.search);
        walker.knows_progress = walker.search.end == END_COMPLETE;
    }
    if (walker.knows_progress)
        search_progress(&walker.search);
    walker.search.successors.take = walk_draw;
    walker.search.successors.context = &walker;
    for (uint64_t n = 0; n < pace->walks; n++) {
        walk_once(&walker, n);
        violated |= walker.all;
    }
    search_close(&walker.search);
    return violated;
}

#endif
