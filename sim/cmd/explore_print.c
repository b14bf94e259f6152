/* explore_print.c - see explore_print.h. */
#include "cmd/explore_print.h"

#include "base/memory.h"
#include "base/units.h"
#include "cmd/charset.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>

static enum fail print_diagram(FILE *out, const struct result_property *property,
                               const char *folder, struct failure *failure)
{
    if (!property->history || !folder)
        return FAIL_NONE;
    char *path = memory_format("%s/%s", folder, property->history);
    fputc('\n', out);
    enum fail fail =
        report_timeline(out, path, property->first_index, charset_of_locale(), failure);
    free(path);
    return fail;
}

/* After the number of its steps: where it was not simply the shortest way that there is. */
static void print_shortness(FILE *out, const struct result_row *cell,
                            const struct result_property *property)
{
    if (search_is_random(cell->search) && property->is_shortest)
        fputs(", the shortest", out);
    else if (search_is_random(cell->search) && cell->search->shorter_states)
        fprintf(out, ", the shortest found; nothing shorter among %" PRId64 " states",
                cell->search->shorter_states);
    else if (!property->is_shortest)
        fputs(", not proved to be the shortest", out);
    text_format(out, TEXT_PLAIN, "%s%s\n", property->found_by ? ", found by " : "",
                property->found_by);
}

static void print_choices(FILE *out, const struct result_row *cell,
                          const struct result_property *property)
{
    text_format(out, TEXT_PLAIN, "\n%s, %s: %s is violated (%s) in %" PRId64 " steps",
                result_lock(cell), cell->subject, property_name(property->property),
                cause_name(property->cause), property->steps);
    print_shortness(out, cell, property);
    for (int i = 0; i < property->choices_count; i++)
        fprintf(out, "  %3d  %s\n", i + 1, property->choices[i]);
    const int64_t unlisted = property->steps - property->choices_count;
    if (unlisted > 0)
        fprintf(out, "       and %" PRId64 " step%s without a line: %s\n", unlisted,
                units_plural(unlisted), "the fault itself, that somebody is slow");
    for (int i = 0; i < property->witness_lines; i++)
        text_format(out, TEXT_PLAIN, "  %s\n", property->witness[i]);
    if (property->error)
        text_format(out, TEXT_PLAIN, "  NOT CONFIRMED, a defect of picklock: %s\n",
                    property->error);
}

enum fail explore_print_witness(FILE *out, const struct result_row *cell,
                                const struct result_property *property, const char *folder,
                                struct failure *failure)
{
    print_choices(out, cell, property);
    return print_diagram(out, property, folder, failure);
}

enum fail explore_print_witnesses(FILE *out, const struct results *results, const char *folder,
                                  struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < results->rows_count && !fail; i++) {
        const struct result_row *cell = &results->rows[i];
        for (int p = 0; p < cell->properties_count && !fail; p++) {
            const struct result_property *property = &cell->properties[p];
            if (property->verdict == VERDICT_VIOLATED)
                fail = explore_print_witness(out, cell, property, folder, failure);
        }
    }
    return fail;
}
