/* explore_witness.c - see explore_witness.h. */
#include "cmd/explore_witness.h"

#include "base/memory.h"
#include "cmd/cmd.h"
#include "live/live.h"
#include "report/report.h"
#include "scenario/schedule.h"

#include <stdio.h>
#include <stdlib.h>

static char actor_names[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B", "C", "D", "E", "F"};

static enum fail write_schedule(const struct cell *cell, enum property property, const char *out,
                                struct failure *failure)
{
    const struct explore_finding *finding = &cell->outcome.findings[property];
    struct run run = confirm_run(&cell->options, &cell->outcome, actor_names);
    struct schedule *schedule = schedule_new(&run);
    for (int i = 0; i < finding->choices_count; i++)
        schedule_add(schedule, &finding->choices[i]);
    char *path = memory_format("%s/%s-%s-%s.schedule", out, cell->options.scheme->name,
                               cell->faults, property_name(property));
    enum fail fail = schedule_write(schedule, path, failure);
    free(path);
    schedule_free(schedule);
    return fail;
}

enum fail explore_witness_write(const struct cells *cells, const char *out, struct failure *failure)
{
    enum fail fail = report_folder_make(out, failure);
    for (int i = 0; i < cells->count && !fail; i++)
        for (int p = 0; p < PROPERTY_COUNT && !fail; p++)
            if (cells->rows[i].outcome.findings[p].verdict == VERDICT_VIOLATED)
                fail = write_schedule(&cells->rows[i], (enum property)p, out, failure);
    return fail;
}

/* --- on real Redis --- */

static enum fail open_live(void *context, const struct run *run, struct world **world,
                           struct failure *failure)
{
    return world_live_new(world, context, run, failure);
}

/* A witness that real Redis does not follow is told, and counted; a server that is not there ends
 * the program. */
static enum fail confirm_one(struct cells *cells, int at, enum property property, struct live *live,
                             struct finding *findings, int *unconfirmed, struct failure *failure)
{
    const struct cell *cell = &cells->rows[at];
    const struct confirm_world world = {
        .open = open_live, .context = live, .clock_error_us = live_clock_error_us(live)};
    struct run run = confirm_run(&cell->options, &cell->outcome, actor_names);
    enum fail fail = confirm(&run, &cell->outcome.findings[property], &world, findings, failure);
    if (fail && fail != FAIL_UNKNOWN)
        return fail;
    bool is_seen = !fail && findings[property].verdict == VERDICT_VIOLATED;
    cells->on_redis[at][property] = is_seen;
    if (is_seen)
        return FAIL_NONE;
    (*unconfirmed)++;
    fprintf(stderr, "picklock: not confirmed: %s, %s, %s: %s\n", cell->options.scheme->name,
            cell->faults, property_name(property),
            fail ? failure->text : "the checks do not see it on real Redis");
    return FAIL_NONE;
}

enum fail explore_witness_confirm(struct cells *cells, const struct explore_args *args,
                                  int *unconfirmed, struct failure *failure)
{
    const struct live_options options = {.redis_server = args->redis_server, .steering = STEERED};
    struct live *live = NULL;
    enum fail fail = live_new(&live, &options, failure);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    for (int i = 0; i < cells->count && !fail && !cmd_stop; i++)
        for (int p = 0; p < PROPERTY_COUNT && !fail && !cmd_stop; p++)
            if (cells->rows[i].outcome.findings[p].verdict == VERDICT_VIOLATED)
                fail =
                    confirm_one(cells, i, (enum property)p, live, findings, unconfirmed, failure);
    free(findings);
    live_free(live);
    return fail;
}
