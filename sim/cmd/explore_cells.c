/* explore_cells.c - see explore_cells.h. */
#include "cmd/explore_cells.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "cmd/cmd.h"
#include "cmd/explore_asking.h"
#include "cmd/explore_asking_note.h"
#include "cmd/explore_minimal_faults.h"
#include "cmd/explore_pace.h"
#include "cmd/explore_undecided.h"
#include "cmd/heartbeat.h"
#include "run/cell_result.h"
#include "run/moves.h"
#include "run/worker_search.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- how far it is --- */

/* Of the cells that are searched now the one that spoke last is told, at most so often. */
enum { TELL_EVERY_US = 300000 };

static struct {
    pthread_mutex_t lock;
    int done, count;
    int64_t began_us, told_us, deadline_us;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void tell_begin(int count, int64_t deadline_us)
{
    told.done = 0;
    told.count = count;
    told.told_us = 0;
    told.began_us = monotonic_us();
    told.deadline_us = deadline_us;
    heartbeat_begin();
}

/* By what the cells that are done have taken, once they are most of all: the first ones are the
 * small ones. No more than there is time for. */
static void guess_left(struct heartbeat_figures *figures, int64_t now_us)
{
    const int64_t most = told.deadline_us ? told.deadline_us - now_us : -1;
    const bool can_guess = told.done > 0 && 4 * told.done >= 3 * told.count;
    if (can_guess)
        figures->left_us = (now_us - told.began_us) / told.done * (told.count - told.done);
    if (!told.deadline_us || (can_guess && figures->left_us <= most))
        return;
    figures->left_us = most > 0 ? most : 0;
    figures->is_at_most = true;
}

/* The lock is held. */
static void tell(const struct cell *cell, const struct explore_progress *progress)
{
    const int64_t now_us = monotonic_us();
    struct heartbeat_figures figures = HEARTBEAT_FIGURES;
    char what[CELL_NAME_MAX + 2 * NAME_MAX_BYTES];
    explore_pace(progress, &figures);
    if (told.told_us && now_us - told.told_us < TELL_EVERY_US)
        return;
    told.told_us = now_us;
    snprintf(what, sizeof what, "%s, %s", cell->options.scheme->name, cell->faults);
    figures.what = what;
    figures.done = told.done;
    figures.of = told.count;
    guess_left(&figures, now_us);
    heartbeat_tell(&figures);
}

static void tell_done(int done, int count)
{
    (void)count;
    told.done = done;
}

/* A search says how far it is. */
static void hear(void *context, const struct explore_progress *progress)
{
    pthread_mutex_lock(&told.lock);
    tell(context, progress);
    pthread_mutex_unlock(&told.lock);
}

enum fail cells_search(struct cell **cells, int count, int jobs, int64_t deadline_us,
                       struct failure *failure)
{
    for (int i = 0; i < count; i++) {
        cells[i]->options.watch = hear;
        cells[i]->options.watch_context = cells[i];
    }
    tell_begin(count, deadline_us);
    enum fail fail = worker_pool_run(cells, count, jobs, tell_done, failure);
    heartbeat_end();
    for (int i = 0; i < count; i++)
        cells[i]->options.watch = NULL;
    return fail;
}

/* --- the matrix --- */

/* The servers of a quorum's second row: what breaks a majority of three may not break one of five.
 * 0: the row that suits the scheme. */
enum { FIRST_ROW = 0, SECOND_ROW_SERVERS = 5 };

static void init_cell(struct cell *cell, const struct explore_args *args,
                      const struct scheme *scheme, int servers, int64_t deadline_us)
{
    cell_init(cell, scheme);
    if (servers != FIRST_ROW)
        cell->options.servers = servers;
    struct explore_options *options = &cell->options;
    if (args->program && !args->asking)
        options->clients = WORKER_SEARCH_CLIENTS;
    if (args->clients)
        options->clients = (int)args->clients;
    if (args->rounds)
        options->rounds = (int)args->rounds;
    if (args->servers)
        options->servers = (int)args->servers;
    cell->has_one_section = args->has_section;
    options->section = args->section;
    options->lease_ticks = (int)args->lease_ticks;
    options->search = args->search;
    options->seed = (uint64_t)args->seed;
    options->runs_max = (uint64_t)args->runs;
    options->states_max = (uint64_t)args->states;
    options->bytes_max = (uint64_t)args->memory_mb * 1000000;
    options->hash_seed = (uint64_t)args->seed;
    options->has_full_states = args->full_states;
    options->reductions = args->no_reductions ? 0 : REDUCE_ALL;
    options->now_us = monotonic_us;
    options->deadline_us = deadline_us;
    options->stop = &cmd_stop;
}

/* Those that strike only workers are not left out in silence where they are named. */
static enum fail add_faults(struct cell *cell, const struct explore_args *args, const char *faults,
                            struct failure *failure)
{
    enum fail fail = cell_add_faults(cell, faults, failure);
    for (enum fault fault = 0; fault < FAULT_COUNT && !fail && !args->program; fault++)
        if (cell->options.budget[fault] && fault_not_of_schemes(fault))
            fail = failure_set(failure, FAIL_INPUT, "%s does not apply to a scheme: %s",
                               fault_name(fault), fault_not_of_schemes(fault));
    return fail;
}

static enum fail add_cell(struct cells *cells, const struct explore_args *args,
                          const struct scheme *scheme, int servers, const char *faults,
                          int64_t deadline_us, struct failure *failure)
{
    cells->rows = memory_resize(cells->rows, (size_t)cells->count + 1, sizeof *cells->rows);
    struct cell *cell = &cells->rows[cells->count++];
    init_cell(cell, args, scheme, servers, deadline_us);
    return add_faults(cell, args, faults, failure);
}

static bool has_fault(const struct explore_args *args, enum fault fault)
{
    if (args->asking && !asking_cannot(fault))
        return true;
    if (args->asking && !args->samples)
        return false;
    return args->program ? moves_have_fault(fault) : !fault_not_of_schemes(fault);
}

/* The columns that were asked for, or none and every fault alone. */
static enum fail add_row(struct cells *cells, const struct explore_args *args,
                         const struct scheme *scheme, int servers, int64_t deadline_us,
                         struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    if (!args->fault) {
        fail = add_cell(cells, args, scheme, servers, "none", deadline_us, failure);
        for (int i = 0; i < FAULT_COUNT && !fail; i++)
            if (has_fault(args, (enum fault)i))
                fail = add_cell(cells, args, scheme, servers, fault_name((enum fault)i),
                                deadline_us, failure);
        return fail;
    }
    char *names = memory_text(args->fault), *rest = names;
    for (char *name = strtok_r(names, ",", &rest); name && !fail; name = strtok_r(NULL, ",", &rest))
        fail = add_cell(cells, args, scheme, servers, name, deadline_us, failure);
    free(names);
    return fail;
}

static enum fail add_rows(struct cells *cells, const struct explore_args *args,
                          const struct scheme *scheme, int64_t deadline_us, struct failure *failure)
{
    enum fail fail = add_row(cells, args, scheme, FIRST_ROW, deadline_us, failure);
    if (!fail && scheme->needs_quorum && !args->servers)
        fail = add_row(cells, args, scheme, SECOND_ROW_SERVERS, deadline_us, failure);
    return fail;
}

/* Leaves only those cells of the whole matrix that fall to the shard. */
static void keep_shard(struct cells *cells, const struct shard *shard)
{
    int kept = 0;
    for (int i = 0; i < cells->count; i++)
        if (shard_has(shard, i))
            cells->rows[kept++] = cells->rows[i];
    cells->count = kept;
}

/* A worker's: one after the other, by the same processes. */
static enum fail run_worker(struct cells *cells, struct worker_search *search,
                            struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    heartbeat_begin();
    for (int i = 0; i < cells->count && !fail; i++) {
        fail = explore_run_cell(search, &cells->rows[i], "", i, cells->count, failure);
    }
    heartbeat_end();
    return fail;
}

/* Asking cancels nobody: of who promises to be cancelled, and waits, so many runs without a fault
 * do.
 */
static enum fail add_cancels(struct cells *cells, const struct explore_args *args,
                             struct failure *failure)
{
    if (!cells->count || !worker_program_is_cancelled(&args->program->program))
        return FAIL_NONE;
    const struct explore_options *options = &cells->rows[0].options;
    enum fail fail = add_cell(cells, args, options->scheme, options->servers, "none",
                              options->deadline_us, failure);
    cells->rows[cells->count - 1].is_sample = true;
    return fail;
}

/* The samples behind all others, which stay in their order; returns how many others there are. */
static int put_samples_last(struct cells *cells)
{
    struct cell *sorted = memory_new((size_t)cells->count + 1, sizeof *sorted);
    int count = 0, others;
    for (int i = 0; i < cells->count; i++)
        if (!explore_is_sample(&cells->rows[i]))
            sorted[count++] = cells->rows[i];
    others = count;
    for (int i = 0; i < cells->count; i++)
        if (explore_is_sample(&cells->rows[i]))
            sorted[count++] = cells->rows[i];
    free(cells->rows);
    cells->rows = sorted;
    return others;
}

/* A worker's, by asking it once; what that leaves open by running it. The runs of samples are few,
 * and come first: asking takes what time there is. */
static enum fail ask_and_run(struct cells *cells, struct worker_search *search,
                             const struct explore_args *args, struct failure *failure)
{
    struct cells asked = *cells, samples = *cells;
    if (args->samples && add_cancels(cells, args, failure))
        return failure->code;
    if (args->samples) {
        asked.count = put_samples_last(cells);
        asked.rows = cells->rows;
        samples.rows = cells->rows + asked.count;
        samples.count = cells->count - asked.count;
        if (samples.count && explore_samples_run(&samples, search, args, failure))
            return failure->code;
    }
    const enum fail fail =
        asked.count ? explore_asking_run(args->asking, &asked, args, failure) : FAIL_NONE;
    /* Nothing that it is seen to do then would decide a cell. */
    return fail || args->asking->past.code ? fail
                                           : explore_undecided_run(&asked, search, args, failure);
}

static enum fail use_worker(struct cells *cells, const struct explore_args *args,
                            struct failure *failure)
{
    struct worker_search *search = worker_search_new(args->program, cell_clients);
    const enum fail fail = args->asking ? ask_and_run(cells, search, args, failure)
                                        : run_worker(cells, search, failure);
    worker_search_free(search);
    return fail;
}

/* The matrix: cells side by side, all at once. */
static enum fail fill_matrix(struct cells *cells, const struct explore_args *args,
                             const struct scheme_list *wanted, const struct shard *shard,
                             int64_t deadline_us, int64_t *whole, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < wanted->count && !fail; i++)
        fail = add_rows(cells, args, wanted->rows[i], deadline_us, failure);
    *whole = cells->count;
    keep_shard(cells, shard);
    struct cell **all = memory_new((size_t)cells->count + 1, sizeof *all);
    for (int i = 0; i < cells->count; i++)
        all[i] = &cells->rows[i];
    if (!fail && args->program)
        fail = use_worker(cells, args, failure);
    else if (!fail)
        fail = cells_search(all, cells->count, (int)args->jobs, deadline_us, failure);
    free(all);
    return fail;
}

