/* explore_asking.c - see explore_asking.h. */
#include "cmd/explore_asking.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/outfile.h"
#include "cmd/cmd.h"
#include "cmd/explore_pace.h"
#include "cmd/heartbeat.h"
#include "explore/model/faults/fault.h"
#include "run/cell_result.h"
#include "run/moves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AUDIT_PERCENT = 5, LEASE_TICKS = 2, FINER = 1 };

/* --- the cells --- */

static enum fail check_faults(const struct cell *cell, bool may_run, struct failure *failure)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (cell->options.budget[i] && asking_cannot((enum fault)i) &&
            !(may_run && moves_have_fault((enum fault)i)))
            return failure_set(failure, FAIL_INPUT, "%s does not apply to a worker: %s",
                               fault_name((enum fault)i), asking_cannot((enum fault)i));
    return FAIL_NONE;
}

enum fail explore_asking_or_running_check(const char *faults, struct failure *failure)
{
    enum fail fail = explore_args_check_faults(faults, failure);
    char *names = memory_text(faults ? faults : ""), *rest = names;
    for (char *name = strtok_r(names, ",", &rest); name && !fail;
         name = strtok_r(NULL, ",", &rest)) {
        struct cell cell;
        cell_init(&cell, schemes[0]);
        fail = cell_add_faults(&cell, name, failure);
        if (!fail)
            fail = check_faults(&cell, true, failure);
    }
    free(names);
    return fail;
}

void explore_asking_suit(struct cell *cell)
{
    cell->has_one_section = true;
    cell->retime = RETIME_CUT;
    cell->options.reductions &= REDUCE_CLIENTS | REDUCE_SERVERS | REDUCE_EAGER;
    cell->ignored = 1u << PROPERTY_FENCE_ORDER | 1u << PROPERTY_NO_LOST_UPDATE;
}

/* What critical sections do is judged where it was asked for, and the order of fences where the
 * worker promises them, which is known by now; unless a section was asked for, by a search of its
 * own. */
static void suit_sections(struct cell *cell, bool has_section)
{
    const enum section section = cell->options.section;
    if (section == SECTION_COUNTER)
        cell->ignored &= ~(1u << PROPERTY_NO_LOST_UPDATE);
    if (cell->options.scheme->mints_fence && (!has_section || section == SECTION_WRITE))
        cell->ignored &= ~(1u << PROPERTY_FENCE_ORDER);
    if (cell->options.scheme->mints_fence)
        cell->has_one_section = has_section;
}

static struct explore_outcome *own_outcome(struct cell *cell)
{
    return &cell->searches[cell->options.section].outcome;
}

/* --- how far it is --- */

enum { TELL_EVERY_US = 100000 };

struct asking_watch {
    const struct asking *asking;
    const struct cells *cells;
    int at; /* the cell that is searched */
    int64_t told_us;
};

static void tell(void *context, const struct explore_progress *progress)
{
    struct asking_watch *watch = context;
    const struct cell *cell = &watch->cells->rows[watch->at];
    const int64_t now_us = monotonic_us(), deadline_us = cell->options.deadline_us;
    struct heartbeat_figures figures = HEARTBEAT_FIGURES;
    explore_pace(progress, &figures);
    if (now_us - watch->told_us < TELL_EVERY_US)
        return;
    watch->told_us = now_us;
    figures.what = cell->faults;
    figures.done = watch->at;
    figures.of = watch->cells->count;
    figures.executions = (int64_t)asking_figures(watch->asking).executions;
    figures.is_at_most = true;
    if (deadline_us)
        figures.left_us = deadline_us - now_us > 0 ? deadline_us - now_us : 0;
    heartbeat_tell(&figures);
}

/* --- a budget: three fifths are for searching, half of what is left then for asking again --- */

enum { SEARCH_FIFTHS = 3, FIFTHS = 5 };

/* Of a time that ends at deadline_us (0: never): when that part of it is over. */
static int64_t part_of(int64_t deadline_us, int parts, int of)
{
    const int64_t now_us = monotonic_us();
    return deadline_us > now_us ? now_us + (deadline_us - now_us) / of * parts : deadline_us;
}

