/* report.c - `picklock report`: run folders again, as one report, in another format. */
#include "cmd/charset.h"
#include "cmd/cmd.h"
#include "cmd/output.h"

#include "report/merge.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char cmd_report_help[] =
    "\n"
    "write a format to FILE (- is stdout; none: a summary on the terminal):\n" FORMATS(FORMAT_HELP, )
    "  --timeline             print a space-time diagram of each run with a violation\n"
    "  --scenario NAME        with --timeline: only this scenario, or these faults of explore\n"
    "  --scheme NAME          with --timeline: only this scheme\n"
    "\n"
    "Several folders are merged into one report. The parts of one campaign (--shard of run, stress\n"
    "and explore) become the whole; if one is missing, the report says so and the exit status is 2.\n"
    "What another command, version, seed or server made is numbered separately. The same result\n"
    "twice counts once; two results that should be the same and differ are refused.\n";
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

static bool has_file(const struct output *output)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (output->files[i])
            return true;
    return false;
}

int cmd_report(int argc, char **argv)
{
    struct failure failure = {0};
    struct results results = {0};
    struct output output = {0};
    struct timeline_choice choice = {0};
    int operands;
    const struct option_row rows[] = {OUTPUT_FORMAT_ROWS(output) TIMELINE_ROW(output),
                                      {"--scenario", OPTION_TEXT, &choice.scenario, 0, 0},
                                      {"--scheme", OPTION_TEXT, &choice.scheme, 0, 0}};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure))
        return cmd_failed(&failure);
    if (operands < 1)
        return cmd_refuse("report wants one run folder or more, such as reports/runs/latest");
    if ((choice.scenario || choice.scheme) && !output.wants_timeline)
        return cmd_refuse("--scenario and --scheme go with --timeline");
    if (output_check(&output, &failure))
        return cmd_failed(&failure);
    choice.run_folder = argv[1];
    enum fail fail = report_merge(argv + 1, operands, &results, &failure);
    if (!fail)
        fail = output_write_files(&output, &results, operands == 1 ? argv[1] : NULL, &failure);
    if (!fail && output.wants_timeline)
        fail = print_timelines(&results, &choice, &failure);
    if (!fail && !has_file(&output) && !output.wants_timeline)
        report_terminal(stdout, &results, output_has_colours());
    enum fail status = fail ? (enum fail)cmd_failed(&failure) : results_status(&results);
    results_free(&results);
    return (int)status;
}