/* --- minimal fault sets --- */

/* Faults to choose from: those that were named, or all. */
static enum fail read_faults(const struct explore_args *args, unsigned *faults,
                             struct failure *failure)
{
    struct cell cell;
    const char *text = args->fault;
    cell_init(&cell, schemes[0]);
    *faults = 0;
    for (int i = 0; !text && i < FAULT_COUNT; i++)
        *faults |= (unsigned)has_fault(args, (enum fault)i) << i;
    if (text && strchr(text, '+'))
        return failure_set(failure, FAIL_INPUT,
                           "--frontier makes the pairs itself: give --fault single faults, as in "
                           "stall,crash");
    char *names = memory_text(text ? text : ""), *rest = names;
    enum fail fail = FAIL_NONE;
    for (char *name = strtok_r(names, ",", &rest); name && !fail; name = strtok_r(NULL, ",", &rest))
        fail = add_faults(&cell, args, name, failure);
    free(names);
    for (int i = 0; i < FAULT_COUNT; i++)
        *faults |= (unsigned)(cell.options.budget[i] > 0) << i;
    return fail;
}

/* The cells of the walks become cells like those of the matrix; who borrows them for printing
 * closes nothing. */
static void take_cells(struct cells *cells, const struct minimal_faults *minimal)
{
    cells->rows = memory_resize(cells->rows, (size_t)(cells->count + minimal->count) + 1,
                                sizeof *cells->rows);
    for (int i = 0; i < minimal->count; i++)
        cells->rows[cells->count++] = minimal->rows[i];
}

