/* run.c - `picklock run`: scenarios against schemes. */
#include "cmd/cmd.h"
#include "cmd/scenario_runs.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char cmd_run_help[] =
    "\n"
    "  SCENARIO...            scenario files, or names as of `picklock list\n"
    "                         scenarios` (default: all of scenarios/, here or else its own)\n"
    "  --scheme A,B           only these schemes (default: every scheme that a scenario mentions)\n"
    "  --worker COMMAND       test this lock program, unmodified: 'python3 my_lock.py' (see\n"
    "                         sim/docs/WORKERS.md); without --scheme, nothing else is run\n"
    WAIT_HELP
    "  --on redis|sim         run on a real redis-server (default) or in the simulated world\n"
    "  --redis URL            use your server: redis://[user:password@]host[:port][/db] or\n"
    "                         unix://path (default: $PICKLOCK_REDIS_URL if set and no\n"
    "                         --redis-server is given)\n"
    "  --redis-server PATH    program of the private servers (default: redis-server on the PATH)\n"
    "  --real-time            do not steer the servers' clocks: leases run out in real time\n"
    "  --repeat N             run the whole list N times (default 1)\n"
    "  --shard K/N            run only part K of N; `picklock report` merges all their folders\n"
    "  --seed N               seed of the tokens (default 1)\n"
    FAIL_ON_HELP("bug")
    OUTPUT_HELP;
/* clang-format on */

struct run_options {
    const char *scheme, *shard;
    struct worker_scheme worker;
    int operands;
    int64_t seed, repeat;
    struct run_choices choices;
    struct live_options live;
    struct output output;
};

static enum fail parse(int argc, char **argv, struct run_options *options, struct runner *runner,
                       struct failure *failure)
{
    const struct option_row rows[] = {
        OPTION_TEXT("--scheme", &options->scheme),
        OPTION_NUMBER("--repeat", &options->repeat, 1, 1000000),
        OPTION_TEXT("--shard", &options->shard),
        OPTION_NUMBER("--seed", &options->seed, 0, INT64_MAX),
        OPTION_DURATION("--wait", &options->choices.wait_us, 0, WAIT_MAX_US),
        RUN_CHOICES_ROWS(options->choices),
        OUTPUT_ROWS(options->output),
    };
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &options->operands, failure))
        return failure->code;
    runner->seed = (uint64_t)options->seed;
    if (scenario_list_check(&options->output,
                            &(struct inputs){argv + 1,
                                             options->operands,
                                             {options->scheme, options->choices.worker}},
                            failure))
        return failure->code;
    return run_choices_read(&options->choices, runner, &options->live, failure);
}

/* The worker is a scheme like others, from here on. */
static enum fail add_worker(struct run_options *options, struct runner *runner,
                            struct scheme_list *wanted, struct failure *failure)
{
    if (!options->choices.worker)
        return FAIL_NONE;
    if (run_choices_worker(&options->choices, &options->live, &options->worker, runner, failure))
        return FAIL_INPUT;
    wanted->rows = memory_resize(wanted->rows, (size_t)wanted->count + 1, sizeof *wanted->rows);
    wanted->rows[wanted->count++] = &options->worker.scheme;
    return FAIL_NONE;
}

/* Runs what was parsed, and reports it. */
static enum fail run_and_report(struct run_options *options, const struct scenario_runs *runs,
                                struct failure *failure)
{
    struct runner *runner = runs->runner;
    struct results results = {.seed = runner->seed};
    snprintf(results.world, sizeof results.world, "%s", world_name(runner->world));
    enum fail fail = shard_read(options->shard, &results.shard, failure);
    if (!fail && runner->world == WORLD_REDIS)
        fail = live_new(&runner->live, &options->live, failure);
    if (!fail)
        fail = output_open(&options->output, &results, failure);
    runner->folder = options->output.folder;
    if (!fail)
        fail = scenario_runs_make(runs, &results, failure);
    live_free(runner->live);
    fail = output_end(&options->output, &results, fail, failure);
    results_free(&results);
    return fail;
}

int cmd_run(int argc, char **argv)
{
    struct run_options options = {.seed = 1, .repeat = 1};
    struct runner runner = {0};
    struct scheme_list wanted = {0};
    struct scenario_list scenarios;
    struct failure failure = {0};
    if (parse(argc, argv, &options, &runner, &failure) ||
        scheme_list_read(options.scheme, &wanted, &failure) ||
        add_worker(&options, &runner, &wanted, &failure) ||
        scenario_list_read(&scenarios, argv + 1, options.operands, &failure)) {
        free(wanted.rows);
        return cmd_failed(&failure);
    }
    cmd_catch_signals();
    const struct scenario_runs runs = {
        .runner = &runner, .scenarios = &scenarios, .wanted = &wanted, .repeat = options.repeat};
    enum fail status = run_and_report(&options, &runs, &failure);
    scenario_list_close(&scenarios);
    free(wanted.rows);
    return (int)status;
}
