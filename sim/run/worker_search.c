/* worker_search.c - see worker_search.h: the runs of a cell. What they found is shrunk and
 * confirmed in worker_findings.c. */
#include "run/worker_search.h"

#include "base/memory.h"
#include "base/units.h"
#include "run/worker_findings.h"

#include <stdlib.h>
#include <string.h>

/* Strategies change after so many runs; a run is taken for so long before any is known. */
enum { SLICE_RUNS = 16, LENGTH_FIRST = 24, SPARE_ATTEMPTS = 2 };

struct worker_search *worker_search_new(struct worker_scheme *worker, char (*names)[NAME_MAX_BYTES])
{
    struct worker_search *search = memory_new(1, sizeof *search);
    search->worker = worker;
    search->names = names;
    return search;
}

static void let_go(struct worker_search *search)
{
    kept_workers_free(search->kept);
    search->kept = NULL;
}

void worker_search_free(struct worker_search *search)
{
    if (!search)
        return;
    let_go(search);
    free(search);
}

/* --- states: what stands between two choices, as far as it is seen from outside --- */

static void set_put(struct state_set *set, uint64_t fingerprint)
{
    if (2 * (set->count + 1) > set->size) {
        const struct state_set old = *set;
        set->size = old.size ? 2 * old.size : 1024;
        set->rows = memory_new(set->size, sizeof *set->rows);
        set->count = 0;
        for (size_t i = 0; i < old.size; i++)
            if (old.rows[i])
                set_put(set, old.rows[i]);
        free(old.rows);
    }
    fingerprint += fingerprint == 0;
    size_t at = fingerprint & (set->size - 1);
    while (set->rows[at] && set->rows[at] != fingerprint)
        at = (at + 1) & (set->size - 1);
    set->count += set->rows[at] == 0;
    set->rows[at] = fingerprint;
}

static void count_state(void *context, uint64_t fingerprint)
{
    struct worker_cell *it = context;
    set_put(&it->states, fingerprint);
    it->cell->outcome.transitions++;
}

/* --- one run --- */

static struct picker *draw_picker(struct worker_cell *it)
{
    const struct explore_outcome *outcome = &it->cell->outcome;
    const struct random random = {.seed = it->cell->options.seed, .stream = outcome->runs};
    const int length =
        outcome->runs ? (int)(outcome->transitions / outcome->runs) + 1 : LENGTH_FIRST;
    const bool is_pct =
        it->cell->options.search == SEARCH_PCT || outcome->runs / SLICE_RUNS % 2 == 1;
    if (it->cell->options.search == SEARCH_BOUNDED)
        return &it->bounded.picker;
    if (is_pct) {
        pct_begin(&it->pct, random, length, it->faults);
        return &it->pct.picker;
    }
    uniform_begin(&it->uniform, random);
    return &it->uniform.picker;
}

/* The same choices again, in the same processes after a reset: all has to be the same. */
static enum fail audit(struct worker_cell *it, const struct worker_walk *walk, unsigned known,
                       bool is_patient, struct failure *failure)
{
    struct worker_walk again;
    struct replay_picker replay;
    char words[300];
    struct walk_maker walker = it->walker;
    walker.state = NULL;
    walker.known = known;
    walker.is_patient = is_patient;
    replay_begin(&replay, walk->moves, walk->count);
    enum fail fail = walk_make(&walker, &replay.picker, false, &again, failure);
    if (!fail && walk_differs(walk, &again, words, sizeof words))
        it->doubt = memory_format("the worker does not do the same twice: in run %llu %s",
                                  (unsigned long long)it->cell->outcome.runs, words);
    walk_close(&again);
    return fail;
}

static bool has_own_failure(const struct worker_walk *walk)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (walk->findings[i].verdict == VERDICT_VIOLATED &&
            cause_blame(walk->findings[i].cause) == BLAME_SCHEME)
            return true;
    return false;
}

static void keep_best(struct worker_cell *it, struct worker_walk *walk)
{
    it->blamed += has_own_failure(walk);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct finding *found = &walk->findings[i];
        struct worker_violation *best = &it->best[i];
        it->applies |= (unsigned)(found->verdict != VERDICT_NOT_APPLICABLE) << i;
        if (found->verdict != VERDICT_VIOLATED)
            continue;
        const enum blame blame = cause_blame(found->cause);
        const bool is_worse = !best->is_there || blame > cause_blame(best->cause);
        const bool is_shorter = best->is_there && blame == cause_blame(best->cause) &&
                                (walk->faults < best->faults ||
                                 (walk->faults == best->faults && walk->count < best->count));
        if (!is_worse && !is_shorter)
            continue;
        if (is_worse)
            best->run = it->cell->outcome.runs;
        best->is_there = true;
        best->cause = found->cause;
        best->faults = walk->faults;
        best->count = walk->count;
        best->waits = walk->waits;
        memcpy(best->moves, walk->moves, sizeof best->moves);
        /* What is nobody's fault must not hide what is somebody's. */
        if (blame == BLAME_SCHEME)
            it->walker.known |= 1u << i;
    }
}

