/* worker_runs.c - see worker_runs.h. */
#include "run/worker_runs.h"

#include "base/memory.h"
#include "live/processor.h"
#include "run/child.h"
#include "run/worker_findings.h"

#include <stdlib.h>
#include <string.h>

/* Of walks, before any is known. */
enum { LENGTH_FIRST = 24 };

uint64_t worker_runs_max(const struct worker_cell *it)
{
    const struct explore_options *options = &it->cell->options;
    return options->runs_max ? options->runs_max : WORKER_SEARCH_RUNS;
}

static bool is_bounded(const struct worker_cell *it)
{
    return it->cell->options.search == SEARCH_BOUNDED;
}

static struct made_run *made_of(struct worker_cell *it, uint64_t number)
{
    return &it->slice.runs[number % SEARCH_SLICE_RUNS];
}

/* --- a slice --- */

static void forget(struct worker_cell *it)
{
    for (int i = 0; i < SEARCH_SLICE_RUNS; i++) {
        free(it->slice.runs[i].doubt);
        it->slice.runs[i].doubt = NULL;
        it->slice.runs[i].is_made = it->slice.runs[i].is_lost = false;
    }
}

void worker_runs_close(struct worker_cell *it)
{
    forget(it);
}

/* What the child begins with costs as much as some dozens of runs. */
static struct runs_ahead *helper(const struct worker_cell *it)
{
    const struct worker_search *search = it->search;
    const uint64_t left = worker_runs_max(it) - it->cell->outcome.runs;
    const bool is_worth_it = search->is_helped || search->runs + left >= WORKER_SEARCH_HELPED;
    return is_worth_it && !is_bounded(it) && processor_shared() != NO_PROCESSOR ? search->ahead
                                                                                : NULL;
}

/* Of a systematic search each run hangs on the one before it. */
static void begin_slice(struct worker_cell *it)
{
    const struct explore_outcome *outcome = &it->cell->outcome;
    struct run_slice *slice = &it->slice;
    const uint64_t next = outcome->runs, of = is_bounded(it) ? 1 : SEARCH_SLICE_RUNS;
    if (next % of == 0)
        slice->terms.length = next ? (int)(outcome->transitions / next) + 1 : LENGTH_FIRST;
    slice->end = (next / of + 1) * of;
    if (slice->end > worker_runs_max(it))
        slice->end = worker_runs_max(it);
    slice->terms.walker = it->walker;
    /* Once an endless wait is told, it need not be waited for again. */
    slice->terms.walker.is_patient = !(it->walker.known & 1u << PROPERTY_PROGRESS);
    slice->terms.search = it->cell->options.search;
    slice->terms.seed = it->cell->options.seed;
    slice->terms.faults = it->faults;
    forget(it);
    slice->ahead = helper(it);
    it->search->is_helped |= slice->ahead != NULL;
    runs_ahead_ask(slice->ahead, &slice->terms, &it->search->crew, next, slice->end);
}

/* Also where it can be helped with, since something runs by now. */
static bool is_slice_over(const struct worker_cell *it)
{
    const struct run_slice *slice = &it->slice;
    return it->cell->outcome.runs >= slice->end || it->walker.known != slice->terms.walker.known ||
           helper(it) != slice->ahead;
}

/* --- a run of ours --- */

/* The same choices again, in the same processes after a reset: all has to be the same. */
static enum fail audit(struct worker_cell *it, const struct worker_walk *walk, uint64_t number,
                       struct made_run *made, struct failure *failure)
{
    struct worker_walk again;
    struct replay_picker replay;
    char words[300];
    replay_begin(&replay, walk->moves, walk->count);
    enum fail fail = walk_make(&it->slice.terms.walker, &replay.picker, false, &again, failure);
    if (!fail && walk_differs(walk, &again, words, sizeof words))
        made->doubt = memory_format("the worker does not do the same twice: in run %llu %s",
                                    (unsigned long long)number + 1, words);
    walk_close(&again);
    if (fail != FAIL_UNKNOWN)
        return fail;
    if (!explore_is_stopped(&it->cell->options))
        made->doubt =
            memory_format("run %llu, again: %s", (unsigned long long)number + 1, failure->text);
    return failure->code = FAIL_NONE;
}

/* A run that cannot be judged says nothing; where none can, the cell says why. */
static enum fail make(struct worker_cell *it, uint64_t number, struct failure *failure)
{
    struct worker_walk walk;
    struct made_run *made = made_of(it, number);
    enum fail fail =
        search_run_make(&it->slice.terms, number, is_bounded(it) ? &it->bounded.picker : NULL,
                        &walk, &made->run, failure);
    const bool is_stopped = fail && explore_is_stopped(&it->cell->options);
    made->is_made = !is_stopped;
    made->is_lost = fail == FAIL_UNKNOWN && !is_stopped;
    if (made->is_lost)
        made->doubt = memory_format("run %llu: %s", (unsigned long long)number + 1, failure->text);
    if (!fail && runs_ahead_is_only_ours(number))
        fail = audit(it, &walk, number, made, failure);
    walk_close(&walk);
    return is_stopped || made->is_lost ? FAIL_NONE : fail;
}

/* --- the next one --- */

static void hear(struct worker_cell *it, int within_ms)
{
    const struct search_run *run = runs_ahead_hear(it->slice.ahead, within_ms);
    for (; run; run = runs_ahead_hear(it->slice.ahead, 0)) {
        struct made_run *made = made_of(it, run->number);
        memcpy(&made->run, run, search_run_size(run));
        made->is_made = true;
    }
}

enum fail worker_runs_next(struct worker_cell *it, struct made_run **made, struct failure *failure)
{
    const uint64_t next = it->cell->outcome.runs;
    enum fail fail = FAIL_NONE;
    if (is_slice_over(it))
        begin_slice(it);
    struct run_slice *slice = &it->slice;
    hear(it, 0);
    if (!made_of(it, next)->is_made) {
        uint64_t ours = next;
        while (ours < slice->end &&
               (made_of(it, ours)->is_made || !runs_ahead_begin(slice->ahead, ours)))
            ours++;
        if (ours < slice->end)
            fail = make(it, ours, failure);
        else
            hear(it, CHILD_LOOK_MS);
    }
    *made = !fail && made_of(it, next)->is_made ? made_of(it, next) : NULL;
    return fail;
}