/* That of all cells. */
static int64_t deadline_of(const struct cells *cells)
{
    return cells->count ? cells->rows[0].options.deadline_us : 0;
}

static enum fail search(struct asking *asking, struct cell *cell, struct failure *failure)
{
    cell->options.subject = asking_subject(asking);
    cell->options.lease_ticks = asking_lease_ticks(asking);
    cell->options.has_extends = asking_extend(asking) == EXTEND_IS_ASKED;
    cell->options.has_short_waits = asking_adds_waits(asking);
    asking_expect(asking, &cell->options);
    enum fail fail = FAIL_NONE;
    for (enum section section = 0; section < SECTION_COUNT && !fail; section++)
        if (cell_has_search(cell, section))
            fail = cell_search(cell, section, failure);
    cell->learned_ways = asking_figures(asking).learned_ways;
    return fail;
}

/* Where time passes for as long as somebody likes, the worker may mind more of it than is tried. */
static void doubt_late(struct asking *asking, struct cell *cell)
{
    bool may_pass = false;
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++)
        may_pass |= cell->options.budget[fault] && fault_lets_time_pass(fault);
    if (may_pass && !cmd_stop && asking_late_doubt(asking))
        cell_doubt(cell, asking_late_doubt(asking));
}

static enum fail search_all(const struct explore_asking *it, struct asking *asking,
                            struct cells *cells, struct failure *failure)
{
    struct asking_watch watch = {.asking = asking, .cells = cells};
    enum fail fail = FAIL_NONE;
    const int64_t deadline_us = deadline_of(cells);
    const int64_t until_us = part_of(deadline_us, SEARCH_FIFTHS, FIFTHS);
    for (watch.at = 0; watch.at < cells->count && !fail; watch.at++) {
        struct cell *cell = &cells->rows[watch.at];
        cell->options.watch = tell;
        cell->options.watch_context = &watch;
        cell->options.deadline_us = until_us;
        fail = search(asking, cell, failure);
        cell->options.watch = NULL;
        cell->options.deadline_us = deadline_us;
        if (own_outcome(cell)->end != END_TIME)
            doubt_late(asking, cell);
        if (asking_failure(asking)->code && !cmd_stop) {
            cell_doubt(cell, asking_failure(asking)->text);
            (void)asking_go_on(asking);
        }
        cell->rounds_waits = asking_rounds_waits(asking);
        if (asking_untried_delay(asking))
            cell_doubt(cell, asking_untried_delay(asking));
        if (fail || cmd_stop)
            continue;
        replays_ahead_ask(it->ahead, cell);
        asking_audit_ahead(asking, AUDIT_PERCENT, until_us);
    }
    return fail;
}

static void audit(struct asking *asking, const struct cells *cells)
{
    const int64_t until_us = part_of(deadline_of(cells), 1, 2);
    heartbeat_say("asks %d %% of the answers again, in new processes", AUDIT_PERCENT);
    if (asking_audit(asking, AUDIT_PERCENT, until_us))
        return;
    for (int i = 0; i < cells->count; i++)
        if (own_outcome(&cells->rows[i])->end != END_TIME)
            cell_doubt(&cells->rows[i],
                       "the time was up before enough of its answers were asked for "
                       "again: give it a larger --budget, or fewer faults");
}

static void leave_open(struct cell *cell, int lease_ticks, const char *why)
{
    struct explore_outcome *outcome = own_outcome(cell);
    outcome->lease_ticks = lease_ticks;
    outcome->end = cmd_stop ? END_STOPPED : END_UNANSWERED;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        outcome->findings[i].verdict = VERDICT_UNKNOWN;
    cell_doubt(cell, why);
}

/* The learned model, for dot(1). */
static enum fail draw(const struct asking *asking, const char *path, struct failure *failure)
{
    struct outfile file;
    if (outfile_open(&file, path, failure))
        return failure->code;
    asking_draw(asking, file.stream);
    return outfile_shut(&file, failure);
}

