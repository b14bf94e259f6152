/* main.c - picks the subcommand. The only file that knows main(). */
#include "cmd/cmd.h"

#include "base/suggest.h"
#include "base/version.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*function)(int argc, char **argv);
    const char *usage, *words;
} cmds[] = {
#define CMD(name, function, usage, words) {name, function, usage, words},
#include "cmd/cmds.def"
#undef CMD
};
enum { CMDS_COUNT = sizeof cmds / sizeof cmds[0] };

volatile int cmd_stop;

static void on_signal(int number)
{
    (void)number;
    if (cmd_stop)
        _exit(130);
    cmd_stop = 1;
}

void cmd_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int cmd_failed(const struct failure *failure)
{
    fflush(stdout);
    fprintf(stderr, "picklock: %s\n", failure->text);
    return (int)failure->code;
}

int cmd_help(const char *name, const char *options)
{
    for (int i = 0; i < CMDS_COUNT; i++)
        if (!strcmp(cmds[i].name, name))
            printf("usage: picklock %s %s\n\n%s\n%s", name, cmds[i].usage, cmds[i].words, options);
    return FAIL_NONE;
}

static int overview(FILE *out, int status)
{
    fprintf(out, "usage: picklock COMMAND ...\n\n"
                 "Tries to break a Redis lock before production does.\n\n");
    for (int i = 0; i < CMDS_COUNT; i++)
        fprintf(out, "  %-8s %s\n", cmds[i].name, cmds[i].words);
    fprintf(out,
            "\n`picklock COMMAND --help` tells the options of one.\n"
            "Exit status: 0 as expected, 1 not as expected, 2 unknown, 64 usage or bad input,\n"
            "69 a needed server is unavailable, 70 internal error.\n");
    return status;
}

int main(int argc, char **argv)
{
    const char *names[CMDS_COUNT];
    if (argc < 2)
        return overview(stderr, FAIL_INPUT);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return overview(stdout, FAIL_NONE);
    if (!strcmp(argv[1], "--version")) {
        printf("picklock %s\n", PICKLOCK_VERSION);
        return FAIL_NONE;
    }
    for (int i = 0; i < CMDS_COUNT; i++) {
        names[i] = cmds[i].name;
        if (!strcmp(argv[1], cmds[i].name))
            return cmds[i].function(argc - 1, argv + 1);
    }
    const char *near = suggest_nearest(argv[1], names, CMDS_COUNT);
    fprintf(stderr, "picklock: unknown command '%s'%s%s%s\n", argv[1],
            near ? "; did you mean '" : "; --help lists them", near ? near : "", near ? "'?" : "");
    return FAIL_INPUT;
}
