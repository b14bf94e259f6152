/* check.c - `picklock check`: judges a history file. */
#include "cmd/charset.h"
#include "cmd/cmd.h"
#include "cmd/file_kind.h"
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
#include <sys/stat.h>

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

struct check {
    const char *scheme, *fail_on, *json; /* as they were given */
    int follows, wants_timeline;
    bool is_incomplete; /* as its head says */
    const char *path;
    struct source_options source;
    struct scheme_list schemes;
    enum fail_on fails_on;
};

static bool has_json_on_stdout(const struct check *check)
{
    return check->json && !strcmp(check->json, "-");
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

/* --- the command --- */

/* --scheme names the one that the history is of. */
static enum fail take_head(void *context, const struct history_head *head, struct failure *failure)
{
    struct check *check = context;
    check->is_incomplete = *head->incomplete != '\0';
    return scheme_list_has(&check->schemes, head->scheme, check->path, failure);
}

static enum fail judge_once(struct check *check, struct results *results, struct failure *failure)
{
    struct shown shown = {.out = has_json_on_stdout(check) ? stderr : stdout};
    struct history_judged judged;
    enum fail fail =
        judge_history(&(struct history_judging){.path = check->path,
                                                .source = check->source,
                                                .lease_us = check->source.jepsen.lease_us,
                                                .fail_on = check->fails_on,
                                                .accept = take_head,
                                                .context = check,
                                                .caught_up = show,
                                                .shown = &shown},
                      results, &judged, failure);
    free(judged.gap);
    return fail ? file_kind_hint(FILE_HISTORY, check->path, failure) : FAIL_NONE;
}

static struct results results_none(void)
{
    return (struct results){.picklock = PICKLOCK_VERSION, .command = "check"};
}

/* Its writer could not know, when it began, who would come, and what it would miss. Where nobody
 * can read it again, it stays as it is. */
static void judge_whole(struct check *check, struct results *results)
{
    struct results whole = results_none();
    struct failure unread = {0};
    struct stat state;
    check->source.follow = NULL;
    if (stat(check->path, &state) == 0 && S_ISREG(state.st_mode) &&
        !judge_once(check, &whole, &unread)) {
        results_free(results);
        *results = whole;
    } else {
        results_free(&whole);
    }
}

static enum fail judge(struct check *check, struct results *results, struct failure *failure)
{
    struct follow follow = {.stop = &cmd_stop};
    if (!check->follows)
        return judge_once(check, results, failure);
    cmd_catch_signals();
    check->source.follow = &follow;
    const enum fail fail = judge_once(check, results, failure);
    if (!fail && check->is_incomplete && !follow.ended && !cmd_stop)
        judge_whole(check, results);
    return fail;
}

static enum fail print_timeline(const char *path, const struct results *results,
                                struct failure *failure)
{
    int64_t first_index = report_first_index(&results->rows[0]);
    putchar('\n');
    return report_timeline(stdout, path, first_index, charset_of_locale(), failure);
}

static enum fail print(const struct check *check, const struct results *results,
                       struct failure *failure)
{
    if (check->json && report_write(FORMAT_JSON, check->json, results, NULL, failure))
        return failure->code;
    if (!has_json_on_stdout(check))
        report_terminal(stdout, results, output_has_colours());
    return check->wants_timeline ? print_timeline(check->path, results, failure) : FAIL_NONE;
}

/* A diagram, or a history that is still written: what excludes each of them. */
static enum fail refuse_both(const struct check *check, struct failure *failure)
{
    const bool is_ours = check->source.format == SOURCE_OURS;
    if (check->wants_timeline && !is_ours)
        return failure_set(
            failure, FAIL_INPUT,
            "--timeline draws histories of ours; see `picklock convert --to perfetto`");
    if (check->wants_timeline && has_json_on_stdout(check))
        return failure_set(failure, FAIL_INPUT, "--timeline and --json - both want stdout");
    if (check->wants_timeline && infile_is_pipe(check->path))
        return failure_set(failure, FAIL_INPUT,
                           "%s: --timeline reads the history twice, and a pipe can be read once",
                           check->path);
    if (check->follows && check->wants_timeline)
        return failure_set(failure, FAIL_INPUT,
                           "--timeline draws a history that is whole: it and --follow exclude each "
                           "other");
    if (check->follows && !is_ours)
        return failure_set(failure, FAIL_INPUT,
                           "--follow reads histories of ours: one of Jepsen's is read twice");
    return FAIL_NONE;
}

static enum fail parse(int argc, char **argv, struct check *check, struct failure *failure)
{
    struct source_args source = {0};
    int operands;
    const struct option_row rows[] = {OPTION_TEXT("--scheme", &check->scheme),
                                      OPTION_DURATION("--lease", &source.lease_us, 1, DAY_US),
                                      SOURCE_ROWS(source),
                                      OPTION_TEXT("--fail-on", &check->fail_on),
                                      OPTION_TEXT("--json", &check->json),
                                      OPTION_FLAG("--follow", &check->follows),
                                      OPTION_FLAG("--timeline", &check->wants_timeline)};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, failure))
        return failure->code;
    if (operands != 1)
        return failure_set(failure, FAIL_INPUT, "check wants one history file");
    check->path = source_path(argv[1]);
    if (source_args_read(&source, &check->source, failure))
        return failure->code;
    check->source.jepsen.is_judged = true;
    if (refuse_both(check, failure) || fail_on_read(check->fail_on, &check->fails_on, failure) ||
        scheme_list_read(check->scheme, &check->schemes, failure))
        return failure->code;
    return places_clear(&(struct result_place){.option = "--json", .path = check->json}, 1,
                        &(struct inputs){argv + 1, 1, {check->scheme}}, failure);
}

int cmd_check(int argc, char **argv)
{
    struct failure failure = {0};
    struct results results = results_none();
    struct check check = {.fails_on = FAIL_ON_UNSAID};
    if (parse(argc, argv, &check, &failure))
        return cmd_failed(&failure);
    const bool has_failed = judge(&check, &results, &failure) || print(&check, &results, &failure);
    int status = has_failed ? cmd_failed(&failure) : (int)results_status(&results);
    results_free(&results);
    free(check.schemes.rows);
    return status;
}
