/* write.c - writes a report in a format: the file is whole, or it is not there. */
#include "report/report.h"

#include "base/outfile.h"

#define FORMAT_ROW(with, id, name, file, help) [FORMAT_##id] = {"--" #name, file, report_##name},

static const struct {
    const char *option, *file;
    enum fail (*print)(const struct report *report, struct failure *failure);
} formats[FORMAT_COUNT] = {FORMATS(FORMAT_ROW, )};

const char *report_option(enum format format)
{
    return formats[format].option;
}

const char *report_file(enum format format)
{
    return formats[format].file;
}

enum fail report_write(enum format format, const char *path, const struct results *results,
                       const char *run_folder, struct failure *failure)
{
    return report_write_diff(format, path, results, run_folder, NULL, failure);
}

enum fail report_write_diff(enum format format, const char *path, const struct results *results,
                            const char *run_folder, const struct diff *diff,
                            struct failure *failure)
{
    struct outfile file;
    if (outfile_open(&file, path, failure))
        return failure->code;
    const struct report report = {.out = file.stream,
                                  .path = path,
                                  .results = results,
                                  .run_folder = run_folder,
                                  .diff = diff};
    enum fail fail = formats[format].print(&report, failure);
    if (!fail)
        return outfile_shut(&file, failure);
    outfile_abandon(&file);
    return fail;
}
