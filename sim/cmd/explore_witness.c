/* explore_witness.c - see explore_witness.h. */
#include "cmd/explore_witness.h"

#include "base/memory.h"
#include "cmd/cmd.h"
#include "cmd/heartbeat.h"
#include "live/live.h"
#include "report/report.h"
#include "run/cell_result.h"
#include "run/walk.h"
#include "history/history.h"
#include "scenario/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- on real Redis --- */

static enum fail open_live(void *context, const struct run *run, unsigned acting,
                           struct world **world, struct failure *failure)
{
    (void)acting;
    return world_live_new(world, context, run, failure);
}

/* A witness that real Redis does not follow is told, and counted, unless it needs what this server
 * does not have; a server that is not there ends the program. */
static enum fail confirm_one(struct cells *cells, int at, enum property property, struct live *live,
                             struct replay_memo *memo, struct finding *findings,
                             struct failure *failure)
{
    const struct cell *cell = &cells->rows[at];
    const struct cell_witness *witness = &cell->witnesses[property];
    bool is_unsupported = false;
    if (!witness->is_confirmed && !witness->error) {
        cells->on_redis[at][property] = CONFIRMED_NOTHING;
        return FAIL_NONE;
    }
    const struct confirm_world world = {.open = open_live,
                                        .context = live,
                                        .clock_error_us = live_clock_error_us(live),
                                        .memo = memo,
                                        .wanted = cell->outcome.findings,
                                        .lacks_command = &is_unsupported};
    struct run run = confirm_run(&cell->options, &cell->outcome, cell_clients);
    enum fail fail = confirm(&run, &cell->outcome.findings[property], &world, findings, failure);
    if (fail && fail != FAIL_UNKNOWN)
        return fail;
    bool is_seen = !fail && findings[property].verdict == VERDICT_VIOLATED;
    cells->on_redis[at][property] = is_unsupported ? CONFIRMED_LACKS
                                    : is_seen      ? CONFIRMED_YES
                                                   : CONFIRMED_NO;
    if (is_seen || is_unsupported)
        return FAIL_NONE;
    cmd_say("not confirmed: %s, %s, %s: %s", cell->options.scheme->name, cell->faults,
            property_name(property),
            fail ? failure->text : "on real Redis the checks do not find it");
    return FAIL_NONE;
}

enum fail explore_witness_confirm(struct cells *cells, const struct explore_args *args,
                                  struct results *results, struct failure *failure)
{
    int done = 0, all = 0;
    const struct live_options options = {.redis_server = args->redis_server, .steering = STEERED};
    struct live *live = NULL;
    enum fail fail = live_new(&live, &options, failure);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    struct replay_memo *memo = replay_memo_new();
    for (int i = 0; i < cells->count; i++) {
        if (i > 0 && cells->rows[i].options.scheme != cells->rows[i - 1].options.scheme) {
            replay_memo_free(memo);
            memo = replay_memo_new();
        }
        for (int p = 0; p < PROPERTY_COUNT; p++) {
            if (cells->rows[i].outcome.findings[p].verdict != VERDICT_VIOLATED)
                continue;
            all++;
            if (fail || cmd_stop)
                continue;
            fail = confirm_one(cells, i, (enum property)p, live, memo, findings, failure);
            done += fail == FAIL_NONE;
        }
    }
    if (done < all)
        results_interrupt(results, fail ? failure->text : cmd_stop_name(), "replay", done, all);
    replay_memo_free(memo);
    free(findings);
    live_free(live);
    return fail;
}

/* --- files --- */

/* A path under the run folder; the folder in between is made by explore_witness_write(). */
static char *path_in(const char *folder, const char *part)
{
    return memory_format("%s/%s", folder, part);
}

static enum fail write_schedule(const struct run *run, const struct explore_finding *finding,
                                enum property property, const struct worker_program *program,
                                const char *path, struct failure *failure)
{
    struct schedule *schedule = schedule_new(run);
    schedule->has_property = true;
    schedule->property = property;
    schedule->worker = program ? memory_text(program->command) : NULL;
    schedule->wait_us = program ? program->wait_us : 0;
    for (int i = 0; i < finding->choices_count; i++)
        schedule_add(schedule, &finding->choices[i]);
    enum fail fail = schedule_write(schedule, path, failure);
    schedule_free(schedule);
    return fail;
}

