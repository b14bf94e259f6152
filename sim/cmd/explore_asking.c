/* explore_asking.c - see explore_asking.h. */
#include "cmd/explore_asking.h"

#include "base/memory.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "explore/model/faults/fault.h"
#include "run/cell_result.h"
#include "run/walk.h"

#include <inttypes.h>
#include <string.h>

enum { AUDIT_PERCENT = 5 };

static enum fail open_workers(void *context, const struct run *run, struct world **world,
                              struct failure *failure)
{
    return world_worker_new(world, context, run, failure);
}

/* --- the cells --- */

static enum fail check_faults(const struct cell *cell, struct failure *failure)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (cell->options.budget[i] && asking_cannot((enum fault)i))
            return failure_set(failure, FAIL_INPUT, "%s does not apply to a worker: %s",
                               fault_name((enum fault)i), asking_cannot((enum fault)i));
    return FAIL_NONE;
}

/* What the lock guards is not touched: a worker's controller has no part in the replay for it. */
static void suit_cell(struct cell *cell)
{
    cell->has_one_section = true;
    cell->options.section = SECTION_NOTHING;
    cell->options.reductions &= REDUCE_CLIENTS;
    cell->ignored = 1u << PROPERTY_FENCE_ORDER | 1u << PROPERTY_NO_LOST_UPDATE;
}

static bool has_fault_of_clocks(const struct cell *cell)
{
    return cell->options.budget[FAULT_CLIENT_CLOCK] || cell->options.budget[FAULT_CLIENT_DRIFT];
}

/* Faults that break connections of a client that waits for nothing. */
static bool cuts(const struct cell *cell)
{
    bool does = cell->options.budget[FAULT_SILENT_SERVER] > 0;
    for (int i = 0; i < FAULT_COUNT; i++)
        does |= cell->options.budget[i] && fault_hits_all_replies((enum fault)i);
    return does;
}

static enum fail search(struct asking *asking, struct cell *cell, struct failure *failure)
{
    cell->options.subject = asking_subject(asking);
    cell->options.lease_ticks = asking_lease_ticks(asking);
    asking_expect_cuts(asking, cuts(cell));
    enum fail fail = cell_search(cell, SECTION_NOTHING, failure);
    if (!fail && has_fault_of_clocks(cell) && asking_minds_time(asking))
        cell_doubt(cell, "what the worker does depends on its clock: one that jumps, or drifts, is "
                         "not decided by asking yet");
    return fail;
}

static void leave_open(struct cell *cell, const char *why)
{
    struct explore_outcome *outcome = &cell->searches[SECTION_NOTHING].outcome;
    outcome->end = END_UNANSWERED;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        outcome->findings[i].verdict = VERDICT_UNKNOWN;
    cell_doubt(cell, why);
}

static enum fail decide(struct explore_asking *it, struct cells *cells,
                        const struct explore_args *args, struct failure *failure)
{
    struct asking *asking = NULL;
    const struct asking_options options = {.program = &args->program->program,
                                           .lease_ticks = (int)args->lease_ticks,
                                           .seed = (uint64_t)args->seed};
    struct failure why = {0};
    enum fail fail = asking_new(&asking, &options, &args->program->scheme, &why);
    for (int i = 0; fail == FAIL_UNKNOWN && i < cells->count; i++)
        leave_open(&cells->rows[i], why.text);
    if (fail == FAIL_UNKNOWN)
        return FAIL_NONE;
    if (fail)
        return failure_set(failure, fail, "%s", why.text);
    for (int i = 0; i < cells->count && !fail; i++)
        fail = search(asking, &cells->rows[i], failure);
    asking_audit(asking, AUDIT_PERCENT);
    /* Cells share their answers. */
    for (int i = 0; i < cells->count && asking_failure(asking)->code; i++)
        cell_doubt(&cells->rows[i], asking_failure(asking)->text);
    it->figures = asking_figures(asking);
    it->lease_ticks = asking_lease_ticks(asking);
    asking_free(asking);
    return fail;
}

/* The world of its replays is one of real workers. */
static void finish(struct cell *cell, struct worker_program *program)
{
    const struct explore_outcome *outcome = &cell->searches[SECTION_NOTHING].outcome;
    struct run run = confirm_run(&cell->options, outcome, cell_clients);
    const struct history_head head = walk_head(&run, program);
    const struct confirm_world world = {.open = open_workers, .context = program, .foreign = &head};
    cell->world = &world;
    cell_finish(cell);
    cell->world = NULL;
}

enum fail explore_asking_run(struct explore_asking *asking, struct cells *cells,
                             const struct explore_args *args, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    *asking = (struct explore_asking){.lease_ticks = 0};
    for (int i = 0; i < cells->count && !fail; i++) {
        suit_cell(&cells->rows[i]);
        fail = check_faults(&cells->rows[i], failure);
    }
    if (!fail)
        fail = decide(asking, cells, args, failure);
    for (int i = 0; i < cells->count && !fail; i++)
        finish(&cells->rows[i], &args->program->program);
    return fail;
}

void explore_asking_confirmed(const struct cells *cells)
{
    for (int i = 0; i < cells->count; i++)
        for (int p = 0; p < PROPERTY_COUNT; p++)
            if (cells->rows[i].outcome.findings[p].verdict == VERDICT_VIOLATED)
                cells->on_redis[i][p] =
                    cells->rows[i].witnesses[p].is_confirmed ? CONFIRMED_YES : CONFIRMED_NOTHING;
}

/* --- in words --- */

static bool is_told_before(const struct cells *cells, int at)
{
    for (int i = 0; i < at; i++)
        if (cells->rows[i].doubt && strcmp(cells->rows[i].doubt, cells->rows[at].doubt) == 0)
            return true;
    return false;
}

void explore_asking_note(struct results *results, const struct explore_asking *asking,
                         const struct cells *cells)
{
    const struct asking_figures *figures = &asking->figures;
    if (figures->executions)
        results_note(results,
                     memory_format("Decided by asking once: %" PRIu64
                                   " executions of the worker, %" PRIu64
                                   " local histories, %" PRIu64 " questions to the server; %" PRIu64
                                   " answers were asked for again, those of the worker in fresh "
                                   "processes. Assumed: the worker is deterministic; what it does "
                                   "behind an attempt is what a new one does (asked %" PRIu64
                                   " times); time goes in ticks, %d to a lease.",
                                   figures->executions, figures->histories, figures->questions,
                                   figures->audited, figures->ends, asking->lease_ticks));
    for (int i = 0; i < cells->count; i++)
        if (cells->rows[i].doubt && !is_told_before(cells, i))
            results_note(results, memory_format("%s is unknown: %s", cells->rows[i].faults,
                                                cells->rows[i].doubt));
}