/* Ways that tell histories apart; with idle connections broken where any cell breaks them. */
static int ways_of(const struct cells *cells, const struct explore_args *args)
{
    if (!args->learn)
        return 0;
    for (int i = 0; i < cells->count; i++)
        for (enum fault fault = 0; fault < FAULT_COUNT; fault++)
            if (cells->rows[i].options.budget[fault] && asking_cuts(fault))
                return LEARNED_WAYS + (int)args->servers;
    return LEARNED_WAYS;
}

/* Clients of a cell, or attempts of one; the most of any. */
static int most(const struct cells *cells, bool are_clients)
{
    int found = 0;
    for (int i = 0; i < cells->count; i++) {
        const struct explore_options *options = &cells->rows[i].options;
        const int here = are_clients ? options->clients : options->rounds;
        found = here > found ? here : found;
    }
    return found;
}

static int lease_ticks_of(const struct explore_args *args)
{
    return args->lease_ticks ? (int)args->lease_ticks : LEASE_TICKS;
}

/* forgets: why the answers of an earlier run are not taken; NULL: they are. *made: the caller's, to
 * be concluded; NULL: there is nothing to. */
static enum fail decide(const struct explore_asking *it, struct cells *cells,
                        const struct explore_args *args, const char *forgets, struct asking **made,
                        struct failure *failure)
{
    struct asking *asking = NULL;
    const int lease_ticks = lease_ticks_of(args) + it->finer;
    const struct asking_options options = {.program = &args->program->program,
                                           .servers = (int)args->servers,
                                           .clients = most(cells, true),
                                           .rounds = most(cells, false),
                                           .lease_ticks = lease_ticks,
                                           .seed = (uint64_t)args->seed,
                                           .merges = !args->no_reductions,
                                           .learns = ways_of(cells, args),
                                           .adds_waits = it->adds_waits,
                                           .keeps = !args->no_cache && !it->adds_waits,
                                           .depends = args->depends,
                                           .forgets = forgets};
    struct failure why = {0};
    *made = NULL;
    enum fail fail = asking_new(&asking, &options, &args->program->scheme, &why);
    for (int i = 0; fail == FAIL_UNKNOWN && i < cells->count; i++)
        leave_open(&cells->rows[i], lease_ticks, why.text);
    if (fail == FAIL_UNKNOWN)
        return FAIL_NONE;
    if (fail)
        return failure_set(failure, fail, "%s", why.text);
    for (int i = 0; i < cells->count; i++)
        suit_sections(&cells->rows[i], args->has_section);
    fail = search_all(it, asking, cells, failure);
    if (!cmd_stop && !fail)
        audit(asking, cells);
    /* Cells share their answers. */
    for (int i = 0; i < cells->count && asking_failure(asking)->code; i++)
        cell_doubt(&cells->rows[i], asking_failure(asking)->text);
    for (int i = 0; i < cells->count && asking_fence_doubt(asking); i++)
        if (!(cells->rows[i].ignored >> PROPERTY_FENCE_ORDER & 1))
            cell_doubt_property(&cells->rows[i], PROPERTY_FENCE_ORDER, asking_fence_doubt(asking));
    *made = asking;
    return fail;
}

/* What was asked is over. */
static enum fail conclude(struct explore_asking *it, struct asking *asking,
                          const struct explore_args *args, enum fail fail, struct failure *failure)
{
    it->has_failed |= asking_failure(asking)->code;
    if (!cmd_stop && !fail && !it->past.code)
        asking_keep(asking);
    if (args->model && !fail)
        fail = draw(asking, args->model, failure);
    (void)snprintf(it->kept_words, sizeof it->kept_words, "%s", asking_kept_words(asking));
    it->figures = asking_figures(asking);
    it->lease_ticks = asking_lease_ticks(asking);
    it->extend = asking_extend(asking);
    it->could_be_cancelled = worker_program_is_cancelled(&args->program->program);
    it->skips_fence =
        args->program->scheme.mints_fence && args->has_section && args->section != SECTION_WRITE;
    asking_free(asking);
    return fail;
}

/* A cell in which nothing was found that is the lock's own failure: attempts of its search are
 * asked for in other orders, and walks through it replayed; but waits that add up have no grid that
 * a worker could follow. */
enum { WALKS_EACH = 1, SEQUENCES_EACH = 60 };

