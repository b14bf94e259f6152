/* clean.c - `picklock clean`: what earlier runs have left on a user's server. */
#include "cmd/cmd.h"

#include "base/units.h"
#include "cmd/options.h"
#include "cmd/secrets.h"

#include "live/footprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char cmd_clean_help[] =
    "\n"
    "  --redis URL            the server and database (default: $PICKLOCK_REDIS_URL)\n"
    "  --run ID               also clean up after this run, though its mark has not expired yet\n"
    "\n"
    "Removes keys named picklock:ID:N:KEY of runs that are over, and no others: never a key of a\n"
    "run that is alive, and never anybody else's. Status 2: a run may be alive, and its\n"
    "keys are kept.\n";
/* clang-format on */

static const char *words_of(const struct leftover *row)
{
    static const char *const words[] = {
        [LEFT_BY_DEAD] = "",
        [LEFT_BY_ALIVE] = "left alone: the run is alive",
        [LEFT_BY_RECENT] =
            "left alone: the run has ended within the last 30 s, or has lost its connection;\n"
            "  wait 30 s, or name it with --run",
        [LEFT_BY_UNNAMED] =
            "left alone: this user may not see whether the run is alive (CLIENT LIST,\n"
            "  CLIENT SETNAME); its mark is gone 30 s after its end: try again then",
        [LEFT_BY_FORGER] =
            "left alone: its mark was not set by a run of picklock; give that key,\n"
            "  picklock:ID:run, an expiry of 30 s (a run that is alive renews it) and try again",
    };
    return row->is_removed ? "removed" : words[row->by];
}

static enum fail clean(redisContext *control, const char *named, struct failure *failure)
{
    struct leftover *rows = NULL;
    int count = 0;
    enum fail fail = footprint_find(control, &rows, &count, failure);
    if (!fail)
        fail = footprint_remove(control, rows, count, named, failure);
    bool is_open = false;
    for (int i = 0; !fail && i < count; i++) {
        printf("run %s: %" PRId64 " key%s %s\n", rows[i].run, rows[i].keys,
               units_plural(rows[i].keys), words_of(&rows[i]));
        is_open |= !rows[i].is_removed && rows[i].by != LEFT_BY_ALIVE;
    }
    if (!fail && !count)
        printf("no run has left anything\n");
    free(rows);
    return fail ? fail : is_open ? FAIL_UNKNOWN : FAIL_NONE;
}

static enum fail check_run(const char *run, struct failure *failure)
{
    if (!run || (strlen(run) == FOOTPRINT_RUN_MAX - 1 &&
                 strspn(run, "0123456789abcdef") == FOOTPRINT_RUN_MAX - 1))
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "--run wants the 16 hexadecimal digits of a run");
}

int cmd_clean(int argc, char **argv)
{
    const char *redis = NULL, *run = NULL;
    int operands;
    struct failure failure = {0};
    struct url url;
    redisContext *control = NULL;
    const struct option_row rows[] = {OPTION_TEXT("--redis", &redis), OPTION_TEXT("--run", &run)};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure))
        return cmd_failed(&failure);
    const char *text = redis ? secrets_reveal(redis) : secrets_environment();
    if (operands)
        return cmd_refuse("clean takes no operand: '%s'", argv[1]);
    if (!text)
        return cmd_refuse("clean needs --redis URL, or $" SECRETS_VARIABLE);
    if (check_run(run, &failure) || url_read(text, &url, &failure) ||
        control_open(&control, &url, &failure))
        return cmd_failed(&failure);
    enum fail fail = clean(control, run, &failure);
    control_shut(control);
    return fail == FAIL_NONE || fail == FAIL_UNKNOWN ? (int)fail : cmd_failed(&failure);
}
