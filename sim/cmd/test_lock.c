/* test_lock.c - see test_lock.h. */
#include "cmd/test_lock.h"

#include "base/memory.h"
#include "base/shell.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/explore_asking.h"
#include "cmd/explore_witness.h"
#include "cmd/scenario_runs.h"
#include "cmd/test_conclusion.h"
#include "report/text.h"
#include "worker/twice.h"

#include <stdio.h>
#include <stdlib.h>

/* What is under test, as its parts want it. */
struct bench {
    struct test_lock *test;
    struct runner runner;
    struct live_options live;
    struct worker_scheme worker;
    struct scheme_list wanted; /* the worker */
    struct scenario_list scenarios;
    struct cells cells;
    struct results results;
};

/* --- is the worker fit to be tested? --- */

static void print_line(void *context, const char *line)
{
    const bool *is_silent = context;
    if (*is_silent)
        return;
    text_print(stdout, TEXT_PLAIN, line);
    putchar('\n');
}

static enum fail check_worker(const struct test_lock *test, struct failure *failure)
{
    bool is_silent = output_takes_stdout(&test->output);
    int commands;
    const struct once_options options = {.command = test->command,
                                         .redis_server = test->redis_server,
                                         .lease_us = test->lease_us,
                                         .patience_us = test->patience_us,
                                         .servers = 1,
                                         .seed = (uint64_t)test->seed,
                                         .stop = &cmd_stop,
                                         .line = print_line,
                                         .context = &is_silent};
    enum fail fail = twice_run(&options, &commands, failure);
    if (!fail && !is_silent)
        printf("a clean hand-over, and the same again in new processes: %d command%s each\n",
               commands, units_plural(commands));
    fflush(stdout);
    return fail;
}

/* Nothing was tested: what to look at. */
static int say_unfit(const struct test_lock *test, const struct failure *failure)
{
    char *command = shell_word(test->command);
    (void)cmd_failed(failure);
    if (!cmd_stop)
        cmd_say("nothing was tested. One hand-over, with every command: picklock test --once %s",
                command);
    free(command);
    return (int)failure->code;
}

/* --- scenarios, then every interleaving --- */

static enum fail play(struct bench *bench, struct failure *failure)
{
    const struct scenario_runs runs = {.runner = &bench->runner,
                                       .scenarios = &bench->scenarios,
                                       .wanted = &bench->wanted,
                                       .repeat = 1};
    enum fail fail = live_new(&bench->runner.live, &bench->live, failure);
    bench->runner.folder = bench->test->output.folder;
    if (!fail)
        fail = scenario_runs_make(&runs, &bench->results, failure);
    live_free(bench->runner.live);
    return fail;
}

static enum fail decide(struct bench *bench, struct failure *failure)
{
    struct test_lock *test = bench->test;
    struct explore_asking asking;
    struct explore_args args = {.worker = test->command,
                                .fault = test->fault,
                                .redis_server = test->redis_server,
                                .program = &bench->worker,
                                .asking = &asking,
                                .fail_on = bench->runner.fail_on,
                                .clients = test->clients,
                                .rounds = test->rounds,
                                .budget_us = test->budget_us,
                                .memory_mb = 2000,
                                .seed = test->seed,
                                .jobs = 1};
    int64_t whole;
    enum fail fail =
        cells_fill(&bench->cells, &args, &bench->wanted, &bench->results.shard, &whole, failure);
    if (fail)
        return fail;
    cells_note_interruption(&bench->cells, &args, &bench->results);
    cells_add_rows(&bench->cells, &args, &bench->results);
    return explore_witness_write(&bench->cells, &bench->results, &bench->worker.program,
                                 test->output.folder, failure);
}

/* What there is by then is reported, whatever failed; the first failure is told. */
static enum fail conclude(struct bench *bench, enum fail fail, struct failure *failure)
{
    struct output *output = &bench->test->output;
    struct failure also;
    if (!bench->results.rows_count)
        return fail;
    if (fail)
        results_interrupt(&bench->results, failure->text, "part", 1, 2);
    const bool is_unwritten = output_write(output, &bench->results, &also) != FAIL_NONE;
    if (!output_takes_stdout(output)) {
        struct failure undrawn;
        if (test_conclusion_print(&bench->results, is_unwritten ? NULL : output->folder, &undrawn))
            cmd_failed(&undrawn);
    }
    if (is_unwritten && !fail)
        *failure = also;
    else if (is_unwritten)
        cmd_failed(&also);
    return fail ? fail : is_unwritten ? also.code : FAIL_NONE;
}

static enum fail test_all(struct bench *bench, int argc, char **argv, struct failure *failure)
{
    struct output *output = &bench->test->output;
    enum fail fail = output_open(output, &bench->results, "test", argc, argv, failure);
    if (fail)
        return fail;
    fail = play(bench, failure);
    if (!fail)
        fail = decide(bench, failure);
    if (cmd_stop && fail == FAIL_UNKNOWN) {
        results_interrupt(&bench->results, cmd_stop_name(), "part", 1, 2);
        fail = FAIL_NONE; /* the results say it */
    }
    fail = conclude(bench, fail, failure);
    free(output->folder);
    output->folder = NULL;
    return fail;
}

/* --- all --- */

static enum fail prepare(struct bench *bench, struct failure *failure)
{
    const struct test_lock *test = bench->test;
    const struct run_choices choices = {
        .redis_server = test->redis_server, .fail_on = test->fail_on, .worker = test->command};
    bench->runner.seed = bench->results.seed = (uint64_t)test->seed;
    (void)snprintf(bench->results.world, sizeof bench->results.world, "redis");
    if (explore_asking_check(test->fault, failure) ||
        run_choices_read(&choices, &bench->runner, &bench->live, failure) ||
        run_choices_worker(&choices, &bench->live, &bench->worker, &bench->runner, failure))
        return failure->code;
    bench->wanted.rows = memory_new(1, sizeof *bench->wanted.rows);
    bench->wanted.rows[bench->wanted.count++] = &bench->worker.scheme;
    return scenario_list_read(&bench->scenarios, test->scenarios, test->scenarios_count, failure);
}

int test_lock_run(struct test_lock *test, int argc, char **argv)
{
    struct failure failure = {0};
    struct bench *bench = memory_new(1, sizeof *bench);
    int status;
    bench->test = test;
    cmd_catch_signals();
    if (prepare(bench, &failure))
        status = cmd_failed(&failure);
    else if (check_worker(test, &failure))
        status = say_unfit(test, &failure);
    else if (test_all(bench, argc, argv, &failure))
        status = cmd_failed(&failure);
    else
        status = (int)results_status(&bench->results);
    cells_close(&bench->cells);
    results_free(&bench->results);
    scenario_list_close(&bench->scenarios);
    free(bench->wanted.rows);
    free(bench);
    return status;
}
