/* check.c - `picklock check`: judges a history file. */
#include "cmd/charset.h"
#include "cmd/cmd.h"
#include "cmd/output.h"

#include "base/infile.h"
#include "base/memory.h"
#include "base/version.h"
#include "history/history.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char cmd_check_help[] =
    "\n"
    "  --scheme FILE.so       load the scheme of the history, if it came from a file: then its\n"
    "                         promises are judged, too\n"
    "  --lease TIME           judge by this lease, not by the one in the file\n"
    FAIL_ON_HELP("bug")
    "  --json FILE            write results as JSON; - is stdout, and nothing else is printed there\n"
    "  --timeline             print a space-time diagram below the summary\n";
/* clang-format on */

static enum fail print_timeline(const char *path, const struct results *results,
                                struct failure *failure)
{
    int64_t first_index = report_first_index(&results->rows[0]);
    putchar('\n');
    return report_timeline(stdout, path, first_index, charset_of_locale(), failure);
}

/* Of a scheme that no table knows only its name is known; a foreign program is its own lock. */
static void name_row(struct result_row *row, const struct history_head *head)
{
    const struct scheme *scheme = scheme_named(head->scheme);
    const struct scheme foreign = {.name = head->scheme[0]    ? head->scheme
                                           : head->program[0] ? head->program
                                                              : "foreign"};
    result_name_row(row, head->scenario, scheme ? scheme : &foreign);
    row->worker = *head->program ? memory_text(head->program) : NULL;
}

static enum fail judge(const char *path, const struct scheme_list *wanted, int64_t lease_us,
                       enum fail_on fail_on, struct results *results, struct failure *failure)
{
    struct history_reader *reader;
    struct history_head head;
    struct event event;
    bool is_end = false, is_inferred = false;
    int64_t last_us = 0;
    enum fail fail = history_reader_new(&reader, path, &head, failure);
    if (fail)
        return fail;
    if (scheme_list_has(wanted, head.scheme, path, failure)) {
        history_reader_free(reader);
        return failure->code;
    }
    if (lease_us)
        head.lease_us = lease_us;
    struct checks *checks = checks_new(&head);
    while (!(fail = history_reader_next(reader, &event, &is_end, failure)) && !is_end) {
        checks_event(checks, &event);
        last_us = event.time_us;
        is_inferred |= event.is_inferred;
    }
    if (!fail) {
        struct finding findings[PROPERTY_COUNT];
        struct result_row *row = results_add(results);
        struct counters counters;
        checks_finish(checks, last_us, findings, &counters);
        bool is_stress = strcmp(head.scenario, "stress") == 0;
        name_row(row, &head);
        row->is_inferred = is_inferred;
        snprintf(results->world, sizeof results->world, "%s", head.world);
        snprintf(results->server_version, sizeof results->server_version, "%s",
                 head.server_version);
        results->seed = head.seed;
        fail_on = fail_on_for(fail_on, scheme_named(head.scheme), FAIL_ON_BUG);
        result_judge(
            row, findings,
            &(struct judging){.fail_on = fail_on,
                              .tells_all = head.has_promises,
                              .vacuity = is_stress ? result_vacuity(&counters, false) : NULL});
    }
    checks_free(checks);
    history_reader_free(reader);
    return fail;
}

int cmd_check(int argc, char **argv)
{
    struct failure failure = {0};
    struct results results = {.picklock = PICKLOCK_VERSION, .command = "check"};
    struct scheme_list wanted = {0};
    const char *json = NULL, *fail_on_text = NULL, *scheme = NULL;
    enum fail_on fail_on = FAIL_ON_UNSAID;
    int64_t lease_us = 0;
    int operands, wants_timeline = 0;
    const struct option_row rows[] = {
        {"--scheme", OPTION_TEXT, &scheme, 0, 0},
        {"--lease", OPTION_DURATION, &lease_us, 1, (int64_t)3600000000 * 24},
        {"--fail-on", OPTION_TEXT, &fail_on_text, 0, 0},
        {"--json", OPTION_TEXT, &json, 0, 0},
        {"--timeline", OPTION_FLAG, &wants_timeline, 0, 0}};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure))
        return cmd_failed(&failure);
    if (operands != 1)
        return cmd_refuse("check wants one history file");
    if (fail_on_read(fail_on_text, &fail_on, &failure) ||
        scheme_list_read(scheme, &wanted, &failure))
        return cmd_failed(&failure);
    if (wants_timeline && json && !strcmp(json, "-"))
        return cmd_refuse("--timeline and --json - both want stdout");
    if (wants_timeline && infile_is_pipe(argv[1]))
        return cmd_refuse("%s: --timeline reads the history twice, and a pipe can be read once",
                          argv[1]);
    enum fail fail = judge(argv[1], &wanted, lease_us, fail_on, &results, &failure);
    if (!fail && json)
        fail = report_write(FORMAT_JSON, json, &results, NULL, &failure);
    if (!fail && (!json || strcmp(json, "-") != 0))
        report_terminal(stdout, &results, output_has_colours());
    if (!fail && wants_timeline)
        fail = print_timeline(argv[1], &results, &failure);
    int status = fail ? cmd_failed(&failure) : (int)results_status(&results);
    results_free(&results);
    free(wanted.rows);
    return status;
}
