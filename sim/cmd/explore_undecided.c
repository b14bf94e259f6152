/* explore_undecided.c - see explore_undecided.h. */
#include "cmd/explore_undecided.h"

#include "ask/asking.h"
#include "base/memory.h"
#include "base/monotonic.h"
#include "cmd/cmd.h"
#include "cmd/heartbeat.h"
#include "run/cell_result.h"
#include "run/moves.h"
#include "run/worker_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- how far it is --- */

enum { TELL_EVERY_US = 300000 };

struct runs_watch {
    const struct cell *cell;
    const char *why; /* it is run */
    int at, count;   /* cells */
    int64_t told_us;
};

static void tell(void *context, const struct explore_progress *progress)
{
    struct runs_watch *watch = context;
    const struct explore_options *options = &watch->cell->options;
    const int64_t now_us = monotonic_us();
    char what[CELL_NAME_MAX + NAME_MAX_BYTES];
    struct heartbeat_figures figures = HEARTBEAT_FIGURES;
    if (progress->confirms) {
        heartbeat_say("%d/%d %s: shrinks what was found, and sees it again in new processes",
                      watch->at + 1, watch->count, watch->cell->faults);
        return;
    }
    if (watch->told_us && now_us - watch->told_us < TELL_EVERY_US)
        return;
    watch->told_us = now_us;
    (void)snprintf(what, sizeof what, "%s%s", watch->cell->faults, watch->why);
    figures.what = what;
    figures.done = watch->at;
    figures.of = watch->count;
    figures.runs = (int64_t)watch->cell->outcome.runs;
    figures.runs_max = options->runs_max ? (int64_t)options->runs_max : (int64_t)WORKER_SEARCH_RUNS;
    figures.states = (int64_t)progress->states;
    figures.is_at_most = true;
    if (options->deadline_us)
        figures.left_us = options->deadline_us > now_us ? options->deadline_us - now_us : 0;
    heartbeat_tell(&figures);
}

enum fail explore_run_cell(struct worker_search *search, struct cell *cell, const char *why, int at,
                           int count, struct failure *failure)
{
    struct runs_watch watch = {.cell = cell, .why = why, .at = at, .count = count};
    cell->options.watch = tell;
    cell->options.watch_context = &watch;
    tell(&watch, &(struct explore_progress){.depth = -1});
    const enum fail fail = worker_search_cell(search, cell, failure);
    cell->options.watch = NULL;
    return fail;
}

/* --- the cells --- */

static bool is_open(const struct cell *cell)
{
    return cell->doubt && !cell_is_schemes_fault(cell);
}

static bool can_run(const struct cell *cell)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (cell->options.budget[i] && !moves_have_fault((enum fault)i))
            return false;
    return true;
}

/* The same cell, to be run. */
static enum fail make_cell(struct cell *made, const struct cell *open,
                           const struct explore_args *args, struct failure *failure)
{
    cell_init(made, open->options.scheme);
    struct explore_options *options = &made->options;
    options->clients = args->clients ? (int)args->clients : WORKER_SEARCH_CLIENTS;
    options->rounds = open->options.rounds;
    options->servers = open->options.servers;
    if (open->has_one_section)
        options->section = open->options.section;
    else if (open->doubted) /* alone */
        (void)cell_asks(open, PROPERTY_FENCE_ORDER, &options->section);
    options->search = SEARCH_RANDOM;
    options->seed = (uint64_t)args->seed;
    options->runs_max = UNDECIDED_RUNS;
    options->now_us = open->options.now_us;
    options->deadline_us = open->options.deadline_us;
    options->stop = open->options.stop;
    return cell_add_faults(made, open->faults, failure);
}

/* What was found takes the cell's place, and what it is still unknown for stays with it. */
static void take(struct cell *open, struct cell *run)
{
    char *why = open->doubt;
    if (cell_is_schemes_fault(run) || (cell_is_violated(run) && !cell_is_violated(open))) {
        open->doubt = NULL;
        cell_close(open);
        *open = *run;
        free(open->doubt);
        open->doubt = why;
        return;
    }
    if (run->doubt)
        open->doubt =
            memory_format("%s. Run instead, it did not come to a verdict: %s", why, run->doubt);
    else
        open->doubt = memory_format("%s. %" PRIu64 " random runs of it (seed %" PRIu64
                                    ") found nothing that is its own failure",
                                    why, run->outcome.runs, run->options.seed);
    free(why);
    cell_close(run);
}

bool explore_is_sample(const struct cell *cell)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (cell->options.budget[i] && asking_cannot((enum fault)i))
            return true;
    return cell->is_sample;
}

/* Half of the time is for them, at most. */
static int64_t samples_deadline_us(const struct explore_options *options)
{
    const int64_t now_us = options->now_us();
    return options->deadline_us > now_us ? now_us + (options->deadline_us - now_us) / 2
                                         : options->deadline_us;
}

#define NOT_ASKED   ", which asking does not decide: is run"
#define NOT_DECIDED ", which asking has not decided: is run"

enum fail explore_samples_run(struct cells *cells, struct worker_search *search,
                              const struct explore_args *args, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    heartbeat_begin();
    const int64_t deadline_us = samples_deadline_us(&cells->rows[0].options);
    for (int i = 0; i < cells->count && !fail; i++) {
        struct cell run, *cell = &cells->rows[i];
        fail = make_cell(&run, cell, args, failure);
        run.options.deadline_us = deadline_us;
        run.is_sample = true;
        if (!fail)
            fail = explore_run_cell(search, &run, NOT_ASKED, i, cells->count, failure);
        cell_close(cell);
        *cell = run;
    }
    heartbeat_end();
    worker_search_rest(search);
    return fail;
}

/* The worker, which was ready when it was asked, has ended: the cell stays open. */
static void leave(struct cell *open, const char *how)
{
    char *why = open->doubt;
    open->doubt = memory_format("%s. Run instead, it did not come to a verdict: %s", why, how);
    free(why);
}

enum fail explore_undecided_run(struct cells *cells, struct worker_search *search,
                                const struct explore_args *args, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    heartbeat_begin();
    for (int i = 0; i < cells->count && !fail && !cmd_stop; i++) {
        struct cell run, *open = &cells->rows[i];
        if (!is_open(open) || !can_run(open) || explore_is_out_of_time(&open->options))
            continue;
        fail = make_cell(&run, open, args, failure);
        if (!fail)
            fail = explore_run_cell(search, &run, NOT_DECIDED, i, cells->count, failure);
        if (!fail && !cmd_stop) {
            take(open, &run);
            continue;
        }
        cell_close(&run);
        if (fail == FAIL_INPUT) {
            leave(open, failure->text);
            worker_search_rest(search);
            fail = failure->code = FAIL_NONE;
        }
    }
    heartbeat_end();
    worker_search_rest(search);
    return fail;
}
