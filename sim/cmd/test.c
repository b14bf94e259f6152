/* test.c - `picklock test`: somebody's lock, as it is. */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include "base/limits.h"
#include "report/text.h"
#include "worker/once.h"
#include "worker/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Of a line of once.h: where its words begin. */
enum { WORDS_COLUMN = 14, COLUMNS_MIN = 40 };

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
    "  --seed N               of what the workers take for random; default 1\n"
    "  --patience TIME        real time that a worker may take to come to rest; default 20s\n";

/* Of the terminal; 0: it is none, and lines stay whole. */
static int columns_of_terminal(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
        size.ws_col < COLUMNS_MIN)
        return 0;
    return size.ws_col;
}

/* How many bytes fit: up to a blank, where there is one behind column `from`. */
static size_t fitting(const char *text, int columns, size_t from)
{
    size_t used = 0, blank = 0;
    for (int column = 0; text[used] && column <= columns; column++) {
        if (text[used] == ' ' && used > from)
            blank = used;
        if (column == columns)
            return blank ? blank : used;
        used++;
        while (((unsigned char)text[used] & 0xC0) == 0x80) /* of the same character */
            used++;
    }
    return used;
}

static void print_line(void *context, const char *line)
{
    const int columns = *(const int *)context;
    char *clean = text_clean(line);
    const char *rest = clean;
    size_t size = columns ? fitting(rest, columns, WORDS_COLUMN) : strlen(rest);
    printf("%.*s\n", (int)size, rest);
    for (rest += size; *rest; rest += size) {
        rest += *rest == ' ';
        size = fitting(rest, columns - WORDS_COLUMN, 0);
        printf("%*s%.*s\n", WORDS_COLUMN, "", (int)size, rest);
    }
    fflush(stdout);
    free(clean);
}

int cmd_test(int argc, char **argv)
{
    struct failure failure = {0};
    int64_t lease_us = 10000000, patience_us = SESSION_PATIENCE_US, servers = 1, seed = 1;
    const char *redis_server = NULL;
    int operands, wants_help = 0, wants_once = 0;
    const struct option_row rows[] = {
        {"--once", OPTION_FLAG, &wants_once, 0, 0},
        {"--lease", OPTION_DURATION, &lease_us, 1000, (int64_t)3600000000 * 24},
        {"--servers", OPTION_NUMBER, &servers, 1, SERVERS_MAX},
        {"--redis-server", OPTION_TEXT, &redis_server, 0, 0},
        {"--seed", OPTION_NUMBER, &seed, 0, INT64_MAX},
        {"--patience", OPTION_DURATION, &patience_us, 100000, INT64_C(3600000000)},
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
    int columns = columns_of_terminal();
    cmd_catch_signals();
    const struct once_options options = {.command = argv[1],
                                         .redis_server = redis_server,
                                         .lease_us = lease_us,
                                         .servers = (int)servers,
                                         .seed = (uint64_t)seed,
                                         .patience_us = patience_us,
                                         .stop = &cmd_stop,
                                         .line = print_line,
                                         .context = &columns};
    if (once_run(&options, &failure))
        return cmd_failed(&failure);
    printf("\nA clean hand-over: as expected.\n");
    return FAIL_NONE;
}
