/* check.c - `picklock check`: judges a history file. */
#include "cmd/charset.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/source_args.h"

#include "base/infile.h"
#include "base/units.h"
#include "base/version.h"
#include "history/follow.h"
#include "report/report.h"
#include "run/judge_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char cmd_check_help[] =
    "\n"
    "  --scheme FILE.so       load the scheme of the history, if it came from a file: then its\n"
    "                         promises are judged, too\n"
    "  --lease TIME           judge by this lease, not by the one in the file\n"
    SOURCE_HELP
    FAIL_ON_HELP("bug")
    "  --json FILE            write results as JSON; - is stdout, where nothing else stands then\n"
    "  --follow               the history is still being written: say what is violated as soon as\n"
    "                         it is, and end at the history's end line, at SIGINT or SIGTERM, or\n"
    "                         where no more can come (2 then, unless something is violated)\n"
    "  --timeline             print a space-time diagram below the summary\n"
    "\n"
    "HISTORY is a file, or - for stdin.\n";
/* clang-format on */

static enum fail print_timeline(const char *path, const struct results *results,
                                struct failure *failure)
{
    int64_t first_index = report_first_index(&results->rows[0]);
    putchar('\n');
    return report_timeline(stdout, path, first_index, charset_of_locale(), failure);
}

/* --- a history that is still written --- */

struct shown {
    FILE *out;
    unsigned violated; /* bit enum property */
};

static void show(void *context, const struct checks *checks)
{
    struct shown *shown = context;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const enum property property = (enum property)i;
        const struct finding *found = checks_violation(checks, property);
        const unsigned bit = 1u << i;
        if (!found == !(shown->violated & bit))
            continue;
        shown->violated ^= bit;
        if (found)
            (void)fprintf(shown->out, "so far: %s is violated at event %" PRId64 ": %s\n",
                          property_name(property), found->first_index, cause_name(found->cause));
        else
            (void)fprintf(shown->out, "so far: %s is not violated after all\n",
                          property_name(property));
    }
    (void)fflush(shown->out); /* what cannot be written is told by the summary */
}

/* --scheme names the one that the history is of. */
struct named_schemes {
    const struct scheme_list *schemes;
    const char *path;
};

static enum fail accept(void *context, const struct history_head *head, struct failure *failure)
{
    const struct named_schemes *wanted = context;
    return scheme_list_has(wanted->schemes, head->scheme, wanted->path, failure);
}

static enum fail judge(const char *path, const struct scheme_list *asked,
                       const struct source_options *source, int64_t lease_us, enum fail_on fail_on,
                       struct shown *shown, struct results *results, struct failure *failure)
{
    struct named_schemes wanted = {.schemes = asked, .path = path};
    struct history_judged judged;
    enum fail fail = judge_history(&(struct history_judging){.path = path,
                                                             .source = *source,
                                                             .lease_us = lease_us,
                                                             .fail_on = fail_on,
                                                             .accept = accept,
                                                             .context = &wanted,
                                                             .caught_up = show,
                                                             .shown = shown},
                                   results, &judged, failure);
    free(judged.gap);
    return fail;
}

int cmd_check(int argc, char **argv)
{
    struct failure failure = {0};
    struct results results = {.picklock = PICKLOCK_VERSION, .command = "check"};
    struct scheme_list wanted = {0};
    struct source_args source_args = {0};
    struct source_options source = {0};
    const char *json = NULL, *fail_on_text = NULL, *scheme = NULL;
    enum fail_on fail_on = FAIL_ON_UNSAID;
    int64_t lease_us = 0;
    int operands, wants_timeline = 0, follows = 0;
    const struct option_row rows[] = {OPTION_TEXT("--scheme", &scheme),
                                      OPTION_DURATION("--lease", &lease_us, 1, DAY_US),
                                      SOURCE_ROWS(source_args),
                                      OPTION_TEXT("--fail-on", &fail_on_text),
                                      OPTION_TEXT("--json", &json),
                                      OPTION_FLAG("--follow", &follows),
                                      OPTION_FLAG("--timeline", &wants_timeline)};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure))
        return cmd_failed(&failure);
    if (operands != 1)
        return cmd_refuse("check wants one history file");
    const char *path = source_path(argv[1]);
    source_args.lease_us = lease_us;
    if (source_args_read(&source_args, &source, &failure))
        return cmd_failed(&failure);
    source.jepsen.is_judged = true;
    if (wants_timeline && source.format != SOURCE_OURS)
        return cmd_refuse(
            "--timeline draws histories of ours; see `picklock convert --to perfetto`");
    if (fail_on_read(fail_on_text, &fail_on, &failure) ||
        scheme_list_read(scheme, &wanted, &failure))
        return cmd_failed(&failure);
    if (wants_timeline && json && !strcmp(json, "-"))
        return cmd_refuse("--timeline and --json - both want stdout");
    if (wants_timeline && infile_is_pipe(path))
        return cmd_refuse("%s: --timeline reads the history twice, and a pipe can be read once",
                          path);
    if (follows && wants_timeline)
        return cmd_refuse("--timeline draws a history that is whole: it and --follow exclude each "
                          "other");
    if (follows && source.format != SOURCE_OURS)
        return cmd_refuse("--follow reads histories of ours: one of Jepsen's is read twice");
    if (places_clear(&(struct result_place){.option = "--json", .path = json}, 1,
                     &(struct inputs){argv + 1, 1, {scheme}}, &failure))
        return cmd_failed(&failure);
    struct follow follow = {.stop = &cmd_stop};
    struct shown shown = {.out = json && !strcmp(json, "-") ? stderr : stdout};
    if (follows) {
        cmd_catch_signals();
        source.follow = &follow;
    }
    enum fail fail = judge(path, &wanted, &source, lease_us, fail_on, &shown, &results, &failure);
    if (!fail && json)
        fail = report_write(FORMAT_JSON, json, &results, NULL, &failure);
    if (!fail && (!json || strcmp(json, "-") != 0))
        report_terminal(stdout, &results, output_has_colours());
    if (!fail && wants_timeline)
        fail = print_timeline(path, &results, &failure);
    int status = fail ? cmd_failed(&failure) : (int)results_status(&results);
    results_free(&results);
    free(wanted.rows);
    return status;
}
