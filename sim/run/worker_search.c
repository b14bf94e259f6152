/* worker_search.c - see worker_search.h: what the runs of a cell (worker_runs.h) showed is counted,
 * and the best of it kept. It is shrunk and confirmed in worker_findings.c. */
#include "run/worker_search.h"

#include "base/memory.h"
#include "base/units.h"
#include "run/worker_findings.h"

#include <stdlib.h>
#include <string.h>

enum { SPARE_ATTEMPTS = 2 };

struct worker_search *worker_search_new(struct worker_scheme *worker, char (*names)[NAME_MAX_BYTES])
{
    struct worker_search *search = memory_new(1, sizeof *search);
    search->crew.program = &worker->program;
    search->worker = worker;
    search->names = names;
    search->ahead = runs_ahead_start(&worker->program);
    return search;
}

void worker_search_rest(struct worker_search *search)
{
    runs_ahead_rest(search->ahead);
    search_crew_rest(&search->crew);
    search->runs = 0;
    search->is_helped = false;
}

void worker_search_free(struct worker_search *search)
{
    if (!search)
        return;
    worker_search_rest(search);
    runs_ahead_end(search->ahead);
    free(search);
}

int worker_search_child(const struct worker_search *search)
{
    return runs_ahead_pid(search->ahead);
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

/* --- one run --- */

static bool has_own_failure(const struct search_run *run)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (run->found[i].verdict == VERDICT_VIOLATED &&
            cause_blame(run->found[i].cause) == BLAME_SCHEME)
            return true;
    return false;
}

static void keep_best(struct worker_cell *it, const struct search_run *run)
{
    it->blamed += has_own_failure(run);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const enum verdict verdict = run->found[i].verdict;
        const enum cause cause = run->found[i].cause;
        struct worker_violation *best = &it->best[i];
        it->applies |= (unsigned)(verdict != VERDICT_NOT_APPLICABLE) << i;
        if (verdict != VERDICT_VIOLATED)
            continue;
        const enum blame blame = cause_blame(cause);
        const bool is_worse = !best->is_there || blame > cause_blame(best->cause);
        const bool is_shorter = best->is_there && blame == cause_blame(best->cause) &&
                                (run->faults < best->faults ||
                                 (run->faults == best->faults && run->count < best->count));
        if (!is_worse && !is_shorter)
            continue;
        if (is_worse)
            best->run = run->number + 1;
        best->is_there = true;
        best->cause = cause;
        best->faults = run->faults;
        best->count = run->count;
        best->waits = run->waits;
        memcpy(best->moves, run->moves, (size_t)(run->count + run->waits) * sizeof *best->moves);
        /* What is nobody's fault must not hide what is somebody's. */
        if (blame == BLAME_SCHEME)
            it->walker.known |= 1u << i;
    }
}

static void take_run(struct worker_cell *it, struct made_run *made)
{
    const struct search_run *run = &made->run;
    struct explore_outcome *outcome = &it->cell->outcome;
    outcome->runs++;
    it->search->runs++;
    outcome->transitions += (uint64_t)run->states_count;
    for (int i = 0; i < run->states_count; i++)
        set_put(&it->states, run->states[i]);
    it->lost += made->is_lost;
    if (!it->doubt) {
        it->doubt = made->doubt;
        made->doubt = NULL;
    }
    if (made->is_lost)
        return;
    it->struck += run->faults > 0;
    keep_best(it, run);
}

/* --- all runs --- */

static enum explore_end limit_of(const struct worker_cell *it)
{
    const struct explore_options *options = &it->cell->options;
    const bool is_enough = it->cell->is_sample && it->blamed >= WORKER_SEARCH_BLAMED;
    if (it->doubt || is_enough || it->cell->outcome.runs >= worker_runs_max(it))
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
        struct made_run *made;
        fail = worker_runs_next(it, &made, failure);
        if (!made)
            continue;
        take_run(it, made);
        worker_cell_tell(it);
        if (outcome->runs == worker_runs_max(it) / 2) {
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
    return search_crew_suit(&search->crew, &run, failure);
}

static void fill_outcome(struct worker_cell *it)
{
    struct cell *cell = it->cell;
    struct explore_outcome *outcome = &cell->outcome;
    outcome->lease_ticks = MOVES_LEASE_TICKS;
    outcome->lease_us = WORKER_SEARCH_LEASE_US;
    outcome->has_replica = it->search->crew.run.has_replica;
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
    it->walker = (struct walk_maker){.kept = it->search->crew.kept,
                                     .program = &it->search->worker->program,
                                     .run = &it->search->crew.run,
                                     .bounds = bounds_of(cell)};
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
        worker_runs_close(it);
        free(it->states.rows);
        free(it);
    }
    if (explore_is_stopped(&cell->options))
        cell->outcome.end = END_STOPPED;
    if (cell->options.now_us)
        cell->elapsed_us = cell->options.now_us() - began_us;
    return fail;
}
