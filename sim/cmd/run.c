/* run.c - `picklock run`: scenarios against schemes. */
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/progress.h"

#include "base/memory.h"
#include "scenario/interpreter.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
static const char help[] =
    "\n"
    "  SCENARIO...            scenario files (default: all of scenarios/)\n"
    "  --scheme A,B           only these schemes (default: every scheme that a scenario mentions)\n"
    "  --worker COMMAND       test this lock program, unmodified: 'python3 my_lock.py' (see\n"
    "                         sim/docs/WORKERS.md); without --scheme, nothing else is run\n"
    "  --on redis|sim         run on a real redis-server (default) or in the simulated world\n"
    "  --redis URL            use your server: redis://[user:password@]host[:port][/db] or unix://path\n"
    "                         (default: $PICKLOCK_REDIS_URL if set and no --redis-server is given)\n"
    "  --redis-server PATH    program of the private servers (default: redis-server on the PATH)\n"
    "  --real-time            do not steer the servers' clocks: leases run out in real time\n"
    "  --repeat N             run the whole list N times (default 1)\n"
    "  --shard K/N            run only part K of N; `picklock report` merges the folders of all parts\n"
    "  --seed N               seed of the tokens (default 1)\n"
    FAIL_ON_HELP("bug")
    OUTPUT_HELP;
/* clang-format on */

struct run_options {
    const char *scheme, *shard;
    struct worker_scheme worker;
    int wants_help, operands;
    int64_t seed, repeat;
    struct run_choices choices;
    struct live_options live;
    struct output output;
};

/* Default: scenarios/ here, or beside the program's build folder. */
static enum fail find_scenarios(glob_t *found, struct failure *failure)
{
    char program[PATH_MAX];
    if (glob("scenarios/*.yaml", 0, NULL, found) == 0)
        return FAIL_NONE;
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size > 0) {
        program[size] = 0;
        for (int up = 0; up < 2; up++)
            *strrchr(program, '/') = 0;
        char *pattern = memory_format("%s/scenarios/*.yaml", program);
        int missing = glob(pattern, 0, NULL, found);
        free(pattern);
        if (!missing)
            return FAIL_NONE;
    }
    return failure_set(failure, FAIL_INPUT, "no scenario was named, and scenarios/ has none");
}

static enum fail parse(int argc, char **argv, struct run_options *options, struct runner *runner,
                       struct failure *failure)
{
    const struct option_row rows[] = {
        {"--scheme", OPTION_TEXT, &options->scheme, 0, 0},
        {"--repeat", OPTION_NUMBER, &options->repeat, 1, 1000000},
        {"--shard", OPTION_TEXT, &options->shard, 0, 0},
        {"--seed", OPTION_NUMBER, &options->seed, 0, INT64_MAX},
        RUN_CHOICES_ROWS(options->choices),
        OUTPUT_ROWS(options->output),
    };
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &options->operands,
                      &options->wants_help, failure))
        return failure->code;
    runner->seed = (uint64_t)options->seed;
    if (output_check(&options->output, failure))
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

/* The schemes asked for, or those that the scenario speaks about. */
static int count_schemes(const struct scenario *scenario, const struct scheme_list *wanted)
{
    return wanted->count ? wanted->count : scenario->expectations_count;
}

/* Of a scheme of the table nothing can fail that the scenario does not speak about, unless the user
 * says what. One from a file is what he wants to know about. */
static int has_question(const struct run_options *options, const struct scenario *scenario,
                        const struct scheme *scheme)
{
    return scheme && (scenario_expects(scenario, scheme) || options->choices.fail_on ||
                      scheme_is_plugin(scheme));
}

/* A run of the list. */
struct planned {
    const struct scenario *scenario;
    const struct scheme *scheme; /* NULL: it is in a file that is not loaded, */
    const char *name;            /* and called so */
    int round;
};

struct plan {
    struct run_options *options;
    struct runner *runner;
    struct scenario *const *scenarios;
    int count;
    const struct scheme_list *wanted;
    struct results *results;
    struct progress progress;
};

typedef enum fail planned_function(struct plan *plan, const struct planned *planned,
                                   struct failure *failure);

/* All runs that fall to this shard, one after the other, until one fails or somebody says stop. */
static enum fail for_all(struct plan *plan, planned_function *take, struct failure *failure)
{
    int64_t index = 0;
    enum fail fail = FAIL_NONE;
    for (int64_t round = 1; round <= plan->options->repeat; round++)
        for (int i = 0; i < plan->count; i++) {
            const struct scenario *scenario = plan->scenarios[i];
            int columns = count_schemes(scenario, plan->wanted);
            for (int j = 0; !fail && !cmd_stop && j < columns; j++) {
                const struct planned planned = {
                    .scenario = scenario,
                    .scheme = plan->wanted->count ? plan->wanted->rows[j]
                                                  : scenario->expectations[j].scheme,
                    .name = plan->wanted->count ? plan->wanted->rows[j]->name
                                                : scenario->expectations[j].name,
                    .round = (int)round};
                if (shard_has(&plan->results->shard, index++))
                    fail = take(plan, &planned, failure);
            }
        }
    return fail;
}