/* Where witnesses are written to, and what they need. */
struct files {
    const char *folder;
    struct worker_program *program; /* NULL: a scheme */
    struct worker_replays *replays; /* the program's: made for this, */
    struct worker_replays *before;  /* or before it, NULL: none were */
    struct finding *findings;       /* of the last replay */
};

/* What confirm() replayed once already, this time with somebody who writes it down. */
static enum fail write_history(const struct run *run, const struct explore_finding *finding,
                               const struct files *files, const char *path, struct failure *failure)
{
    struct history_head head =
        files->program ? walk_head(run, files->program) : run_head(run, "sim");
    struct history_writer *writer;
    snprintf(head.scenario, sizeof head.scenario, "explore");
    enum fail fail = history_writer_new(&writer, path, &head, failure);
    if (fail)
        return fail;
    struct event_sink file = history_writer_sink(writer);
    struct confirm_world world = {.open = NULL};
    if (files->program)
        world = worker_replays_world(files->replays, &head);
    world.also = &file;
    fail = confirm(run, finding, &world, files->findings, failure);
    if (!fail)
        return history_writer_close(writer, failure);
    history_writer_abandon(writer);
    return fail;
}

/* Its schedule and history: those of a quorum name their servers, too, and a sample without a fault
 * stands beside the search without one. */
static char *witness_name(const struct cell *cell, enum property property)
{
    const struct explore_options *options = &cell->options;
    char *servers = options->scheme->needs_quorum ? memory_format("-%d-servers", options->servers)
                                                  : memory_text("");
    const bool is_beside = cell->is_sample && strcmp(cell->faults, "none") == 0;
    char *name = memory_format("%s%s-%s-%s", options->scheme->name, servers,
                               is_beside ? "run" : cell->faults, property_name(property));
    free(servers);
    return name;
}

/* A witness that does not replay has no history: its row says why. */
static enum fail write_witness(const struct cell *cell, const struct files *files,
                               struct result_property *row, struct failure *failure)
{
    const struct explore_finding *finding = &cell->outcome.findings[row->property];
    struct run run = confirm_run(&cell->options, &cell->outcome, cell_clients);
    char *name = witness_name(cell, row->property);
    row->schedule = memory_format("schedules/%s.schedule", name);
    row->history = memory_format("histories/%s.jsonl", name);
    free(name);
    char *path = path_in(files->folder, row->schedule);
    enum fail fail = write_schedule(&run, finding, row->property, files->program, path, failure);
    free(path);
    if (fail) {
        free(row->schedule);
        row->schedule = NULL;
    }
    if (!fail && !row->error) {
        path = path_in(files->folder, row->history);
        if (!files->before || !worker_replays_link(files->before, &run, finding, path))
            fail = write_history(&run, finding, files, path, failure);
        free(path);
    }
    if (fail || row->error) { /* there is none */
        free(row->history);
        row->history = NULL;
    }
    return fail;
}

static enum fail make_part(const char *folder, const char *part, struct failure *failure)
{
    char *path = path_in(folder, part);
    enum fail fail = report_folder_make(path, failure);
    free(path);
    return fail;
}

enum fail explore_witness_write(const struct cells *cells, struct results *results,
                                struct worker_program *program, struct worker_replays *replays,
                                const char *folder, struct failure *failure)
{
    enum fail fail = make_part(folder, "schedules", failure);
    if (!fail)
        fail = make_part(folder, "histories", failure);
    const struct files files = {.folder = folder,
                                .program = program,
                                .replays = worker_replays_new(program),
                                .before = replays,
                                .findings = memory_new(PROPERTY_COUNT, sizeof *files.findings)};
    heartbeat_begin();
    for (int i = 0; i < cells->count && !fail; i++) {
        struct result_row *row = &results->rows[cells->first_row + i];
        heartbeat_say("%d/%d %s: writes its witnesses", i + 1, cells->count, cells->rows[i].faults);
        for (int p = 0; p < row->properties_count && !fail; p++)
            if (row->properties[p].verdict == VERDICT_VIOLATED)
                fail = write_witness(&cells->rows[i], &files, &row->properties[p], failure);
    }
    heartbeat_end();
    worker_replays_free(files.replays);
    free(files.findings);
    return fail;
}