static enum fail fill_minimals(struct cells *cells, const struct explore_args *args,
                               const struct scheme_list *wanted, const struct shard *shard,
                               int64_t deadline_us, int64_t *whole, struct failure *failure)
{
    unsigned faults;
    if (read_faults(args, &faults, failure))
        return failure->code;
    cells->minimals = memory_new((size_t)wanted->count + 1, sizeof *cells->minimals);
    *whole = wanted->count;
    for (int i = 0; i < wanted->count; i++) {
        struct cell start;
        if (!shard_has(shard, i))
            continue;
        init_cell(&start, args, wanted->rows[i], FIRST_ROW, deadline_us);
        minimal_faults_init(&cells->minimals[cells->minimals_count++], &start, faults);
    }
    enum fail fail = FAIL_NONE;
    for (int i = 0; args->asking && i < cells->minimals_count && !fail; i++)
        fail = explore_minimal_faults_ask(&cells->minimals[i], args->asking, args, failure);
    if (!args->asking)
        fail = explore_minimal_faults_run(cells->minimals, cells->minimals_count, (int)args->jobs,
                                          failure);
    for (int i = 0; i < cells->minimals_count; i++)
        take_cells(cells, &cells->minimals[i]);
    return fail;
}

/* --- either --- */

/* What the replays of workers said, into cells->on_redis. */
static void take_confirmed(const struct cells *cells)
{
    for (int i = 0; i < cells->count; i++)
        for (int p = 0; p < PROPERTY_COUNT; p++)
            if (cells->rows[i].outcome.findings[p].verdict == VERDICT_VIOLATED)
                cells->on_redis[i][p] =
                    cells->rows[i].witnesses[p].is_confirmed ? CONFIRMED_YES : CONFIRMED_NOTHING;
}

