/* report.c - `picklock report`: run folders again, as one report, in another format. */
#include "cmd/charset.h"
#include "cmd/cmd.h"
#include "cmd/output.h"

#include "report/merge.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
static const char help[] =
    "\n"
    "  --html FILE, --junit FILE, --markdown FILE, --json FILE\n"
    "                         write that format; - is stdout (default: a summary on the terminal)\n"
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

int cmd_report(int argc, char **argv)
{
    struct failure failure = {0};
    struct results results = {0};
    const char *html = NULL, *junit = NULL, *markdown = NULL, *json = NULL;
    struct timeline_choice choice = {0};
    int operands, wants_help = 0, wants_timeline = 0;
    const struct option_row rows[] = {{"--html", OPTION_TEXT, &html, 0, 0},
                                      {"--junit", OPTION_TEXT, &junit, 0, 0},
                                      {"--markdown", OPTION_TEXT, &markdown, 0, 0},
                                      {"--json", OPTION_TEXT, &json, 0, 0},
                                      {"--timeline", OPTION_FLAG, &wants_timeline, 0, 0},
                                      {"--scenario", OPTION_TEXT, &choice.scenario, 0, 0},
                                      {"--scheme", OPTION_TEXT, &choice.scheme, 0, 0}};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &wants_help,
                      &failure))
        return cmd_failed(&failure);
    if (wants_help)
        return cmd_help("report", help);
    if (operands < 1) {
        failure_set(&failure, FAIL_INPUT,
                    "report wants one run folder or more, such as reports/runs/latest");
        return cmd_failed(&failure);
    }
    if ((choice.scenario || choice.scheme) && !wants_timeline) {
        failure_set(&failure, FAIL_INPUT, "--scenario and --scheme go with --timeline");
        return cmd_failed(&failure);
    }
    const struct output output = {.json = json, .markdown = markdown, .junit = junit, .html = html};
    if (output_check(&output, &failure))
        return cmd_failed(&failure);
    if (wants_timeline && output_takes_stdout(&output)) {
        failure_set(&failure, FAIL_INPUT,
                    "--timeline prints on stdout: only one thing can go there");
        return cmd_failed(&failure);
    }
    choice.run_folder = argv[1];
    enum fail fail = report_merge(argv + 1, operands, &results, &failure);
    if (!fail && html)
        fail = report_html(html, &results, operands == 1 ? argv[1] : NULL, &failure);
    if (!fail && junit)
        fail = report_junit(junit, &results, &failure);
    if (!fail && markdown)
        fail = report_markdown(markdown, &results, operands == 1 ? argv[1] : NULL, &failure);
    if (!fail && json)
        fail = report_json(json, &results, &failure);
    if (!fail && wants_timeline)
        fail = print_timelines(&results, &choice, &failure);
    if (!fail && !html && !junit && !markdown && !json && !wants_timeline)
        report_terminal(stdout, &results, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"));
    enum fail status = fail ? (enum fail)cmd_failed(&failure) : results_status(&results);
    results_free(&results);
    return (int)status;
}
