/* test.c - `picklock test`: somebody's lock, as it is. */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include "report/text.h"
#include "worker/once.h"

#include <stdio.h>
#include "base/limits.h"
#include <stdlib.h>

static const char help[] =
    "\n"
    "  COMMAND                starts a worker: 'python3 my_lock.py', one process a client, which "
    "is\n"
    "                         told what to do in JSON lines (sim/docs/WORKERS.md)\n"
    "  --once                 one clean hand-over between two workers on a real redis-server, "
    "with\n"
    "                         every command, reply and clock read: for writing a worker\n"
    "  --lease TIME           of the lock; default 10s (no time is waited for)\n"
    "  --servers N            servers that the lock is given; default 1\n"
    "  --redis-server PATH    that program, instead of redis-server on the PATH\n"
    "  --seed N               of what the workers take for random; default 1\n";

static void print_line(void *context, const char *line)
{
    char *clean = text_clean(line);
    (void)context;
    printf("%s\n", clean);
    fflush(stdout);
    free(clean);
}

int cmd_test(int argc, char **argv)
{
    struct failure failure = {0};
    int64_t lease_us = 10000000, servers = 1, seed = 1;
    const char *redis_server = NULL;
    int operands, wants_help = 0, wants_once = 0;
    const struct option_row rows[] = {
        {"--once", OPTION_FLAG, &wants_once, 0, 0},
        {"--lease", OPTION_DURATION, &lease_us, 1000, (int64_t)3600000000 * 24},
        {"--servers", OPTION_NUMBER, &servers, 1, SERVERS_MAX},
        {"--redis-server", OPTION_TEXT, &redis_server, 0, 0},
        {"--seed", OPTION_NUMBER, &seed, 0, INT64_MAX},
    };
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &wants_help,
                      &failure))
        return cmd_failed(&failure);
    if (wants_help)
        return cmd_help("test", help);
    if (operands != 1) {
        failure_set(&failure, FAIL_INPUT,
                    "test wants one command, in quotes: 'python3 my_lock.py'");
        return cmd_failed(&failure);
    }
    if (!wants_once) {
        failure_set(&failure, FAIL_INPUT,
                    "test wants --once; `picklock run --worker COMMAND` plays the scenarios");
        return cmd_failed(&failure);
    }
    const struct once_options options = {.command = argv[1],
                                         .redis_server = redis_server,
                                         .lease_us = lease_us,
                                         .servers = (int)servers,
                                         .seed = (uint64_t)seed,
                                         .line = print_line};
    if (once_run(&options, &failure))
        return cmd_failed(&failure);
    printf("\nA clean hand-over: as expected.\n");
    return FAIL_NONE;
}
