/* test.c - `picklock test`: somebody's lock, as it is. */
#include "cmd/cmd.h"
#include "cmd/scenario_runs.h"
#include "cmd/test_lock.h"

#include "base/limits.h"
#include "base/units.h"
#include "report/text.h"
#include "worker/once.h"
#include "worker/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a line of once.h: where its words begin. */
enum { WORDS_COLUMN = 14 };

enum { BUDGET_US = 120000000 };

/* clang-format off */
const char cmd_test_help[] =
    "\n"
    "  COMMAND                starts a worker: 'python3 my_lock.py', one process a client, which\n"
    "                         is told what to do in JSON lines (sim/docs/WORKERS.md). It is\n"
    "                         checked (a clean hand-over, twice the same), then tested: all\n"
    "                         scenarios that apply, then every interleaving up to a bound, by\n"
    "                         asking it once for whatever it may meet. The end is a verdict, with\n"
    "                         the shortest counterexample of the plainest fault, what to do about\n"
    "                         it, and a replay\n"
    "  SCENARIO...            only these scenarios, as of `picklock run`\n"
    "                         (default: all of scenarios/, here or else its own)\n"
    "  --budget TIME          time for the interleavings, and for replaying what they show\n"
    "                         (default 2min); what is not decided by then is unknown\n"
    "  --fault F,G            as for `picklock explore` (default: none, then each fault alone); a\n"
    "                         scenario that strikes by another one is left out, unless it was\n"
    "                         named;\n"
    "                         what asking does not decide (half-open, slow-dial,\n"
    "                         refusing-server) is run instead, in 100 random schedules: what they\n"
    "                         do not find is told as that, and is not said to be safe\n"
    "  --depends A,B          more files and folders that its answers rest on, beside those that\n"
    "                         its processes are seen to open: its answers are kept, and taken by\n"
    "                         the next run while all these are the same\n"
    "  --no-cache             keep and take none (else in PICKLOCK_CACHE, or in picklock under\n"
    "                         XDG_CACHE_HOME or ~/.cache)\n"
    "  --no-extend            do not ask it to extend among the interleavings, if it promises to:\n"
    "                         fewer executions, and that promise is not looked at there\n"
    "  --clients N            number of clients of the interleavings, 1 to 6 (default 3)\n"
    "  --rounds N             attempts of each client, 1 to 7 (default 2)\n"
    WAIT_HELP
    "  --redis-server PATH    that program, instead of redis-server on the PATH\n"
    "  --seed N               of what the workers take for random; default 1\n"
    "  --patience TIME        real time that a worker may take to come to rest, in the check and\n"
    "                         with --once; default 20s\n"
    "  --lease TIME           of the lock in the check, and with --once; default 10s (no time is\n"
    "                         waited for)\n"
    FAIL_ON_HELP_ALWAYS("scheme")
    "  --once                 instead: one clean hand-over between two workers on a real\n"
    "                         redis-server, with every command, reply and clock read: for writing\n"
    "                         a worker\n"
    "  --servers N            with --once: servers that the lock is given; default 1\n"
    OUTPUT_HELP;
/* clang-format on */

static void print_line(void *context, const char *line)
{
    const int columns = *(const int *)context;
    char *clean = text_clean(line);
    const char *rest = clean;
    size_t size = columns ? text_fitting(rest, columns, WORDS_COLUMN) : strlen(rest);
    printf("%.*s\n", (int)size, rest);
    for (rest += size; *rest; rest += size) {
        rest += *rest == ' ';
        size = text_fitting(rest, columns - WORDS_COLUMN, 0);
        printf("%*s%.*s\n", WORDS_COLUMN, "", (int)size, rest);
    }
    fflush(stdout);
    free(clean);
}

static int test_once(struct once_options *options)
{
    struct failure failure = {0}, odd_key = {0};
    int columns = text_columns(stdout);
    cmd_catch_signals();
    options->stop = &cmd_stop;
    options->line = print_line;
    options->context = &columns;
    options->odd_key = &odd_key;
    if (once_run(options, &failure))
        return cmd_failed(&failure);
    if (odd_key.code)
        return cmd_failed(&odd_key);
    printf("\nA clean hand-over: as expected.\n");
    return FAIL_NONE;
}

