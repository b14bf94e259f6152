/* random.c - see random.h. */
#include "explore/search/random.h"

#include "base/memory.h"
#include "explore/reduce/symmetry.h"
#include "explore/search/minimize.h"
#include "explore/search/strategy.h"
#include "explore/search/shrink.h"
#include "explore/store/fingerprint_set.h"

#include <stdlib.h>
#include <string.h>

/* A run that only goes round, asking and being refused, is cut, and so is one without an end;
 * strategies change after so many runs. */
enum { CIRCLE_MAX = 24, RUN_STEPS_MAX = 400, SLICE_RUNS = 16, LENGTH_FIRST = 32 };

struct portfolio {
    const struct explore_options *options;
    struct explore_outcome *outcome;
    struct trace_replayer replayer;
    struct fingerprint_set visited; /* of all runs, in the form that the reductions give them */
    struct trace best[PROPERTY_COUNT];
    unsigned by_leftover;              /* of the best: which are by a leftover, bits */
    uint64_t steps;                    /* of all runs */
    uint64_t window_runs, window_from; /* runs before the last full thousand, states then */
    /* The run in hand. */
    struct trace made;
    uint64_t fingerprints[RUN_STEPS_MAX + 1];
    int fingerprints_count;
    int circle; /* steps in a row that led back */
    unsigned violated;
    bool *is_new;
    int is_new_size;
};

/* --- states --- */

static uint64_t canonical_fingerprint(struct portfolio *it, const uint32_t *words, uint32_t *sorted)
{
    uint8_t positions[EXPLORE_CLIENTS_MAX], numbers[SERVERS_MAX];
    memcpy(sorted, words, WORDS_MAX * sizeof *words);
    symmetry_sort(&it->replayer.space, it->options->reductions, sorted, positions, numbers);
    return fingerprint_of(&it->visited, sorted);
}

/* Where the run is now; true: it was there before. */
static bool come_to(struct portfolio *it, const uint32_t *words)
{
    uint32_t sorted[WORDS_MAX];
    uint64_t fingerprint = canonical_fingerprint(it, words, sorted);
    bool is_new, is_back = false;
    fingerprint_set_put(&it->visited, fingerprint, sorted, STATE_NONE, &is_new);
    for (int i = 0; i < it->fingerprints_count && !is_new; i++)
        is_back |= it->fingerprints[i] == fingerprint;
    it->fingerprints[it->fingerprints_count++] = fingerprint;
    return is_back;
}

static const bool *look_for_new(struct portfolio *it)
{
    uint32_t sorted[WORDS_MAX];
    if (it->is_new_size < it->replayer.count) {
        it->is_new_size = it->replayer.size;
        it->is_new = memory_resize(it->is_new, (size_t)it->is_new_size, sizeof *it->is_new);
    }
    for (int i = 0; i < it->replayer.count; i++) {
        uint64_t fingerprint = canonical_fingerprint(it, it->replayer.steps[i].words, sorted);
        it->is_new[i] = fingerprint_set_find(&it->visited, fingerprint, sorted) == STATE_NONE;
    }
    return it->is_new;
}

/* --- one run --- */

/* Takes out of what is violated what is so by a leftover and stands behind another violation; and
 * puts such a one away when it is in the way of another. */
static unsigned put_in_order(struct portfolio *it, unsigned violated)
{
    unsigned by_leftover = violated_by_leftover(violated);
    violated &= ~(unsigned)BY_LEFTOVER;
    for (unsigned left = violated; left != 0; left &= left - 1) {
        unsigned property = left & -left;
        struct trace *best = &it->best[__builtin_ctz(left)];
        bool is_leftover = by_leftover & property, was_leftover = it->by_leftover & property;
        if (is_leftover && best->count > 0 && !was_leftover) {
            violated &= ~property;
            continue;
        }
        if (!is_leftover && was_leftover) {
            it->violated &= ~property;
            trace_close(best);
        }
        it->by_leftover = (it->by_leftover & ~property) | (is_leftover ? property : 0);
    }
    return violated;
}

/* The way so far violates these: it is kept where it is the shortest yet. */
static void note_violated(struct portfolio *it, unsigned violated)
{
    violated = put_in_order(it, violated);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct explore_finding *finding = &it->outcome->findings[i];
        struct trace *best = &it->best[i];
        if (!((violated & ~it->violated) >> i & 1))
            continue;
        if (best->count == 0)
            finding->run = it->outcome->runs + 1;
        if (best->count == 0 || trace_is_shorter(&it->made, best))
            trace_copy(best, &it->made);
    }
    it->violated |= violated;
}

static void make_step(struct portfolio *it, struct strategy_run *run, int at)
{
    const struct successor step = it->replayer.steps[at];
    struct event_label label = label_of(&it->replayer.space, it->replayer.words, &step);
    trace_add(&it->made, &label);
    if (step.violated)
        note_violated(it, step.violated);
    if (step.is_unsupported)
        it->outcome->end = END_UNSUPPORTED;
    bool is_back = come_to(it, step.words);
    it->circle = is_back ? it->circle + 1 : 0;
    strategy_made(run, &step, is_back);
    replayer_go(&it->replayer, step.words);
}

