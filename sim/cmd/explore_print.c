/* explore_print.c - see explore_print.h. */
#include "cmd/explore_print.h"

#include "base/units.h"
#include "cmd/output.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>

/* After the number of its steps: where it was not simply the shortest way that there is. */
static void print_shortness(const struct result_row *cell, const struct result_property *property)
{
    if (search_is_random(cell->search) && property->is_shortest)
        fputs(", the shortest", stdout);
    else if (search_is_random(cell->search) && cell->search->shorter_states)
        printf(", the shortest found; nothing shorter among %" PRId64 " states",
               cell->search->shorter_states);
    else if (!property->is_shortest)
        fputs(", not proved to be the shortest", stdout);
    text_format(stdout, TEXT_PLAIN, "%s%s\n", property->found_by ? ", found by " : "",
                property->found_by);
}

static void print_choices(const struct result_row *cell, const struct result_property *property)
{
    text_format(stdout, TEXT_PLAIN, "\n%s, %s: %s is violated (%s) in %" PRId64 " steps",
                result_lock(cell), cell->subject, property_name(property->property),
                cause_name(property->cause), property->steps);
    print_shortness(cell, property);
    for (int i = 0; i < property->choices_count; i++)
        printf("  %3d  %s\n", i + 1, property->choices[i]);
    const int64_t unlisted = property->steps - property->choices_count;
    if (unlisted > 0)
        printf("       and %" PRId64 " step%s without a line: %s\n", unlisted,
               units_plural(unlisted), "the fault itself, that somebody is slow");
    for (int i = 0; i < property->witness_lines; i++)
        text_format(stdout, TEXT_PLAIN, "  %s\n", property->witness[i]);
    if (property->error)
        text_format(stdout, TEXT_PLAIN, "  NOT CONFIRMED, a defect of picklock: %s\n",
                    property->error);
}

enum fail explore_print_witness(const struct result_row *cell,
                                const struct result_property *property, const char *folder,
                                struct failure *failure)
{
    print_choices(cell, property);
    return output_timeline(folder, property->history, property->first_index, failure);
}

enum fail explore_print_witnesses(const struct results *results, const char *folder,
                                  struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < results->rows_count && !fail; i++) {
        const struct result_row *cell = &results->rows[i];
        for (int p = 0; p < cell->properties_count && !fail; p++) {
            const struct result_property *property = &cell->properties[p];
            if (property->verdict == VERDICT_VIOLATED)
                fail = explore_print_witness(cell, property, folder, failure);
        }
    }
    return fail;
}
