/* random.c - see random.h. */
#include "explore/random.h"

#include "base/memory.h"
#include "explore/canon.h"
#include "explore/minimise.h"
#include "explore/policy.h"
#include "explore/shrink.h"
#include "explore/visited.h"

#include <stdlib.h>
#include <string.h>

/* A run that only goes round, asking and being refused, is cut, and so is one without an end;
 * policies change after so many runs. */
enum { CIRCLE_MAX = 24, RUN_STEPS_MAX = 400, SLICE_RUNS = 16, LENGTH_FIRST = 32 };

struct portfolio {
    const struct explore_options *options;
    struct explore_outcome *outcome;
    struct stage stage;
    struct visited visited; /* of all runs, in the form that the reductions give them */
    struct path best[PROPERTY_COUNT];
    uint64_t steps;                    /* of all runs */
    uint64_t window_runs, window_from; /* runs before the last full thousand, states then */
    /* The run in hand. */
    struct path made;
    uint64_t prints[RUN_STEPS_MAX + 1];
    int prints_count;
    int circle; /* steps in a row that led back */
    unsigned violated;
    bool *is_new;
    int is_new_size;
};

/* --- states --- */

static uint64_t sorted_print(struct portfolio *it, const uint32_t *words, uint32_t *sorted)
{
    uint8_t positions[EXPLORE_CLIENTS_MAX], numbers[SERVERS_MAX];
    memcpy(sorted, words, WORDS_MAX * sizeof *words);
    canon_sort(&it->stage.space, it->options->reductions, sorted, positions, numbers);
    return visited_print(&it->visited, sorted);
}

/* Where the run is now; true: it was there before. */
static bool come_to(struct portfolio *it, const uint32_t *words)
{
    uint32_t sorted[WORDS_MAX];
    uint64_t print = sorted_print(it, words, sorted);
    bool is_new, is_back = false;
    visited_put(&it->visited, print, sorted, VISITED_NONE, &is_new);
    for (int i = 0; i < it->prints_count && !is_new; i++)
        is_back |= it->prints[i] == print;
    it->prints[it->prints_count++] = print;
    return is_back;
}

static const bool *look_for_new(struct portfolio *it)
{
    uint32_t sorted[WORDS_MAX];
    if (it->is_new_size < it->stage.count) {
        it->is_new_size = it->stage.size;
        it->is_new = memory_resize(it->is_new, (size_t)it->is_new_size, sizeof *it->is_new);
    }
    for (int i = 0; i < it->stage.count; i++) {
        uint64_t print = sorted_print(it, it->stage.steps[i].words, sorted);
        it->is_new[i] = visited_find(&it->visited, print, sorted) == VISITED_NONE;
    }
    return it->is_new;
}

/* --- one run --- */

/* The way so far violates these: it is kept where it is the shortest yet. */
static void note_violated(struct portfolio *it, unsigned violated)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct explore_finding *finding = &it->outcome->findings[i];
        struct path *best = &it->best[i];
        if (!((violated & ~it->violated) >> i & 1))
            continue;
        if (best->count == 0)
            finding->run = it->outcome->runs + 1;
        if (best->count == 0 || path_is_shorter(&it->made, best))
            path_copy(best, &it->made);
    }
    it->violated |= violated;
}

static void make_step(struct portfolio *it, struct policy_run *run, int at)
{
    const struct step_taken step = it->stage.steps[at];
    struct deed deed = deed_of(&it->stage.space, it->stage.words, &step);
    path_add(&it->made, &deed);
    if (step.violated)
        note_violated(it, step.violated);
    if (step.is_unsupported)
        it->outcome->end = END_UNSUPPORTED;
    bool is_back = come_to(it, step.words);
    it->circle = is_back ? it->circle + 1 : 0;
    policy_made(run, &step, is_back);
    stage_go(&it->stage, step.words);
}

static bool is_over(const struct portfolio *it)
{
    return it->made.count == RUN_STEPS_MAX || it->circle == CIRCLE_MAX ||
           it->outcome->end == END_UNSUPPORTED || it->stage.space.breach;
}

static void make_run(struct portfolio *it, enum policy policy)
{
    struct policy_run run;
    uint64_t runs = it->outcome->runs;
    struct random random = {.seed = it->options->seed, .stream = runs};
    int length = runs > 0 ? (int)(it->steps / runs) + 1 : LENGTH_FIRST;
    policy_begin(&run, policy, it->options, &it->stage.space.setting, random, length);
    it->made.count = 0;
    it->prints_count = it->circle = 0;
    it->violated = 0;
    stage_start(&it->stage);
    come_to(it, it->stage.words);
    while (!is_over(it)) {
        const bool *is_new = policy == POLICY_NOVELTY ? look_for_new(it) : NULL;
        int at = policy_pick(&run, &it->stage, is_new);
        if (at < 0)
            break;
        make_step(it, &run, at);
    }
    it->steps += (uint64_t)it->made.count;
    it->outcome->runs++;
}

