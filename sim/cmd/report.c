/* report.c - `picklock report`: a run folder again, in another format. */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include "base/memory.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
    "\n"
    "  --html FILE, --junit FILE, --markdown FILE, --json FILE   where to write; - is stdout\n"
    "  none of them: the summary, on the terminal\n";

int cmd_report(int argc, char **argv)
{
    struct failure failure = {0};
    struct results results = {0};
    const char *html = NULL, *junit = NULL, *markdown = NULL, *json = NULL;
    int operands, wants_help = 0;
    const struct option_row rows[] = {{"--html", OPTION_TEXT, &html, 0, 0},
                                      {"--junit", OPTION_TEXT, &junit, 0, 0},
                                      {"--markdown", OPTION_TEXT, &markdown, 0, 0},
                                      {"--json", OPTION_TEXT, &json, 0, 0}};
    if (options_parse(argc, argv, rows, 4, &operands, &wants_help, &failure))
        return cmd_failed(&failure);
    if (wants_help)
        return cmd_help("report", help);
    if (operands != 1) {
        failure_set(&failure, FAIL_INPUT,
                    "report wants one run folder, such as reports/runs/latest");
        return cmd_failed(&failure);
    }
    char *path = memory_format("%s/results.json", argv[1]);
    enum fail fail = report_read(path, &results, &failure);
    if (!fail && html)
        fail = report_html(html, &results, argv[1], &failure);
    if (!fail && junit)
        fail = report_junit(junit, &results, &failure);
    if (!fail && markdown)
        fail = report_markdown(markdown, &results, &failure);
    if (!fail && json)
        fail = report_json(json, &results, &failure);
    if (!fail && !html && !junit && !markdown && !json)
        report_terminal(stdout, &results, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"));
    free(path);
    results_free(&results);
    return fail ? cmd_failed(&failure) : FAIL_NONE;
}