static bool is_over(const struct portfolio *it)
{
    return it->made.count == RUN_STEPS_MAX || it->circle == CIRCLE_MAX ||
           it->outcome->end == END_UNSUPPORTED || it->replayer.space.violation ||
           it->replayer.space.has_guessed;
}

static void make_run(struct portfolio *it, enum strategy strategy)
{
    struct strategy_run run;
    uint64_t runs = it->outcome->runs;
    struct random random = {.seed = it->options->seed, .stream = runs};
    int length = runs > 0 ? (int)(it->steps / runs) + 1 : LENGTH_FIRST;
    strategy_begin(&run, strategy, it->options, &it->replayer.space.config, random, length);
    it->made.count = 0;
    it->fingerprints_count = it->circle = 0;
    it->violated = 0;
    replayer_start(&it->replayer);
    come_to(it, it->replayer.words);
    while (!is_over(it)) {
        const bool *is_new = strategy == STRATEGY_NOVELTY ? look_for_new(it) : NULL;
        int at = strategy_pick(&run, &it->replayer, is_new);
        if (at < 0)
            break;
        make_step(it, &run, at);
    }
    it->steps += (uint64_t)it->made.count;
    it->outcome->runs++;
}

/* --- all runs --- */

static enum strategy strategy_of(const struct portfolio *it)
{
    if (it->options->search == SEARCH_PCT)
        return STRATEGY_STALLS;
    return (enum strategy)(it->outcome->runs / SLICE_RUNS % STRATEGY_COUNT);
}

static uint64_t bytes_of(const struct portfolio *it)
{
    return fingerprint_set_bytes(&it->visited) + space_bytes(&it->replayer.space);
}

static bool has_found_all(const struct portfolio *it)
{
    unsigned missing = it->options->sought;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (it->best[i].count > 0)
            missing &= ~(1u << i);
    missing |= it->options->sought & it->by_leftover;
    return it->options->sought && !missing;
}

/* A limit that is reached ends the search; END_COMPLETE: go on. */
static enum explore_end limit_of(struct portfolio *it)
{
    const struct explore_options *options = it->options;
    uint64_t runs_max = options->runs_max ? options->runs_max : EXPLORE_RUNS;
    if (it->replayer.space.violation)
        return END_CONTRACT;
    if (it->replayer.space.has_guessed)
        return END_STOPPED;
    if (it->outcome->runs >= runs_max)
        return END_RUNS;
    if (options->states_max && it->visited.count >= options->states_max)
        return END_STATES;
    if (options->bytes_max && bytes_of(it) >= options->bytes_max)
        return END_BYTES;
    if (explore_is_out_of_time(options))
        return END_TIME;
    if (explore_is_stopped(options))
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
            make_run(it, strategy_of(it));
        count_new(it);
    }
}

/* --- what was found --- */

static void shorten(struct portfolio *it)
{
    struct explore_outcome *outcome = it->outcome;
    unsigned proved = 0, found = 0;
    struct explore_options options = *it->options;
    it->replayer.options.leftovers = options.leftovers = LEFTOVERS_NEVER;
    it->replayer.options.leftovers_too = options.leftovers_too = it->by_leftover;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        found |= (unsigned)(it->best[i].count > 0) << i;
        if (it->best[i].count > 0)
            shrink(&it->replayer, &it->best[i], (enum property)i);
    }
    if (found)
        proved = minimize(&it->replayer, &options, it->best, &outcome->shorter_states);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct explore_finding *finding = &outcome->findings[i];
        finding->verdict = VERDICT_UNKNOWN;
        finding->runs = outcome->runs;
        if (it->best[i].count == 0)
            continue;
        shrink_gather(&it->replayer, &it->best[i], (enum property)i);
        shrink_rename(&it->replayer, &it->best[i], (enum property)i);
        trace_print(&it->replayer, &it->best[i], finding);
        finding->verdict = VERDICT_VIOLATED;
        finding->is_shortest = proved >> i & 1;
    }
}

enum fail random_search(const struct explore_options *options, struct explore_outcome *outcome,
                        struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    struct portfolio it = {.options = options, .outcome = outcome};
    replayer_init(&it.replayer, options);
    fingerprint_set_init(&it.visited, space_words(&it.replayer.space), options->hash_seed,
                         options->has_full_states);
    make_runs(&it);
    double states = (double)it.visited.count;
    outcome->states = it.visited.count;
    outcome->transitions = it.steps;
    outcome->lost = options->has_full_states ? 0 : states * states / 36893488147419103232.0;
    outcome->has_guessed = it.replayer.space.has_guessed;
    if (it.replayer.space.violation)
        fail = space_fail(&it.replayer.space, failure);
    else if (!outcome->has_guessed)
        shorten(&it);
    outcome->bytes = bytes_of(&it);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        trace_close(&it.best[i]);
    trace_close(&it.made);
    free(it.is_new);
    fingerprint_set_close(&it.visited);
    replayer_close(&it.replayer);
    return fail;
}