/* --- all runs --- */

static enum policy policy_of(const struct portfolio *it)
{
    if (it->options->search == SEARCH_PCT)
        return POLICY_STALLS;
    return (enum policy)(it->outcome->runs / SLICE_RUNS % POLICY_COUNT);
}

static uint64_t bytes_of(const struct portfolio *it)
{
    return visited_bytes(&it->visited) + space_bytes(&it->stage.space);
}

static bool has_found_all(const struct portfolio *it)
{
    unsigned missing = it->options->sought;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (it->best[i].count > 0)
            missing &= ~(1u << i);
    return it->options->sought && !missing;
}

/* A limit that is reached ends the search; END_COMPLETE: go on. */
static enum explore_end limit_of(struct portfolio *it)
{
    const struct explore_options *options = it->options;
    uint64_t runs_max = options->runs_max ? options->runs_max : EXPLORE_RUNS;
    if (it->stage.space.breach)
        return END_BREACH;
    if (it->outcome->runs >= runs_max)
        return END_RUNS;
    if (options->states_max && it->visited.count >= options->states_max)
        return END_STATES;
    if (options->bytes_max && bytes_of(it) >= options->bytes_max)
        return END_BYTES;
    if (options->deadline_us && options->now_us && options->now_us() >= options->deadline_us)
        return END_TIME;
    if (options->stop && *options->stop)
        return END_STOPPED;
    if (has_found_all(it))
        return END_ENOUGH;
    return END_COMPLETE;
}

/* A thousand runs are full: did they bring anything new? */
static void count_new(struct portfolio *it)
{
    struct explore_outcome *outcome = it->outcome;
    uint64_t runs = outcome->runs - it->window_runs, states = it->visited.count - it->window_from;
    bool is_full = runs == EXPLORE_RUNS_STALE, is_last = outcome->end != END_COMPLETE;
    if (!is_full && !(is_last && it->window_runs == 0 && runs > 0))
        return;
    outcome->new_per_1000 = states * 1000 / runs;
    it->window_runs = outcome->runs;
    it->window_from = it->visited.count;
    if (is_full && states == 0 && !is_last)
        outcome->end = END_STALE;
}

static void make_runs(struct portfolio *it)
{
    struct explore_outcome *outcome = it->outcome;
    while (outcome->end == END_COMPLETE) {
        outcome->end = limit_of(it);
        if (outcome->end == END_COMPLETE)
            make_run(it, policy_of(it));
        count_new(it);
    }
}

/* --- what was found --- */

static void shorten(struct portfolio *it)
{
    struct explore_outcome *outcome = it->outcome;
    unsigned proved = 0, found = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        found |= (unsigned)(it->best[i].count > 0) << i;
        if (it->best[i].count > 0)
            shrink(&it->stage, &it->best[i], (enum property)i);
    }
    if (found)
        proved = minimise(&it->stage, it->options, it->best, &outcome->shorter_states);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct explore_finding *finding = &outcome->findings[i];
        finding->verdict = VERDICT_UNKNOWN;
        finding->runs = outcome->runs;
        if (it->best[i].count == 0)
            continue;
        shrink_gather(&it->stage, &it->best[i], (enum property)i);
        shrink_rename(&it->stage, &it->best[i], (enum property)i);
        path_print(&it->stage, &it->best[i], finding);
        finding->verdict = VERDICT_VIOLATED;
        finding->is_shortest = proved >> i & 1;
    }
}

enum fail random_search(const struct explore_options *options, struct explore_outcome *outcome,
                        struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    struct portfolio it = {.options = options, .outcome = outcome};
    stage_init(&it.stage, options);
    visited_init(&it.visited, space_words(&it.stage.space), options->hash_seed,
                 options->has_full_states);
    make_runs(&it);
    double states = (double)it.visited.count;
    outcome->states = it.visited.count;
    outcome->transitions = it.steps;
    outcome->lost = options->has_full_states ? 0 : states * states / 36893488147419103232.0;
    if (it.stage.space.breach)
        fail = space_fail(&it.stage.space, failure);
    else
        shorten(&it);
    outcome->bytes = bytes_of(&it);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        path_close(&it.best[i]);
    path_close(&it.made);
    free(it.is_new);
    visited_close(&it.visited);
    stage_close(&it.stage);
    return fail;
}