/* A run that cannot be judged says nothing; where none can, the cell says why. */
static enum fail make_run(struct worker_cell *it, struct failure *failure)
{
    struct worker_walk walk;
    struct explore_outcome *outcome = &it->cell->outcome;
    const unsigned known = it->walker.known;
    /* Once an endless wait is told, it need not be waited for again. */
    const bool is_patient = !(known & 1u << PROPERTY_PROGRESS);
    it->walker.is_patient = is_patient;
    enum fail fail = walk_make(&it->walker, draw_picker(it), false, &walk, failure);
    outcome->runs++;
    if (fail && explore_is_stopped(&it->cell->options)) {
        outcome->runs--;
        fail = FAIL_NONE;
    } else if (fail == FAIL_UNKNOWN) {
        if (!it->doubt)
            it->doubt =
                memory_format("run %llu: %s", (unsigned long long)outcome->runs, failure->text);
        it->lost++;
        fail = FAIL_NONE;
    } else if (!fail) {
        it->struck += walk.faults > 0;
        keep_best(it, &walk);
        if (outcome->runs % WORKER_SEARCH_AUDIT_EVERY == 1)
            fail = audit(it, &walk, known, is_patient, failure);
        if (fail == FAIL_UNKNOWN && !explore_is_stopped(&it->cell->options))
            it->doubt = memory_format("run %llu, again: %s", (unsigned long long)outcome->runs,
                                      failure->text);
        fail = fail == FAIL_UNKNOWN ? FAIL_NONE : fail;
    }
    walk_close(&walk);
    return fail;
}

/* --- all runs --- */

static uint64_t runs_max(const struct worker_cell *it)
{
    const struct explore_options *options = &it->cell->options;
    return options->runs_max ? options->runs_max : WORKER_SEARCH_RUNS;
}

static enum explore_end limit_of(const struct worker_cell *it)
{
    const struct explore_options *options = &it->cell->options;
    const bool is_enough = it->cell->is_sample && it->blamed >= WORKER_SEARCH_BLAMED;
    if (it->doubt || is_enough || it->cell->outcome.runs >= runs_max(it))
        return END_RUNS;
    if (explore_is_out_of_time(options))
        return END_TIME;
    return explore_is_stopped(&it->cell->options) ? END_STOPPED : END_COMPLETE;
}

static enum fail make_runs(struct worker_cell *it, struct failure *failure)
{
    struct explore_outcome *outcome = &it->cell->outcome;
    const bool is_bounded = it->cell->options.search == SEARCH_BOUNDED;
    enum fail fail = FAIL_NONE;
    bounded_begin(&it->bounded);
    while (!fail && (outcome->end = limit_of(it)) == END_COMPLETE) {
        fail = make_run(it, failure);
        worker_cell_tell(it);
        if (outcome->runs == runs_max(it) / 2) {
            it->half_runs = outcome->runs;
            it->half_states = it->states.count;
        }
        if (is_bounded && !bounded_next(&it->bounded, WORKER_SEARCH_DEVIATIONS)) {
            it->has_made_all = true;
            outcome->end = END_RUNS;
            break;
        }
    }
    outcome->states = it->states.count;
    if (outcome->runs > it->half_runs)
        outcome->new_per_1000 =
            (outcome->states - it->half_states) * 1000 / (outcome->runs - it->half_runs);
    return fail;
}

/* --- a cell --- */

static bool has_fault_of_none(const struct cell *cell)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (cell->options.budget[i] && !moves_have_fault((enum fault)i))
            return true;
    return false;
}

static enum fail use_workers(struct worker_search *search, const struct cell *cell,
                             struct failure *failure)
{
    const struct run run = {.scheme = &search->worker->scheme,
                            .clients = cell->options.clients,
                            .servers = cell->options.servers,
                            .names = search->names,
                            .lease_us = WORKER_SEARCH_LEASE_US,
                            .seed = 1, /* of tokens, as when a schedule is replayed */
                            .has_replica = cell->options.budget[FAULT_FAILOVER] > 0};
    if (search->kept && kept_workers_suit(search->kept, &run))
        return FAIL_NONE;
    let_go(search);
    search->run = run;
    return kept_workers_new(&search->kept, &search->worker->program, &search->run, failure);
}

