/* replay.c - `picklock replay`: a schedule file, enforced choice by choice. */
#include "cmd/charset.h"
#include "cmd/cmd.h"
#include "cmd/output.h"

#include "base/memory.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const char help[] =
    "\n"
    "  --scheme FILE.so       load the scheme of the schedule, if it came from a file\n"
    "  --worker COMMAND       the worker of the schedule, if it came from one: 'python3 my_lock.py'\n"
    "  --on redis|sim         replay on a real redis-server (default) or in the simulated world\n"
    "  --real-time            do not steer the servers' clocks: leases run out in real time\n"
    "  --timeline             print a space-time diagram below the summary\n"
    FAIL_ON_HELP("bug")
    SERVER_HELP
    OUTPUT_HELP;
/* clang-format on */

/* Whatever the verdict: the one run that there was. folder: where its history is, borrowed. */
static enum fail print_timeline(const char *folder, const struct results *results,
                                struct failure *failure)
{
    const struct result_row *row = &results->rows[0];
    if (!results->rows_count || !row->history)
        return FAIL_NONE;
    char *path = memory_format("%s/%s", folder, row->history);
    putchar('\n');
    enum fail fail =
        report_timeline(stdout, path, report_first_index(row), charset_of_locale(), failure);
    free(path);
    return fail;
}

static enum fail replay(struct runner *runner, const struct live_options *live, const char *path,
                        struct output *output, struct results *results, int wants_timeline,
                        const struct scheme_list *wanted, int argc, char **argv,
                        struct failure *failure)
{
    struct schedule *schedule = NULL;
    if (schedule_read(path, &schedule, failure))
        return failure->code;
    results->seed = runner->seed = schedule->seed;
    enum fail fail = scheme_list_has(wanted, schedule->scheme->name, path, failure);
    if (!fail && runner->world == WORLD_REDIS)
        fail = live_new(&runner->live, live, failure);
    if (!fail)
        fail = output_open(output, results, "replay", argc, argv, failure);
    runner->folder = output->folder;
    if (!fail)
        fail = runner_schedule(runner, schedule, path, results, failure);
    live_free(runner->live);
    char *folder = output->folder ? memory_text(output->folder) : NULL;
    if (!fail)
        fail = output_close(output, results, failure);
    if (!fail && wants_timeline)
        fail = print_timeline(folder, results, failure);
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
    int operands, wants_help = 0, wants_timeline = 0;
    char **line = memory_new((size_t)argc + 1, sizeof *line);
    memcpy(line, argv, (size_t)argc * sizeof *line);
    const struct option_row rows[] = {RUN_CHOICES_ROWS(choices),
                                      OUTPUT_ROWS(output),
                                      {"--scheme", OPTION_TEXT, &scheme, 0, 0},
                                      {"--timeline", OPTION_FLAG, &wants_timeline, 0, 0}};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &wants_help,
                      &failure))
        return cmd_failed(&failure);
    if (wants_help)
        return cmd_help("replay", help);
    if (operands != 1) {
        failure_set(&failure, FAIL_INPUT, "replay wants one schedule file");
        return cmd_failed(&failure);
    }
    if (output_check(&output, &failure))
        return cmd_failed(&failure);
    if (wants_timeline && output_takes_stdout(&output)) {
        failure_set(&failure, FAIL_INPUT,
                    "--timeline prints on stdout: only one thing can go there");
        return cmd_failed(&failure);
    }
    struct live_options live;
    if (run_choices_read(&choices, &runner, &live, &failure) ||
        scheme_list_read(scheme, &wanted, &failure) ||
        (choices.worker && run_choices_worker(&choices, &live, &worker, &runner, &failure)))
        return cmd_failed(&failure);
    cmd_catch_signals();
    snprintf(results.world, sizeof results.world, "%s",
             runner.world == WORLD_SIM ? "sim" : "redis");
    enum fail fail = replay(&runner, &live, argv[1], &output, &results, wants_timeline, &wanted,
                            argc, line, &failure);
    int status = fail ? cmd_failed(&failure) : (int)results_status(&results);
    results_free(&results);
    free(wanted.rows);
    free(line);
    return status;
}