/* What goes with one of the two alone. */
static enum fail check(const struct test_lock *test, bool is_once, int64_t servers,
                       const struct inputs *inputs, struct failure *failure)
{
    bool has_files = test->output.out || test->output.baseline_path;
    for (int i = 0; i < FORMAT_COUNT; i++)
        has_files |= test->output.files[i] != NULL;
    const struct {
        const char *name;
        bool is_given;
    } others[] = {{"--fault", test->fault},
                  {"--clients", test->clients},
                  {"--rounds", test->rounds},
                  {"--budget", test->budget_us},
                  {"--fail-on", test->fail_on},
                  {"--depends", test->depends},
                  {"--no-cache", test->no_cache},
                  {"--no-extend", test->no_extend},
                  {"a report or a baseline", has_files}};
    if (inputs->count < 1)
        return failure_set(failure, FAIL_INPUT,
                           "test wants one command, in quotes: 'python3 my_lock.py'");
    if (is_once && inputs->count > 1)
        return failure_set(failure, FAIL_INPUT,
                           "%s is behind the command, where a scenario stands, and none goes with "
                           "--once; if it belongs to the command, quote that as one word: '%s %s'",
                           inputs->paths[1], inputs->paths[0], inputs->paths[1]);
    for (size_t i = 0; is_once && i < sizeof others / sizeof *others; i++)
        if (others[i].is_given)
            return failure_set(failure, FAIL_INPUT,
                               "%s does not go with --once: it shows one hand-over, and tests "
                               "nothing",
                               others[i].name);
    if (!is_once && servers)
        return failure_set(failure, FAIL_INPUT, "--servers goes with --once");
    return scenario_list_check(
        &test->output,
        &(struct inputs){inputs->paths + 1, inputs->count - 1, {inputs->paths[0], test->depends}},
        failure);
}

int cmd_test(int argc, char **argv)
{
    struct failure failure = {0};
    struct test_lock test = {.lease_us = 10000000, .patience_us = SESSION_PATIENCE_US, .seed = 1};
    int64_t servers = 0;
    int operands, is_once = 0;
    const struct option_row rows[] = {
        OPTION_FLAG("--once", &is_once),
        OPTION_DURATION("--lease", &test.lease_us, 1000, DAY_US),
        OPTION_DURATION("--wait", &test.wait_us, 0, WAIT_MAX_US),
        OPTION_DURATION("--patience", &test.patience_us, 100000, HOUR_US),
        OPTION_NUMBER("--servers", &servers, 1, SERVERS_MAX),
        OPTION_TEXT("--fault", &test.fault),
        OPTION_NUMBER("--clients", &test.clients, 1, EXPLORE_CLIENTS_MAX),
        OPTION_NUMBER("--rounds", &test.rounds, 1, EXPLORE_ROUNDS_MAX),
        OPTION_DURATION("--budget", &test.budget_us, 1000, DAY_US),
        OPTION_TEXT("--depends", &test.depends),
        OPTION_FLAG("--no-cache", &test.no_cache),
        OPTION_FLAG("--no-extend", &test.no_extend),
        OPTION_TEXT("--redis-server", &test.redis_server),
        OPTION_NUMBER("--seed", &test.seed, 0, INT64_MAX),
        OPTION_TEXT("--fail-on", &test.fail_on),
        OUTPUT_ROWS(test.output),
    };
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure) ||
        check(&test, is_once, servers, &(struct inputs){argv + 1, operands, {NULL}}, &failure))
        return cmd_failed(&failure);
    if (is_once) {
        struct once_options options = {.command = argv[1],
                                       .redis_server = test.redis_server,
                                       .lease_us = test.lease_us,
                                       .patience_us = test.patience_us,
                                       .servers = servers ? (int)servers : 1,
                                       .seed = (uint64_t)test.seed};
        return test_once(&options);
    }
    test.command = argv[1];
    test.scenarios = argv + 2;
    test.scenarios_count = operands - 1;
    test.budget_us = test.budget_us ? test.budget_us : BUDGET_US;
    return test_lock_run(&test);
}
