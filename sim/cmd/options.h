/* options.h - options of a subcommand, from one table: "--name VALUE", "--name=VALUE", flags, and
 * operands. */
#ifndef PICKLOCK_CMD_OPTIONS_H
#define PICKLOCK_CMD_OPTIONS_H

#include "base/fail.h"
#include "report/formats.h"

#include <stdint.h>

enum option_kind { KIND_FLAG, KIND_TEXT, KIND_NUMBER, KIND_DURATION, KIND_LENGTHS, KIND_RATE };

/* A row of the table. The macros below make it: each takes a pointer to its kind of value, and the
 * compiler refuses any other. */
struct option_row {
    const char *name; /* "--clients" */
    enum option_kind kind;
    union {
        int *flag;
        const char **text;
        int64_t *number; /* a duration is one, too */
        struct distribution *lengths;
        uint32_t *rate;
    } to;
    int64_t least, most; /* both 0: any */
};

/* clang-format off */
/* FLAG: 1 when given. TEXT: as given, borrowed from argv. */
#define OPTION_FLAG(called, target) \
    {.name = (called), .kind = KIND_FLAG, .to.flag = (target)}
#define OPTION_TEXT(called, target) \
    {.name = (called), .kind = KIND_TEXT, .to.text = (target)}
#define OPTION_NUMBER(called, target, low, high) \
    {.name = (called), .kind = KIND_NUMBER, .to.number = (target), .least = (low), .most = (high)}
/* us; LENGTHS: each in 0 .. high (base/distribution.h). */
#define OPTION_DURATION(called, target, low, high) \
    {.name = (called), .kind = KIND_DURATION, .to.number = (target), .least = (low), .most = (high)}
#define OPTION_LENGTHS(called, target, high) \
    {.name = (called), .kind = KIND_LENGTHS, .to.lengths = (target), .most = (high)}
/* Parts per million, given as "1%", "0.05%". */
#define OPTION_RATE(called, target) \
    {.name = (called), .kind = KIND_RATE, .to.rate = (target)}
/* clang-format on */

/* Fills the targets and moves the operands to the front of argv[1..]; *operands is how many. "--"
 * ends the options. FAIL_INPUT: unknown option (did you mean), value missing or out of range, two
 * values for one option. */
enum fail options_parse(int argc, char **argv, const struct option_row *rows, int count,
                        int *operands, struct failure *failure);

/* clang-format off */
/* Of every command that judges (run/fail_on.h); the first: whatever it judges. */
#define FAIL_ON_HELP_ALWAYS(default_is) \
    "  --fail-on WHOSE        where nothing is expected, exit with 1 for a violation that is\n"    \
    "                         the fault of: scheme, deployment, bug (one of these two), any\n"     \
    "                         (also nobody's), never (default " default_is ")\n"
#define FAIL_ON_HELP(default_is) \
    FAIL_ON_HELP_ALWAYS(default_is ";\n" \
    "                         for a worker or a scheme from a file: scheme")

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
