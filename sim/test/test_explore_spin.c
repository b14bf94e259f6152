/* test_explore_spin.c - a second opinion: three schemes in Promela, by hand, run by SPIN, against
 * the explorer.
 *
 * Verdicts agree, and where the model is the same step for step (lock.pml) so do the counts of
 * states. Skipped without SPIN. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/explore.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 512, COMMAND_MAX_BYTES = 2048 };

static char folder[] = P_tmpdir "/spin-of-models-XXXXXX";
static char models[1024]; /* where the .pml files are */

struct opinion {
    int errors; /* -1: SPIN said nothing */
    uint64_t states;
};

/* Runs SPIN on a model with these definitions, every state, no reduction. */
static struct opinion ask_spin(const char *model, const char *definitions)
{
    char command[COMMAND_MAX_BYTES], line[LINE_MAX_BYTES];
    struct opinion opinion = {.errors = -1};
    snprintf(command, sizeof command,
             "cd %s && spin %s -a %s/%s && cc -O1 -w -DSAFETY -DNOREDUCE -o pan pan.c && "
             "./pan -E -m200000",
             folder, definitions, models, model);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    while (fgets(line, sizeof line, out)) {
        const char *errors = strstr(line, "errors: ");
        if (errors)
            opinion.errors = atoi(errors + strlen("errors: "));
        if (strstr(line, "states, stored"))
            opinion.states = strtoull(line, NULL, 10);
    }
    assert_int_equal(pclose(out), 0);
    assert_true(opinion.errors >= 0);
    return opinion;
}

static void ask_explorer(const char *scheme, int rounds, int stalls,
                         struct explore_outcome *outcome)
{
    struct failure failure;
    struct explore_options options = {.scheme = scheme_named(scheme),
                                      .clients = 3,
                                      .rounds = rounds,
                                      .servers = 1,
                                      .reductions = 0};
    options.budget[FAULT_STALL] = (uint8_t)stalls;
    assert_int_equal(explore(&options, outcome, &failure), FAIL_NONE);
}

/* PROPERTY of the models. */
static const enum property properties[] = {
    [1] = PROPERTY_MUTUAL_EXCLUSION, [2] = PROPERTY_LEASE_EXCLUSION, [3] = PROPERTY_RELEASE_OWN,
    [4] = PROPERTY_FRESH_GRANT,      [5] = PROPERTY_NO_CRASH,
};

static void agrees(const char *model, const char *scheme, int rounds, const char *definitions,
                   int stalls, int property)
{
    char all[LINE_MAX_BYTES];
    struct explore_outcome outcome;
    snprintf(all, sizeof all, "%s -DSTALLS=%d -DPROPERTY=%d", definitions, stalls, property);
    struct opinion opinion = ask_spin(model, all);
    ask_explorer(scheme, rounds, stalls, &outcome);
    bool is_violated = outcome.findings[properties[property]].verdict == VERDICT_VIOLATED;
    if (is_violated != (opinion.errors > 0))
        fail_msg("%s, %d stalls, %s: SPIN found %d errors", scheme, stalls,
                 property_name(properties[property]), opinion.errors);
    explore_outcome_free(&outcome);
}

static void skip_without_spin(void)
{
    if (system("command -v spin >/dev/null 2>&1") != 0)
        skip();
}

static void counts_agree(void **state)
{
    (void)state;
    skip_without_spin();
    for (int cad = 0; cad <= 1; cad++)
        for (int stalls = 0; stalls <= 1; stalls++) {
            char definitions[LINE_MAX_BYTES];
            struct explore_outcome outcome;
            snprintf(definitions, sizeof definitions, "-DCAD=%d -DSTALLS=%d -DPROPERTY=0", cad,
                     stalls);
            struct opinion opinion = ask_spin("lock.pml", definitions);
            assert_int_equal(opinion.errors, 0);
            ask_explorer(cad ? "set-nx-px-cad" : "set-nx-ex-del", 2, stalls, &outcome);
            assert_int_equal(opinion.states, outcome.states);
            explore_outcome_free(&outcome);
        }
}

static void verdicts_agree(void **state)
{
    (void)state;
    skip_without_spin();
    for (int property = 1; property <= 4; property++) {
        agrees("lock.pml", "set-nx-ex-del", 2, "-DCAD=0", 1, property);
        agrees("lock.pml", "set-nx-px-cad", 2, "-DCAD=1", 1, property);
    }
}

static void verdicts_on_stamps_agree(void **state)
{
    (void)state;
    skip_without_spin();
    agrees("stamp.pml", "stamp-getset", 1, "", 0, 5);
    agrees("stamp.pml", "stamp-getset", 1, "", 0, 1);
    agrees("stamp.pml", "stamp-getset", 1, "", 1, 1);
    agrees("stamp.pml", "stamp-getset", 1, "", 1, 2);
    agrees("stamp.pml", "stamp-getset", 1, "", 1, 4);
    agrees("stamp.pml", "stamp-getset", 1, "", 2, 2);
}

static int open_folder(void **state)
{
    (void)state;
    char here[512];
    if (!mkdtemp(folder) || !getcwd(here, sizeof here))
        return -1;
    const char *end = strrchr(__FILE__, '/');
    snprintf(models, sizeof models, "%s%s%.*s", __FILE__[0] == '/' ? "" : here,
             __FILE__[0] == '/' ? "" : "/", (int)(end ? end - __FILE__ : 0), __FILE__);
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    char command[COMMAND_MAX_BYTES];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_agree),
        cmocka_unit_test(verdicts_agree),
        cmocka_unit_test(verdicts_on_stamps_agree),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
