/* selftest.c - `picklock selftest`: do the engines that judge histories agree? */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "checks/selftest.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* clang-format off */
const char cmd_selftest_help[] =
    "\n"
    "  --histories N          judge so many random histories (default 100000)\n"
    "  --seed N               draw them from this seed (default: by the clock; it is printed)\n"
    "\n"
    "Small random histories of a lock, right and wrong ones, are judged by the engine that judges\n"
    "by calls and returns alone, and by trying every placement of every operation. Where the two\n"
    "differ, picklock has a defect: the history is shrunk and printed, and the status is 1.\n";
/* clang-format on */

enum { AT_ONCE = 1000 };

static int tell(const struct selftest *selftest, double seconds)
{
    char text[SELFTEST_TEXT];
    char *said = memory_format("%" PRId64 " histor%s of seed %" PRIu64 " in %.1f s: %" PRId64
                               " cannot be explained, %" PRId64 " of them were not weighed in full",
                               selftest->histories, selftest->histories == 1 ? "y" : "ies",
                               selftest->seed, seconds, selftest->contradictory, selftest->lenient);
    text_print_wrapped(stdout, said, 0, text_room(stdout));
    free(said);
    if (selftest->disagreements == 0) {
        printf("%sthe engine and the placements agree%s\n", cmd_stop ? "INTERRUPTED: " : "",
               cmd_stop ? " so far" : "");
        return cmd_stop ? FAIL_UNKNOWN : FAIL_NONE;
    }
    printf("history %" PRId64 ": the engine says that it %s be explained, the placements say that "
           "it %s. A defect of picklock. Shrunk:\n%s",
           selftest->histories - 1, selftest->engine_contradicts ? "cannot" : "can",
           selftest->engine_contradicts ? "can" : "cannot",
           selftest_print(&selftest->smallest, text));
    return FAIL_EXPECTATION;
}

int cmd_selftest(int argc, char **argv)
{
    struct failure failure = {0};
    int64_t histories = 100000, seed = 0;
    int operands;
    const struct option_row rows[] = {OPTION_NUMBER("--histories", &histories, 1, INT64_MAX),
                                      OPTION_NUMBER("--seed", &seed, 1, INT64_MAX)};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure))
        return cmd_failed(&failure);
    if (operands)
        return cmd_refuse("selftest takes no operand: '%s'", argv[1]);
    struct selftest selftest = {.seed = (uint64_t)(seed ? seed : (int64_t)time(NULL))};
    struct selftest_room *room = selftest_new();
    int64_t began_us = monotonic_us();
    cmd_catch_signals();
    while (selftest.histories < histories && !selftest.disagreements && !cmd_stop) {
        int64_t left = histories - selftest.histories;
        selftest_go(room, &selftest, left < AT_ONCE ? left : AT_ONCE);
    }
    selftest_free(room);
    return tell(&selftest, 1e-6 * (double)(monotonic_us() - began_us));
}
