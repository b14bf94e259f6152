/* test_lock.c - see test_lock.h. */
#include "cmd/test_lock.h"

#include "base/memory.h"
#include "base/shell.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/explore_asking.h"
#include "cmd/explore_witness.h"
#include "cmd/heartbeat.h"
#include "cmd/scenario_runs.h"
#include "cmd/test_conclusion.h"
#include "report/report.h"
#include "report/text.h"
#include "worker/twice.h"

#include <stdio.h>
#include <stdlib.h>

/* What is under test, as its parts want it. */
struct lock_test {
    struct test_lock *test;
    struct runner runner;
    struct live_options live;
    struct worker_scheme worker;
    struct scheme_list wanted; /* the worker */
    struct scenario_list scenarios;
    struct cells cells;
    struct explore_asking asking;
    struct results results;
};

/* --- is the worker fit to be tested? --- */

static const char checking[] = "checks the worker: a hand-over, twice";

static void print_line(void *context, const char *line)
{
    const bool *is_silent = context;
    if (*is_silent)
        return;
    heartbeat_say("%s", "");
    text_print_wrapped(stdout, line, 0, text_room(stdout));
    fflush(stdout);
    heartbeat_say("%s", checking);
}

static enum fail check_worker(const struct test_lock *test, struct failure *failure)
{
    bool is_silent = output_takes_stdout(&test->output);
    int commands;
    struct failure odd_key = {0};
    const struct once_options options = {.command = test->command,
                                         .redis_server = test->redis_server,
                                         .lease_us = test->lease_us,
                                         .patience_us = test->patience_us,
                                         .servers = 1,
                                         .seed = (uint64_t)test->seed,
                                         .stop = &cmd_stop,
                                         .line = print_line,
                                         .context = &is_silent,
                                         .odd_key = &odd_key};
    heartbeat_begin();
    heartbeat_say("%s", checking);
    enum fail fail = twice_run(&options, &commands, failure);
    heartbeat_end();
    if (!fail && odd_key.code)
        cmd_say("%s", odd_key.text);
    if (!fail && !is_silent) {
        char *said = memory_format(
            "a clean hand-over, and the same again in new processes: %d command%s each", commands,
            units_plural(commands));
        text_print_wrapped(stdout, said, 0, text_room(stdout));
        free(said);
    }
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

static enum fail play(struct lock_test *it, struct failure *failure)
{
    const struct scenario_runs runs = {.runner = &it->runner,
                                       .scenarios = &it->scenarios,
                                       .wanted = &it->wanted,
                                       .repeat = 1,
                                       .faults =
                                           it->test->scenarios_count ? NULL : it->test->fault};
    enum fail fail = live_new(&it->runner.live, &it->live, failure);
    it->runner.folder = it->test->output.folder;
    if (!fail)
        fail = scenario_runs_make(&runs, &it->results, failure);
    live_free(it->runner.live);
    return fail;
}

static enum fail decide(struct lock_test *it, struct failure *failure)
{
    struct test_lock *test = it->test;
    struct explore_args args = {.worker = test->command,
                                .fault = test->fault,
                                .redis_server = test->redis_server,
                                .depends = test->depends,
                                .no_cache = test->no_cache,
                                .program = &it->worker,
                                .asking = &it->asking,
                                .samples = true,
                                .output.folder = test->output.folder,
                                .fail_on = it->runner.fail_on,
                                .clients = test->clients,
                                .rounds = test->rounds,
                                .budget_us = test->budget_us,
                                .memory_mb = 2000,
                                .seed = test->seed,
                                .jobs = 1};
    int64_t whole;
    enum fail fail =
        cells_fill(&it->cells, &args, &it->wanted, &it->results.shard, &whole, failure);
    if (fail)
        return fail;
    cells_note_interruption(&it->cells, &args, &it->results);
    cells_add_rows(&it->cells, &args, &it->results);
    return explore_witness_write(&it->cells, &it->results, &it->worker.program, it->asking.replays,
                                 test->output.folder, failure);
}

/* What there is by then is reported, whatever failed; the first failure is told. */
static enum fail conclude(struct lock_test *it, enum fail fail, struct failure *failure)
{
    struct output *output = &it->test->output;
    struct failure also;
    if (!it->results.rows_count)
        return fail;
    if (fail)
        results_interrupt(&it->results, failure->text, "part", 1, 2);
    const bool is_unwritten = output_write(output, &it->results, &also) != FAIL_NONE;
    if (!output_takes_stdout(output)) {
        struct failure undrawn;
        if (test_conclusion_print(&it->results, is_unwritten ? NULL : output->folder, &undrawn))
            cmd_failed(&undrawn);
    }
    if (is_unwritten && !fail)
        *failure = also;
    else if (is_unwritten)
        cmd_failed(&also);
    return fail ? fail : is_unwritten ? also.code : FAIL_NONE;
}

static enum fail test_all(struct lock_test *it, struct failure *failure)
{
    struct output *output = &it->test->output;
    enum fail fail = output_open(output, &it->results, failure);
    if (fail)
        return fail;
    fail = play(it, failure);
    if (!fail)
        fail = decide(it, failure);
    if (cmd_stop && fail == FAIL_UNKNOWN) {
        results_interrupt(&it->results, cmd_stop_name(), "part", 1, 2);
        fail = FAIL_NONE; /* the results say it */
    }
    fail = conclude(it, fail, failure);
    free(output->folder);
    output->folder = NULL;
    return fail;
}

/* --- all --- */

static enum fail prepare(struct lock_test *it, struct failure *failure)
{
    const struct test_lock *test = it->test;
    const struct run_choices choices = {.redis_server = test->redis_server,
                                        .fail_on = test->fail_on,
                                        .worker = test->command,
                                        .wait_us = test->wait_us};
    it->runner.seed = it->results.seed = (uint64_t)test->seed;
    (void)snprintf(it->results.world, sizeof it->results.world, "redis");
    if (report_folder_check(test->output.out, failure) ||
        explore_asking_or_running_check(test->fault, failure) ||
        run_choices_read(&choices, &it->runner, &it->live, failure) ||
        run_choices_worker(&choices, &it->live, &it->worker, &it->runner, failure))
        return failure->code;
    it->worker.program.skips_extend = test->no_extend;
    it->wanted.rows = memory_new(1, sizeof *it->wanted.rows);
    it->wanted.rows[it->wanted.count++] = &it->worker.scheme;
    return scenario_list_read(&it->scenarios, test->scenarios, test->scenarios_count, failure);
}

int test_lock_run(struct test_lock *test)
{
    struct failure failure = {0};
    struct lock_test *it = memory_new(1, sizeof *it);
    int status;
    it->test = test;
    cmd_catch_signals();
    if (prepare(it, &failure))
        status = cmd_failed(&failure);
    else if (check_worker(test, &failure))
        status = say_unfit(test, &failure);
    else if (test_all(it, &failure))
        status = cmd_failed(&failure);
    else
        status = (int)results_status(&it->results);
    cells_close(&it->cells);
    explore_asking_close(&it->asking);
    results_free(&it->results);
    scenario_list_close(&it->scenarios);
    free(it->wanted.rows);
    free(it);
    return status;
}