static void try_orders(const struct explore_asking *it, struct asking *asking, struct cell *cell,
                       const struct run *run, const struct confirm_world *world)
{
    const struct explore_options *options = &cell->options;
    struct failure why;
    if (cell->doubt || cell_is_schemes_fault(cell) || cmd_stop || explore_is_out_of_time(options))
        return;
    if (!asking_ask_sequences(asking, options, SEQUENCES_EACH, &why) &&
        (it->adds_waits || !asking_replay_walks(asking, options, run, world, WALKS_EACH, &why)))
        return;
    cell->has_strayed = true;
    cell_doubt_finished(cell, why.text);
}

/* The world of its replays is one of real workers. asking: NULL: it was not asked. */
static void finish(const struct explore_asking *it, struct asking *asking, struct cell *cell)
{
    struct cell_world in;
    replays_ahead_take(it->ahead, cell);
    worker_replays_finish(it->replays, cell, &in);
    if (asking)
        try_orders(it, asking, cell, &in.run, &in.world);
}

static void keep_histories(struct explore_asking *asking, const char *folder)
{
    char *path = folder ? memory_format("%s/histories", folder) : NULL;
    if (path)
        worker_replays_record(asking->replays, path);
    free(path);
}

void explore_asking_close(struct explore_asking *asking)
{
    worker_replays_free(asking->replays);
    asking->replays = NULL;
}

static enum fail decide_and_replay(struct explore_asking *asking, struct cells *cells,
                                   const struct explore_args *args, const char *forgets,
                                   struct failure *failure)
{
    struct asking *asked;
    heartbeat_say("starts the worker that is asked");
    enum fail fail = decide(asking, cells, args, forgets, &asked, failure);
    for (int i = 0; i < cells->count && !fail; i++) {
        heartbeat_say("%d/%d %s: replays what was found", i + 1, cells->count,
                      cells->rows[i].faults);
        if (cmd_stop) { /* what was found can not be replayed any more */
            own_outcome(&cells->rows[i])->end = END_STOPPED;
            cell_doubt(&cells->rows[i], explore_end_words(END_STOPPED));
        }
        finish(asking, asked, &cells->rows[i]);
    }
    const bool had_failed = asked && asking_failure(asked)->code;
    asking->past = asked ? *asking_find_past(asked) : (struct failure){0};
    if (!asking->past.code)
        asking->past = *worker_replays_past(asking->replays);
    for (int i = 0; i < cells->count && asked && asking_failure(asked)->code && !had_failed; i++)
        cell_doubt_finished(&cells->rows[i], asking_failure(asked)->text);
    return asked ? conclude(asking, asked, args, fail, failure) : fail;
}

/* Answers of an earlier run were taken, and do not fit what the worker does now. */
static bool is_contradicted(const struct explore_asking *asking, const struct cells *cells)
{
    bool has_error = asking->has_failed;
    for (int i = 0; i < cells->count; i++) {
        has_error |= cells->rows[i].has_strayed;
        for (int p = 0; p < PROPERTY_COUNT; p++)
            has_error |= cells->rows[i].witnesses[p].error != NULL;
    }
    return asking->figures.kept && has_error;
}

/* The same without them: whoever changed the worker wants to know of it now. */
static enum fail decide_anew(struct explore_asking *asking, struct cells *cells,
                             const struct cell *before, const struct explore_args *args,
                             struct failure *failure)
{
    for (int i = 0; i < cells->count; i++) {
        cell_close(&cells->rows[i]);
        cells->rows[i] = before[i];
    }
    return decide_and_replay(asking, cells, args,
                             "they do not fit what the worker does now: all were dropped, and "
                             "asked anew",
                             failure);
}

/* What was found hangs on how long a wait is. Or what is not found does: on where in a lease a wait
 * ends, or how often a worker tries by then. */
static bool is_to_be_asked_again(const struct cell *cell, int finer)
{
    if (cell->has_strayed || cell_is_violated(cell))
        return !cell->has_strayed && cell->stretched && !finer;
    return cell->stretched || cell->rounds_waits;
}

