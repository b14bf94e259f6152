/* cmd.h - the command line: a subcommand a file, each takes its own arguments and returns the exit
 * status.
 *
 * Subcommands parse, call a part, print; they hold no logic. Results go to stdout, progress and
 * failures to stderr. */
#ifndef PICKLOCK_CMD_CMD_H
#define PICKLOCK_CMD_CMD_H

#include "base/fail.h"

#include <stddef.h>

/* argv[0] is the subcommand's name. Returns the exit status (enum fail). Its help is asked for and
 * printed before it comes to that: a line for each option. */
#define CMD(name, function, usage, words)                                                          \
    int function(int argc, char **argv);                                                           \
    extern const char function##_help[];
#include "cmd/cmds.def"
#undef CMD

/* The subcommands, as cmds.def lists them. */
struct cmd_row {
    const char *name;
    int (*function)(int argc, char **argv);
    const char *usage, *words, *help;
};
extern const struct cmd_row cmd_rows[];
extern const int cmd_rows_count;

/* NULL: there is none of that name, and that is said (did you mean). */
const struct cmd_row *cmd_row_named(const char *name);

/* What an exit status means, a line each: the overview and the manual pages end with it. */
extern const char cmd_statuses[];

/* Prints "picklock: ..." to stderr (a line of JSON with --progress json): the one way there for
 * words that may hold what a file, a server or the command line says. Characters that would steer a
 * terminal are left out. */
void cmd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "picklock: text" to stderr and returns the exit status of the failure (borrowed). */
int cmd_failed(const struct failure *failure);

/* What was called, from the subcommand's name on: as it was given, but for secrets. */
extern struct cmd_line {
    int count;
    char **words;
} cmd_line;

/* Says what is wrong with the command line; returns that exit status. */
int cmd_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The number of the signal, when SIGINT, SIGTERM or SIGHUP has come: end early and cleanly, report
 * what was seen. A second one ends at once. */
extern volatile int cmd_stop;
void cmd_catch_signals(void);

/* "SIGINT", when cmd_stop is set. */
const char *cmd_stop_name(void);

#endif
