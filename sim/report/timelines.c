/* timelines.c - the diagrams of the rows of results that are chosen, for a terminal. */
#include "report/report.h"

#include "base/memory.h"
#include "report/text.h"
#include "report/view.h"

#include <stdlib.h>
#include <string.h>

int64_t report_first_index(const struct result_row *row)
{
    const struct result_property *violated = view_violation(row);
    return violated ? violated->first_index : -1;
}

static bool is_chosen(const struct result_row *row, const struct timeline_choice *choice)
{
    const struct result_property *violated = view_violation(row);
    return violated && result_history(row, violated) &&
           (!choice->scenario || !strcmp(choice->scenario, row->subject)) &&
           (!choice->scheme || !strcmp(choice->scheme, result_lock(row)));
}

/* Under its name and over its sentences. */
static enum fail print_chosen(FILE *out, const struct result_row *row,
                              const struct timeline_choice *choice, enum charset charset,
                              struct failure *failure)
{
    const struct result_property *violated = view_violation(row);
    struct view_names names = view_names(row);
    char *path = memory_format("%s/%s", row->folder ? row->folder : choice->run_folder,
                               result_history(row, violated));
    char *words = row->search ? view_property_words(violated) : view_row_words(row);
    text_format(out, TEXT_PLAIN, "\n%s, %s\n\n", names.first, names.second);
    enum fail fail = report_timeline(out, path, report_first_index(row), charset, failure);
    if (!fail) {
        fputc('\n', out);
        text_print_wrapped(out, words, 2, text_room(out) - 2);
        for (int i = 0; i < violated->witness_lines; i++)
            text_print_wrapped(out, violated->witness[i], 4, text_room(out) - 4);
    }
    free(words);
    free(path);
    return fail;
}

enum fail report_timelines(FILE *out, const struct results *results,
                           const struct timeline_choice *choice, enum charset charset, int *count,
                           struct failure *failure)
{
    struct view view;
    enum fail fail = FAIL_NONE;
    int printed = 0;
    view_init(&view, results);
    for (int i = 0; i < view.count && !fail; i++) {
        if (!is_chosen(view.rows[i], choice))
            continue;
        fail = print_chosen(out, view.rows[i], choice, charset, failure);
        printed++;
    }
    view_close(&view);
    if (count)
        *count = printed;
    return fail;
}