enum fail cells_fill(struct cells *cells, const struct explore_args *args,
                     const struct scheme_list *wanted, const struct shard *shard, int64_t *whole,
                     struct failure *failure)
{
    int64_t deadline_us = args->budget_us ? monotonic_us() + args->budget_us : 0;
    *cells = (struct cells){0};
    enum fail fail = args->minimal
                         ? fill_minimals(cells, args, wanted, shard, deadline_us, whole, failure)
                         : fill_matrix(cells, args, wanted, shard, deadline_us, whole, failure);
    cells->on_redis = memory_new((size_t)cells->count + 1, sizeof *cells->on_redis);
    if (args->asking && !fail)
        take_confirmed(cells);
    return fail;
}

/* --- results --- */

/* Of a worker's, whose runs are what takes the time. */
static void note_runs(struct results *results, const struct cells *cells)
{
    int64_t done = 0, all = 0;
    bool is_stopped = false;
    for (int i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->rows[i];
        done += (int64_t)cell->outcome.runs;
        all += cell->outcome.end != END_STOPPED ? (int64_t)cell->outcome.runs
               : cell->options.runs_max         ? (int64_t)cell->options.runs_max
                                                : WORKER_SEARCH_RUNS;
        is_stopped |= cell->outcome.end == END_STOPPED;
    }
    if (is_stopped)
        results_interrupt(results, cmd_stop_name(), "run", done, all);
}

/* Cells that an interruption cut short, or left out. */
static void note_cells(struct results *results, const struct cells *cells)
{
    int done = 0;
    for (int i = 0; i < cells->count; i++)
        done += cells->rows[i].outcome.end != END_STOPPED;
    if (done < cells->count)
        results_interrupt(results, cmd_stop_name(), "cell", done, cells->count);
}

void cells_note_interruption(const struct cells *cells, const struct explore_args *args,
                             struct results *results)
{
    if (args->program && !args->asking)
        note_runs(results, cells);
    else
        note_cells(results, cells);
}

void cells_add_rows(struct cells *cells, const struct explore_args *args, struct results *results)
{
    /* Who keeps a list of what is accepted wants to hear of the rest. */
    const enum fail_on otherwise = args->output.baseline_path ? FAIL_ON_BUG : FAIL_ON_NEVER;
    cells->first_row = results->rows_count;
    for (int i = 0; i < cells->count; i++)
        result_add_cell(results, &cells->rows[i], cells->on_redis[i],
                        fail_on_for(args->fail_on, cells->rows[i].options.scheme, otherwise));
    if (args->asking)
        explore_asking_note(results, args->asking, cells);
    if (args->program) {
        worker_scheme_note_promises(&args->program->program, results);
        snprintf(results->server_version, sizeof results->server_version, "%s",
                 args->program->program.server_version);
    }
}

void cells_close(struct cells *cells)
{
    for (int i = 0; i < cells->count; i++)
        cell_close(&cells->rows[i]);
    for (int i = 0; i < cells->minimals_count; i++)
        free(cells->minimals[i].rows);
    free(cells->minimals);
    free(cells->rows);
    free(cells->on_redis);
}