static enum fail count_one(struct plan *plan, const struct planned *planned,
                           struct failure *failure)
{
    (void)failure;
    struct failure why;
    bool applies = has_question(plan->options, planned->scenario, planned->scheme) &&
                   !runner_suits(plan->runner, planned->scenario, &why);
    plan->progress.left_out += !applies;
    plan->progress.runs += applies;
    if (applies && plan->progress.is_real_time)
        plan->progress.takes_us += interpreter_takes_us(planned->scenario, planned->scheme);
    return FAIL_NONE;
}

static enum fail run_one(struct plan *plan, const struct planned *planned, struct failure *failure)
{
    const struct scenario *scenario = planned->scenario;
    struct failure why;
    if (!has_question(plan->options, scenario, planned->scheme)) {
        const struct scheme absent = {.name = planned->name};
        runner_skip(scenario, planned->scheme ? planned->scheme : &absent,
                    planned->scheme ? "the scenario does not speak about it"
                                    : "no such scheme is loaded: --scheme FILE.so does",
                    plan->results);
        return FAIL_NONE;
    }
    if (!runner_suits(plan->runner, scenario, &why))
        progress_next(&plan->progress, scenario->name,
                      interpreter_takes_us(scenario, planned->scheme));
    plan->runner->round = planned->round;
    return runner_scenario(plan->runner, scenario, planned->scheme, plan->results, failure);
}

static enum fail run_all(struct run_options *options, struct runner *runner,
                         struct scenario *const *scenarios, int count,
                         const struct scheme_list *wanted, struct results *results,
                         struct failure *failure)
{
    struct plan plan = {.options = options,
                        .runner = runner,
                        .scenarios = scenarios,
                        .count = count,
                        .wanted = wanted,
                        .results = results,
                        .progress.is_real_time =
                            runner->world == WORLD_REDIS && live_is_real_time(runner->live)};
    for (int i = 0; i < count; i++)
        results->whole += count_schemes(scenarios[i], wanted) * options->repeat;
    (void)for_all(&plan, count_one, failure);
    progress_begin(&plan.progress);
    enum fail fail = for_all(&plan, run_one, failure);
    progress_end(&plan.progress);
    int64_t runs = shard_size(&results->shard, results->whole);
    if (results->rows_count < runs)
        results_interrupt(results, fail ? failure->text : cmd_stop_name(), "run",
                          results->rows_count, runs);
    return fail;
}

/* scenarios/ also holds the explorer's expected matrix, which a shell's *.yaml brings along. Moves
 * it to the end of the list; returns how many stand before it. */
static int leave_out_matrix(char **paths, int count, int was_named)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        char *path = paths[i];
        const char *slash = strrchr(path, '/');
        if (strcmp(slash ? slash + 1 : path, "matrix.yaml") != 0) {
            paths[i] = paths[kept];
            paths[kept++] = path;
        } else if (was_named) {
            cmd_say("left out %s: the explorer's matrix, not a scenario", path);
        }
    }
    return kept;
}

/* Reads every scenario before anything runs, so that all that is wrong is said at once. */
static enum fail read_all(char **paths, int count, struct scenario **scenarios,
                          struct failure *failure)
{
    struct failure one;
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < count; i++) {
        if (!scenario_read(paths[i], &scenarios[i], &one))
            continue;
        if (fail)
            cmd_failed(failure);
        *failure = one;
        fail = one.code;
    }
    return fail;
}

/* Runs what was parsed, and reports it. argv is the whole command line, for the report. */
static enum fail run_and_report(struct run_options *options, struct runner *runner,
                                struct scenario *const *scenarios, int count,
                                const struct scheme_list *wanted, int argc, char **argv,
                                struct failure *failure)
{
    struct results results = {.seed = runner->seed};
    snprintf(results.world, sizeof results.world, "%s",
             runner->world == WORLD_SIM ? "sim" : "redis");
    enum fail fail = shard_read(options->shard, &results.shard, failure);
    if (!fail && runner->world == WORLD_REDIS)
        fail = live_new(&runner->live, &options->live, failure);
    if (!fail)
        fail = output_open(&options->output, &results, "run", argc, argv, failure);
    runner->folder = options->output.folder;
    if (!fail)
        fail = run_all(options, runner, scenarios, count, wanted, &results, failure);
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
    struct failure failure = {0};
    glob_t found = {0};
    char **line = memory_new((size_t)argc + 1, sizeof *line);
    memcpy(line, argv, (size_t)argc * sizeof *line);
    if (parse(argc, argv, &options, &runner, &failure) ||
        scheme_list_read(options.scheme, &wanted, &failure) ||
        add_worker(&options, &runner, &wanted, &failure))
        return cmd_failed(&failure);
    if (options.wants_help)
        return cmd_help("run", help);
    if (!options.operands && find_scenarios(&found, &failure))
        return cmd_failed(&failure);
    char **paths = options.operands ? argv + 1 : found.gl_pathv;
    int count = options.operands ? options.operands : (int)found.gl_pathc;
    count = leave_out_matrix(paths, count, options.operands);
    struct scenario **scenarios = memory_new((size_t)count, sizeof(void *));
    if (read_all(paths, count, scenarios, &failure))
        return cmd_failed(&failure);
    cmd_catch_signals();
    enum fail status =
        run_and_report(&options, &runner, scenarios, count, &wanted, argc, line, &failure);
    for (int i = 0; i < count; i++)
        scenario_free(scenarios[i]);
    free(scenarios);
    free(line);
    free(wanted.rows);
    globfree(&found);
    return (int)status;
}