static bool finds_more(const struct cell *again, const struct cell *cell)
{
    bool does = false;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        does |= again->outcome.findings[i].verdict == VERDICT_VIOLATED &&
                cell->outcome.findings[i].verdict != VERDICT_VIOLATED;
    return does;
}

/* It decides the cell: it found something, or the other one is in doubt; a finer grid makes nothing
 * hold that was in doubt. What one of them holds and the other does not know is not known. */
static bool takes_place(const struct cell *again, const struct cell *cell, int finer)
{
    if (cell_is_violated(again) || cell_is_violated(cell))
        return cell_is_violated(again);
    if (cell->doubt)
        return !again->doubt && !finer;
    return again->doubt || finds_more(again, cell);
}

/* Such cells are asked for once more, with waits that are added up; then with a lease of so many
 * more ticks: several waits of an operation may each end within another one of them. */
static enum fail decide_with_waits(struct explore_asking *asking, struct cells *cells,
                                   const struct cell *before, const struct explore_args *args,
                                   int finer, struct failure *failure)
{
    struct cells part = {.rows = memory_new((size_t)cells->count + 1, sizeof *part.rows)};
    struct cell **first = memory_new((size_t)cells->count + 1, sizeof *first);
    struct explore_asking again = {
        .replays = asking->replays, .ahead = asking->ahead, .adds_waits = true, .finer = finer};
    for (int i = 0; i < cells->count; i++)
        if (is_to_be_asked_again(&cells->rows[i], finer)) {
            first[part.count] = &cells->rows[i];
            part.rows[part.count] = before[i];
            part.rows[part.count++].retime = RETIME_FILL;
        }
    enum fail fail = FAIL_NONE;
    if (part.count)
        fail = decide_and_replay(&again, &part, args, NULL, failure);
    for (int i = 0; i < part.count; i++) {
        const bool is_told =
            !again.has_failed || part.rows[i].has_strayed || cell_is_violated(&part.rows[i]);
        const bool is_taken = !fail && is_told && takes_place(&part.rows[i], first[i], finer);
        part.rows[i].rounds_waits = first[i]->rounds_waits;
        part.rows[i].adds_waits = true;
        cell_close(is_taken ? first[i] : &part.rows[i]);
        if (is_taken)
            *first[i] = part.rows[i];
    }
    asking->executions_again += again.figures.executions;
    asking->past = again.past;
    asking->stands |= again.has_failed;
    if (part.count && !again.has_failed)
        asking->finer = finer;
    free(first);
    free(part.rows);
    return fail;
}

enum fail explore_asking_run(struct explore_asking *asking, struct cells *cells,
                             const struct explore_args *args, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    *asking = (struct explore_asking){.replays = worker_replays_new(&args->program->program)};
    keep_histories(asking, args->output.folder);
    for (int i = 0; i < cells->count && !fail; i++) {
        explore_asking_suit(&cells->rows[i]);
        fail = check_faults(&cells->rows[i], false, failure);
    }
    struct cell *before = memory_new((size_t)cells->count + 1, sizeof *before);
    memcpy(before, cells->rows, (size_t)cells->count * sizeof *before);
    asking->ahead = fail ? NULL : replays_ahead_start(asking->replays, args->program);
    heartbeat_begin();
    if (!fail)
        fail = decide_and_replay(asking, cells, args, NULL, failure);
    if (!fail && !cmd_stop && !asking->past.code && is_contradicted(asking, cells))
        fail = decide_anew(asking, cells, before, args, failure);
    for (int finer = 0; finer <= FINER && !fail && !cmd_stop && !asking->past.code; finer++)
        if (lease_ticks_of(args) + finer <= EXPLORE_LEASE_TICKS_MAX)
            fail = decide_with_waits(asking, cells, before, args, finer, failure);
    for (int i = 0; i < cells->count && asking->past.code; i++)
        cell_disbelieve(&cells->rows[i], asking->past.text);
    for (int i = 0; i < cells->count; i++)
        asking->cells_again += cells->rows[i].adds_waits;
    replays_ahead_end(asking->ahead);
    asking->ahead = NULL;
    heartbeat_end();
    free(before);
    return fail;
}
