/* report.c - `picklock report`: run folders again, as one report, in another format. */
#include "cmd/charset.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/test_conclusion.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/conclusion.h"
#include "report/diff.h"
#include "report/merge.h"
#include "report/report.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char cmd_report_help[] =
    "\n"
    "write a format to FILE (- is stdout; none: a summary on the terminal):\n"
    FORMATS(FORMAT_HELP, )
    "  --timeline             print a space-time diagram of each run with a violation\n"
    "  --scenario NAME        with --timeline: only this scenario, or these faults of explore\n"
    "  --scheme NAME          with --timeline: only this scheme\n"
    "  --diff OLD             say what is different from the run folder OLD; reports say it, too.\n"
    "                         Status 1: a new violation that counts as a failure; 2: something is\n"
    "                         not decided any more; else 0\n"
    "\n"
    "Several folders are merged into one report. The parts of one campaign (--shard of run,\n"
    "stress and explore) become the whole; if one is missing, the report says so and the exit\n"
    "status is 2. What another command, version, seed or server made is numbered separately. The\n"
    "same result twice counts once; two results that should be the same and differ are refused.\n";
/* clang-format on */

static enum fail print_timelines(const struct results *results,
                                 const struct timeline_choice *choice, struct failure *failure)
{
    int count;
    enum fail fail =
        report_timelines(stdout, results, choice, charset_of_locale(), &count, failure);
    if (!fail && !count)
        return failure_set(failure, FAIL_INPUT, "no violated run%s%s%s%s has a history in %s",
                           choice->scenario ? " of " : "", choice->scenario ? choice->scenario : "",
                           choice->scheme ? " with " : "", choice->scheme ? choice->scheme : "",
                           choice->run_folder);
    return fail;
}

static void print_diff(const struct diff *diff)
{
    char *head =
        memory_format("Compared with %s: %d run%s or cell%s%s", diff->name, diff->compared,
                      units_plural(diff->compared), units_plural(diff->compared),
                      diff->compared == 0 ? ": they share none, so nothing new or gone is known"
                      : diff->count       ? ""
                                          : ", all the same");
    text_print_wrapped(stdout, head, 0, text_room(stdout));
    free(head);
    for (int i = 0; i < diff->count; i++) {
        const struct diff_change *change = &diff->changes[i];
        if (i == 0 || change->kind != diff->changes[i - 1].kind)
            printf("\n%s\n", diff_title(change->kind));
        text_print_hanging(stdout, change->words, 2, 4);
    }
}

/* Compares with the run folder old; *then and *diff are kept for the reports: results_free(),
 * diff_free(), whatever comes back. */
static enum fail compare(char *old, struct results *then, struct diff *diff, bool is_told,
                         struct results *results, struct failure *failure)
{
    if (report_merge(&old, 1, then, failure))
        return failure->code;
    *diff = diff_results(old, then, results);
    if (is_told)
        print_diff(diff);
    diff_note(diff, results);
    return FAIL_NONE;
}

static bool has_file(const struct output *output)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (output->files[i])
            return true;
    return false;
}

/* A result that is read is not written over. */
static enum fail check_output(const struct output *output, char *const *folders, int count,
                              const char *old, struct failure *failure)
{
    char **paths = memory_new((size_t)count + 1, sizeof *paths);
    struct inputs inputs = {.paths = paths};
    for (int i = 0; i < count; i++)
        paths[inputs.count++] = memory_format("%s/%s", folders[i], report_file(FORMAT_JSON));
    if (old)
        paths[inputs.count++] = memory_format("%s/%s", old, report_file(FORMAT_JSON));
    const enum fail fail = output_check(output, NULL, &inputs, failure);
    while (inputs.count > 0)
        free(paths[--inputs.count]);
    free(paths);
    return fail;
}

/* Of a test it is what that ended with. */
static enum fail print_summary(const struct results *results, const char *folder,
                               struct failure *failure)
{
    struct view view;
    view_init(&view, results);
    const bool is_test = folder && conclusion_is_told(&view);
    view_close(&view);
    if (is_test)
        return test_conclusion_print(results, folder, failure);
    report_terminal(stdout, results, output_has_colours());
    return FAIL_NONE;
}

int cmd_report(int argc, char **argv)
{
    struct failure failure = {0};
    struct results results = {0}, then = {0};
    struct diff diff = {0};
    struct output output = {0};
    struct timeline_choice choice = {0};
    const char *old = NULL;
    char *old_folder = NULL;
    int operands;
    const struct option_row rows[] = {OUTPUT_FORMAT_ROWS(output) TIMELINE_ROW(output),
                                      OPTION_TEXT("--scenario", &choice.scenario),
                                      OPTION_TEXT("--scheme", &choice.scheme),
                                      OPTION_TEXT("--diff", &old)};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure))
        return cmd_failed(&failure);
    if (operands < 1)
        return cmd_refuse("report wants one run folder or more, such as reports/runs/latest");
    if ((choice.scenario || choice.scheme) && !output.wants_timeline)
        return cmd_refuse("--scenario and --scheme go with --timeline");
    if (check_output(&output, argv + 1, operands, old, &failure))
        return cmd_failed(&failure);
    choice.run_folder = argv[1];
    enum fail fail = report_merge(argv + 1, operands, &results, &failure);
    enum fail status = fail ? fail : results_status(&results);
    if (!fail && old) {
        old_folder = memory_text(old);
        fail = compare(old_folder, &then, &diff, !output_takes_stdout(&output), &results, &failure);
        status = diff_status(&diff, &results);
        output.diff = &diff;
    }
    if (!fail)
        fail = output_write_files(&output, &results, operands == 1 ? argv[1] : NULL, &failure);
    if (!fail && output.wants_timeline)
        fail = print_timelines(&results, &choice, &failure);
    if (!fail && !has_file(&output) && !output.wants_timeline && !old)
        fail = print_summary(&results, operands == 1 ? argv[1] : NULL, &failure);
    if (fail)
        status = (enum fail)cmd_failed(&failure);
    diff_free(&diff);
    free(old_folder);
    results_free(&then);
    results_free(&results);
    return (int)status;
}
