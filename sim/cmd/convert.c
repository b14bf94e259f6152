/* convert.c - `picklock convert`: a history in the format of another tool. */
#include "cmd/cmd.h"
#include "cmd/file_kind.h"
#include "cmd/output.h"
#include "cmd/source_args.h"

#include "base/outfile.h"
#include "base/units.h"
#include "history/export.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
const char cmd_convert_help[] =
    "\n"
    "  --to FORMAT            knossos (EDN), porcupine (JSON), perfetto (a trace for its UI)\n"
    "  --out FILE             write there (default -: stdout)\n"
    SOURCE_HELP
    "  --lease TIME           of a Jepsen test\n";
/* clang-format on */

static enum fail copy(struct history_source *source, const struct history_head *head,
                      const struct export_rules *rules, FILE *out, struct failure *failure)
{
    struct export export;
    struct event event;
    bool is_end = false;
    enum fail fail;
    export_start(&export, rules, out, head);
    while (!(fail = history_source_next(source, &event, &is_end, failure)) && !is_end) {
        export.process = history_source_process(source);
        export_event(&export, rules, &event);
    }
    export_finish(&export, rules);
    return fail;
}

static enum fail convert(const char *path, const struct source_options *options,
                         const struct export_rules *rules, const char *to, struct failure *failure)
{
    struct history_source *source;
    struct history_head head;
    struct outfile out;
    enum fail fail = history_source_new(&source, path, options, &head, failure);
    if (fail)
        return file_kind_hint(FILE_HISTORY, path, failure);
    fail = outfile_open(&out, to, failure);
    if (!fail) {
        fail = copy(source, &head, rules, out.stream, failure);
        if (fail)
            outfile_abandon(&out);
        else
            fail = outfile_shut(&out, failure);
    }
    history_source_free(source);
    return fail;
}

int cmd_convert(int argc, char **argv)
{
    struct failure failure = {0};
    struct source_args source_args = {0};
    struct source_options source = {0};
    const struct export_rules *rules;
    const char *to = NULL, *out = "-";
    int operands;
    const struct option_row rows[] = {OPTION_TEXT("--to", &to), OPTION_TEXT("--out", &out),
                                      SOURCE_ROWS(source_args),
                                      OPTION_DURATION("--lease", &source_args.lease_us, 1, DAY_US)};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure))
        return cmd_failed(&failure);
    if (operands != 1)
        return cmd_refuse("convert wants one history file");
    if (!to)
        return cmd_refuse("convert wants --to knossos, porcupine or perfetto");
    const char *path = source_path(argv[1]);
    if (export_named(to, &rules, &failure) || source_args_read(&source_args, &source, &failure) ||
        places_clear(&(struct result_place){.option = "--out", .path = out}, 1,
                     &(struct inputs){argv + 1, 1, {NULL}}, &failure) ||
        convert(path, &source, rules, out, &failure))
        return cmd_failed(&failure);
    return FAIL_NONE;
}
