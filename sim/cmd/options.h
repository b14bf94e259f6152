/* options.h - options of a subcommand, from one table: "--name VALUE", "--name=VALUE", flags, and
 * operands. */
#ifndef PICKLOCK_CMD_OPTIONS_H
#define PICKLOCK_CMD_OPTIONS_H

#include "base/fail.h"
#include "report/formats.h"

#include <stdint.h>

enum option_kind {
    OPTION_FLAG,     /* int *: 1 when given */
    OPTION_TEXT,     /* const char **: as given, borrowed from argv */
    OPTION_NUMBER,   /* int64_t *: in least .. most */
    OPTION_DURATION, /* int64_t *: us, in least .. most */
    OPTION_LENGTHS,  /* struct distribution *: us, each in 0 .. most (base/distribution.h) */
    OPTION_RATE,     /* uint32_t *: parts per million, given as "1%", "0.05%" */
};

struct option_row {
    const char *name; /* "--clients" */
    enum option_kind kind;
    void *target;
    int64_t least, most; /* NUMBER, DURATION, LENGTHS; both 0: any */
};

/* Fills the targets and moves the operands to the front of argv[1..]; *operands is how many. "--"
 * ends the options. FAIL_INPUT: unknown option (did you mean), value missing or out of range. */
enum fail options_parse(int argc, char **argv, const struct option_row *rows, int count,
                        int *operands, struct failure *failure);

/* clang-format off */
/* Of every command that judges (run/fail_on.h). */
#define FAIL_ON_HELP(default_is) \
    "  --fail-on WHOSE        where nothing is expected, exit with 1 for a violation that is\n"    \
    "                         the fault of: scheme, deployment, bug (one of these two), any\n"     \
    "                         (also nobody's), never (default " default_is ";\n"                   \
    "                         for a worker or a scheme from a file: scheme)\n"

/* Of every command that starts servers, or uses one that is there. */
#define SERVER_HELP \
    "  --redis URL, --redis-server PATH   as for `picklock run`\n"

/* Of every command that makes reports. */
#define REPORT_HELP \
    "also write a report to FILE (- is stdout, and nothing else is printed there):\n" \
    FORMATS(FORMAT_HELP, )

/* Of every command that judges, and makes reports. */
#define BASELINE_HELP \
    "  --baseline FILE        the violations that FILE lists are known and pass; new ones fail\n"  \
    "  --update-baseline      write FILE: what fails now is known from then on\n" \
    "  --progress HOW         how far it is, on stderr: words (default), none, or json: nothing\n" \
    "                         but lines of JSON there, messages too\n"

/* Of every command that always makes a run folder. */
#define OUTPUT_HELP \
    "  --out DIR              make the run folder in DIR (default reports/runs)\n" \
    BASELINE_HELP REPORT_HELP
/* clang-format on */

#endif