static void fill_outcome(struct worker_cell *it)
{
    struct cell *cell = it->cell;
    struct explore_outcome *outcome = &cell->outcome;
    outcome->lease_ticks = MOVES_LEASE_TICKS;
    outcome->lease_us = WORKER_SEARCH_LEASE_US;
    outcome->has_replica = it->search->run.has_replica;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        outcome->findings[i].verdict = VERDICT_UNKNOWN;
        outcome->findings[i].runs = outcome->runs;
    }
    /* What no run could ask is not asked of the worker: it makes no such promise. */
    if (outcome->runs > it->lost)
        cell->ignored |= ~it->applies & ((1u << PROPERTY_COUNT) - 1);
    cell->doubt = it->doubt;
    if (!cell->doubt && !outcome->runs && outcome->end == END_TIME)
        cell->doubt = memory_text("not run: the time was up before, and a larger --budget helps");
    cell->is_unstruck = !cell->doubt && it->faults && !it->struck && outcome->runs > 0;
    if (cell->is_unstruck)
        cell->doubt =
            memory_format("no fault struck in %llu run%s: there was nothing for it to strike",
                          (unsigned long long)outcome->runs, units_plural((int64_t)outcome->runs));
    if (!cell->doubt && it->has_made_all)
        cell->doubt =
            memory_format("not found in all %llu runs with at most %d faults and preemptions",
                          (unsigned long long)outcome->runs, WORKER_SEARCH_DEVIATIONS);
}

/* A systematic search gets nowhere with what chance can leave open. */
static struct moves_bounds bounds_of(const struct cell *cell)
{
    const bool is_bounded = cell->options.search == SEARCH_BOUNDED;
    return (struct moves_bounds){.rounds = cell->options.rounds,
                                 .section = cell->options.section,
                                 .spare = is_bounded ? 0 : SPARE_ATTEMPTS,
                                 .ticks = is_bounded ? MOVES_LEASE_TICKS + 1 : MOVES_TIMES_MAX};
}

static enum fail search_cell(struct worker_cell *it, struct failure *failure)
{
    struct cell *cell = it->cell;
    enum fail fail = use_workers(it->search, cell, failure);
    if (fail)
        return fail;
    it->walker = (struct walk_maker){.kept = it->search->kept,
                                     .program = &it->search->worker->program,
                                     .run = &it->search->run,
                                     .bounds = bounds_of(cell),
                                     .state = count_state,
                                     .context = it};
    memcpy(it->walker.budget, cell->options.budget, sizeof it->walker.budget);
    for (int i = 0; i < FAULT_COUNT; i++)
        it->faults += cell->options.budget[i];
    fail = make_runs(it, failure);
    fill_outcome(it);
    if (!fail)
        fail = worker_findings_confirm(it, failure);
    for (int i = 0; i < PROPERTY_COUNT && !cell->doubt; i++)
        if (cell->witnesses[i].error)
            cell->doubt =
                memory_format("%s: %s", property_name((enum property)i), cell->witnesses[i].error);
    return fail;
}

enum fail worker_search_cell(struct worker_search *search, struct cell *cell,
                             struct failure *failure)
{
    const int64_t began_us = cell->options.now_us ? cell->options.now_us() : 0;
    enum fail fail = FAIL_NONE;
    cell->has_one_section = cell->is_run = true;
    if (has_fault_of_none(cell)) {
        cell->outcome.end = END_NOT_MODELLED;
        cell->outcome.lease_ticks = MOVES_LEASE_TICKS;
        for (int i = 0; i < PROPERTY_COUNT; i++)
            cell->outcome.findings[i].verdict = VERDICT_UNKNOWN;
    } else {
        struct worker_cell *it = memory_new(1, sizeof *it);
        it->search = search;
        it->cell = cell;
        fail = search_cell(it, failure);
        cell->options.has_extends = worker_program_is_told_to_extend(&search->worker->program);
        cell->options.has_cancels = worker_program_is_cancelled(&search->worker->program);
        free(it->states.rows);
        free(it);
    }
    if (explore_is_stopped(&cell->options))
        cell->outcome.end = END_STOPPED;
    if (cell->options.now_us)
        cell->elapsed_us = cell->options.now_us() - began_us;
    return fail;
}
