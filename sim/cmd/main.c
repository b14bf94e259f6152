/* main.c - picks the subcommand. The only file that knows main(). */
#include "cmd/cmd.h"
#include "cmd/foreign_code.h"
#include "cmd/heartbeat.h"
#include "cmd/help_text.h"
#include "cmd/options.h"
#include "cmd/secrets.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/suggest.h"
#include "base/version.h"
#include "live/process.h"
#include "report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const struct cmd_row cmd_rows[] = {
#define CMD(name, function, usage, words) {name, function, usage, words, function##_help},
#include "cmd/cmds.def"
#undef CMD
};
enum { CMDS_COUNT = sizeof cmd_rows / sizeof cmd_rows[0] };
const int cmd_rows_count = CMDS_COUNT;

/* clang-format off */
const char cmd_statuses[] =
    "  0    as expected\n"
    "  1    not as expected\n"
    "  2    unknown: nothing was concluded\n"
    "  64   wrong usage or bad input\n"
    "  69   a needed server or program is unavailable\n"
    "  70   internal error\n";
/* clang-format on */

volatile int cmd_stop;
struct cmd_line cmd_line;

/* timeout(1) sends its signal to the process and to its group, a shutdown sends SIGTERM and SIGHUP:
 * what comes together is one. */
enum { ONE_SIGNAL_US = 300000 };

static int64_t stopped_us;

static void on_signal(int number)
{
    if (cmd_stop && monotonic_us() - stopped_us > ONE_SIGNAL_US)
        _exit(128 + number);
    if (cmd_stop)
        return;
    stopped_us = monotonic_us();
    cmd_stop = number;
    foreign_code_hurry();
}

void cmd_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, old;
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGHUP);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup(1) */
        sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    process_heed(&cmd_stop);
}

const char *cmd_stop_name(void)
{
    return cmd_stop == SIGINT ? "SIGINT" : cmd_stop == SIGTERM ? "SIGTERM" : "SIGHUP";
}

void cmd_say(const char *format, ...)
{
    char *words = NULL;
    va_list values;
    va_start(values, format);
    int size = vasprintf(&words, format, values);
    va_end(values);
    char *clean = text_clean(size < 0 ? format : words);
    heartbeat_message("picklock: ", clean);
    free(clean);
    if (size >= 0)
        free(words);
}

int cmd_failed(const struct failure *failure)
{
    fflush(stdout);
    cmd_say("%s", failure->text);
    return (int)failure->code;
}

int cmd_refuse(const char *format, ...)
{
    struct failure failure = {.code = FAIL_INPUT};
    va_list values;
    va_start(values, format);
    (void)vsnprintf(failure.text, sizeof failure.text, format, values);
    va_end(values);
    return cmd_failed(&failure);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
    return false;
}

static int overview(FILE *out, int status)
{
    char *text = NULL;
    size_t size;
    FILE *made = open_memstream(&text, &size);
    if (!made)
        return FAIL_INTERNAL;
    fprintf(made, "usage: picklock COMMAND ...\n\n"
                  "Tries to break a Redis lock before production does.\n\n");
    for (int i = 0; i < CMDS_COUNT; i++)
        fprintf(made, "  %-10s  %s\n", cmd_rows[i].name, cmd_rows[i].words);
    fprintf(made,
            "\n`picklock help COMMAND` lists the options of a command, `picklock --version` says\n"
            "which picklock this is. Exit status:\n%s",
            cmd_statuses);
    (void)fclose(made);
    help_text_print(out, text);
    free(text);
    return status;
}

const struct cmd_row *cmd_row_named(const char *name)
{
    const char *names[CMDS_COUNT];
    char suggestion[SUGGEST_BYTES];
    for (int i = 0; i < CMDS_COUNT; i++) {
        names[i] = cmd_rows[i].name;
        if (!strcmp(names[i], name))
            return &cmd_rows[i];
    }
    cmd_say(
        "unknown command '%s'%s", name,
        suggest_words(suggest_nearest(name, names, CMDS_COUNT), "; --help lists them", suggestion));
    return NULL;
}

static int help_of(const char *command)
{
    const struct cmd_row *row = cmd_row_named(command);
    if (!row)
        return FAIL_INPUT;
    char *text = memory_format("usage: picklock %s %s\n\n%s\n%s", row->name, row->usage, row->words,
                               row->help);
    help_text_print(stdout, text);
    free(text);
    return FAIL_NONE;
}

/* clang-format off */
const char cmd_help_help[] =
    "\n"
    "  COMMAND                whose options are listed (default: all commands, a line each)\n";
const char cmd_version_help[] = "";
/* clang-format on */

int cmd_help(int argc, char **argv)
{
    struct failure failure = {0};
    int operands;
    if (options_parse(argc, argv, NULL, 0, &operands, &failure))
        return cmd_failed(&failure);
    if (operands > 1)
        return cmd_refuse("help takes one command, not %d", operands);
    return operands ? help_of(argv[1]) : overview(stdout, FAIL_NONE);
}

int cmd_version(int argc, char **argv)
{
    struct failure failure = {0};
    int operands;
    if (options_parse(argc, argv, NULL, 0, &operands, &failure))
        return cmd_failed(&failure);
    if (operands)
        return cmd_refuse("version takes no operand, such as '%s'", argv[1]);
    printf("picklock %s\n", PICKLOCK_VERSION);
    return FAIL_NONE;
}

static int run_command(int argc, char **argv)
{
    secrets_hide(argc, argv);
    heartbeat_expect(argc, argv);
    if (argc < 2)
        return overview(stderr, FAIL_INPUT);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return cmd_help(argc - 1, argv + 1);
    if (!strcmp(argv[1], "--version"))
        return cmd_version(argc - 1, argv + 1);
    const struct cmd_row *row = cmd_row_named(argv[1]);
    if (!row)
        return FAIL_INPUT;
    if (asks_for_help(argc - 2, argv + 2))
        return help_of(argv[1]);
    cmd_line.words = memory_new((size_t)argc, sizeof *argv);
    memcpy(cmd_line.words, argv + 1, (size_t)argc * sizeof *argv);
    cmd_line.count = argc - 1;
    return row->function(argc - 1, argv + 1);
}

/* A standard stream that is closed is taken by the next file or socket that is opened, and what is
 * printed goes there. In its place comes one that refuses: stdin to be read, the others to be
 * written. */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Whatever a command came to: a result that nobody could be told is none. */
static int end(int status)
{
    bool is_lost = ferror(stdout) != 0;
    errno = 0;
    is_lost |= fclose(stdout) != 0;
    if (!is_lost)
        return status;
    cmd_say("standard output: cannot be written%s%s", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return FAIL_INTERNAL;
}

enum { STACK_KB = 512 }; /* no command needs half of it */

/* Who runs out of it dies of a signal, without a word. */
static enum fail check_stack(struct failure *failure)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_KB * 1024)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "a stack of %llu kB is too small: raise the limit (ulimit -s %d)",
                       (unsigned long long)limit.rlim_cur / 1024, STACK_KB);
}

int main(int argc, char **argv)
{
    struct failure failure;
    hold_streams();
    if (check_stack(&failure))
        return cmd_failed(&failure);
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is told like a full disk */
    if (!foreign_code_watch())
        return FAIL_INTERNAL;
    int status = end(run_command(argc, argv));
    foreign_code_is_over();
    return status;
}
