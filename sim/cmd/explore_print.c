/* explore_print.c - see explore_print.h. */
#include "cmd/explore_print.h"

#include "base/memory.h"
#include "base/units.h"
#include "cmd/output.h"
#include "report/text.h"
#include "report/view.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* A file has a sentence in one line, a terminal as many as it takes. */
static void print_sentence(const char *words, int indent)
{
    text_print_wrapped(stdout, words, indent, text_columns(stdout) ? text_room(stdout) : INT_MAX);
}

/* After the number of its steps: where it was not simply the shortest way that there is. The caller
 * frees. */
static char *shortness(const struct result_row *cell, const struct result_property *property)
{
    if (search_is_random(cell->search) && property->is_shortest)
        return memory_text(", the shortest");
    if (search_is_random(cell->search) && cell->search->shorter_states)
        return memory_format(", the shortest found; nothing shorter among %" PRId64 " state%s",
                             cell->search->shorter_states,
                             units_plural(cell->search->shorter_states));
    return memory_text(property->is_shortest ? "" : ", not proved to be the shortest");
}

static void print_choices(const struct result_row *cell, const struct result_property *property)
{
    char *how = shortness(cell, property);
    /* The steps are those to where nobody can help it any more; the witness waits to show it. */
    const bool is_waiting =
        property->property == PROPERTY_PROGRESS && property->choices_count > property->steps;
    char *words = memory_format(
        "%s, %s: %s is violated (%s) in %" PRId64 " step%s%s%s%s%s", result_lock(cell),
        cell->subject, property_name(property->property), cause_name(property->cause),
        property->steps, units_plural(property->steps),
        is_waiting ? ", and a wait that shows it" : "", how,
        property->found_by ? ", found by " : "", property->found_by ? property->found_by : "");
    putchar('\n');
    print_sentence(words, 0);
    free(words);
    free(how);
    for (int i = 0; i < property->choices_count; i++)
        printf("  %3d  %s\n", i + 1, property->choices[i]);
    words = view_unlisted_words(property);
    if (words)
        print_sentence(words, 7);
    free(words);
    for (int i = 0; i < property->witness_lines; i++)
        print_sentence(property->witness[i], 2);
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
