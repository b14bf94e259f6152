/* replay.c - `picklock replay`: a schedule file, enforced choice by choice, or followed with a lock
 * that has changed. */
#include "cmd/cmd.h"
#include "cmd/file_kind.h"
#include "cmd/output.h"

#include "base/memory.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char cmd_replay_help[] =
    "\n"
    "  --scheme FILE.so       load the scheme of the schedule, if it came from a file\n"
    "  --worker COMMAND       the worker of the schedule, if it came from one, or any other:\n"
    "                         'python3 my_lock.py'. One that has changed since is followed by who\n"
    "                         acts, and to what effect (sim/docs/WORKERS.md)\n"
    "  --on redis|sim         replay on a real redis-server (default) or in the simulated world\n"
    "  --real-time            do not steer the servers' clocks: leases run out in real time\n"
    "  --timeline             print a space-time diagram below the summary\n"
    FAIL_ON_HELP("bug")
    SERVER_HELP
    OUTPUT_HELP;
/* clang-format on */

static enum fail replay(struct runner *runner, const struct live_options *live, const char *path,
                        struct output *output, struct results *results,
                        const struct scheme_list *wanted, struct failure *failure)
{
    struct schedule *schedule = NULL;
    const struct scheme *worker = runner->worker ? &runner->worker->scheme : NULL;
    enum fail fail = FAIL_NONE;
    if (schedule_read(path, worker, &schedule, failure))
        return file_kind_hint(FILE_SCHEDULE, path, failure);
    results->seed = runner->seed = schedule->seed;
    if (!worker)
        fail = scheme_list_has(wanted, schedule->scheme->name, path, failure);
    if (!fail && runner->world == WORLD_REDIS)
        fail = live_new(&runner->live, live, failure);
    if (!fail)
        fail = output_open(output, results, failure);
    runner->folder = output->folder;
    if (!fail)
        fail = runner_schedule(runner, schedule, path, results, failure);
    live_free(runner->live);
    char *folder = output->folder ? memory_text(output->folder) : NULL;
    if (!fail)
        fail = output_close(output, results, failure);
    if (!fail && output->wants_timeline && results->rows_count) /* whatever the verdict */
        fail = output_timeline(folder, results->rows[0].history,
                               report_first_index(&results->rows[0]), failure);
    free(folder);
    schedule_free(schedule);
    return fail;
}

int cmd_replay(int argc, char **argv)
{
    struct failure failure = {0};
    struct output output = {0};
    struct runner runner = {0};
    struct results results = {0};
    struct run_choices choices = {0};
    struct scheme_list wanted = {0};
    struct worker_scheme worker;
    const char *scheme = NULL;
    int operands;
    const struct option_row rows[] = {RUN_CHOICES_ROWS(choices), OUTPUT_ROWS(output),
                                      TIMELINE_ROW(output), OPTION_TEXT("--scheme", &scheme)};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure))
        return cmd_failed(&failure);
    if (operands != 1)
        return cmd_refuse("replay wants one schedule file");
    struct live_options live;
    if (output_check(&output, NULL, &(struct inputs){argv + 1, operands, {scheme, choices.worker}},
                     &failure) ||
        run_choices_read(&choices, &runner, &live, &failure) ||
        scheme_list_read(scheme, &wanted, &failure) ||
        (choices.worker && run_choices_worker(&choices, &live, &worker, &runner, &failure))) {
        free(wanted.rows);
        return cmd_failed(&failure);
    }
    cmd_catch_signals();
    snprintf(results.world, sizeof results.world, "%s", world_name(runner.world));
    enum fail fail = replay(&runner, &live, argv[1], &output, &results, &wanted, &failure);
    int status = fail ? cmd_failed(&failure) : (int)results_status(&results);
    results_free(&results);
    free(wanted.rows);
    return status;
}
