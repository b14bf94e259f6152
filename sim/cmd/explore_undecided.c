/* explore_undecided.c - see explore_undecided.h. */
#include "cmd/explore_undecided.h"

#include "ask/asking.h"
#include "base/memory.h"
#include "cmd/cmd.h"
#include "cmd/heartbeat.h"
#include "run/cell_result.h"
#include "run/moves.h"
#include "run/worker_search.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_open(const struct cell *cell)
{
    enum property property;
    const enum cell_word word = cell_judge(cell, &property);
    return cell->doubt && word != CELL_BROKEN && word != CELL_STUCK;
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
    enum property property;
    const enum cell_word word = cell_judge(run, &property);
    char *why = open->doubt;
    if (word == CELL_BROKEN || word == CELL_STUCK) {
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

enum fail explore_samples_run(struct cells *cells, const struct explore_args *args,
                              struct failure *failure)
{
    struct worker_search *search = worker_search_new(args->program, cell_clients);
    enum fail fail = FAIL_NONE;
    heartbeat_begin();
    const int64_t deadline_us = samples_deadline_us(&cells->rows[0].options);
    for (int i = 0; i < cells->count && !fail; i++) {
        struct cell run, *cell = &cells->rows[i];
        heartbeat_say("%d/%d %s: asking does not decide it; runs it", i + 1, cells->count,
                      cell->faults);
        fail = make_cell(&run, cell, args, failure);
        run.options.deadline_us = deadline_us;
        run.is_sample = true;
        if (!fail)
            fail = worker_search_cell(search, &run, failure);
        cell_close(cell);
        *cell = run;
    }
    heartbeat_end();
    worker_search_free(search);
    return fail;
}

enum fail explore_undecided_run(struct cells *cells, const struct explore_args *args,
                                struct failure *failure)
{
    struct worker_search *search = NULL;
    enum fail fail = FAIL_NONE;
    heartbeat_begin();
    for (int i = 0; i < cells->count && !fail && !cmd_stop; i++) {
        struct cell run, *open = &cells->rows[i];
        if (!is_open(open) || !can_run(open) || explore_is_out_of_time(&open->options))
            continue;
        if (!search)
            search = worker_search_new(args->program, cell_clients);
        heartbeat_say("%d/%d %s: is not decided by asking; runs it", i + 1, cells->count,
                      open->faults);
        fail = make_cell(&run, open, args, failure);
        if (!fail)
            fail = worker_search_cell(search, &run, failure);
        if (!fail && !cmd_stop)
            take(open, &run);
        else
            cell_close(&run);
    }
    heartbeat_end();
    worker_search_free(search);
    return fail;
}
