/* html_findings.c - the cells of one scheme in the details: those with the same cause stand
 * together, the one that takes the fewest steps in full, the others folded below it. */
#include "report/html.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is looked at first. */
static const enum cell_word order[] = {CELL_UNKNOWN,  CELL_BROKEN,    CELL_STUCK,
                                       CELL_INHERENT, CELL_NOT_FOUND, CELL_SAFE};

static enum cause cause_of(const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    return headline && headline->verdict == VERDICT_VIOLATED ? headline->cause : CAUSE_NONE;
}

static int64_t steps_of(const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    return headline ? headline->steps : 0;
}

static bool is_same(const struct result_row *row, const struct result_row *other)
{
    return result_cell_word(row) == result_cell_word(other) && cause_of(row) == cause_of(other);
}

/* The rows of the view that are as the one at `first`, the fewest steps first, then as they came.
 */
static int take_same(const struct view *view, int first, int end, int *same)
{
    int count = 0;
    for (int i = first; i < end; i++) {
        if (!is_same(view->rows[i], view->rows[first]))
            continue;
        int at = count++;
        for (; at > 0 && steps_of(view->rows[same[at - 1]]) > steps_of(view->rows[i]); at--)
            same[at] = same[at - 1];
        same[at] = i;
    }
    return count;
}

/* "unlock-bug", or "safe", "unknown". */
static const char *name_of(const struct result_row *row)
{
    const enum cause cause = cause_of(row);
    return cause == CAUSE_NONE ? view_cell_words[result_cell_word(row)] : cause_name(cause);
}

static void put_others(const struct page *page, const int *rows, int count, const char *words)
{
    html_put(page, "<details class=\"same\"><summary>%s", words);
    for (int i = 0; i < count; i++) {
        const struct result_row *row = page->view->rows[rows[i]];
        html_put(page, "%s %s", i ? "," : ":", row->subject);
        if (steps_of(row))
            html_put(page, " (%" PRId64 ")", steps_of(row));
    }
    html_put(page, "</summary>\n");
    for (int i = 0; i < count; i++)
        html_row(page, rows[i]);
    html_put(page, "</details>\n");
}

static void put_group(const struct page *page, const int *rows, int count, int all)
{
    const struct result_row *first = page->view->rows[rows[0]];
    const bool has_cause = cause_of(first) != CAUSE_NONE;
    html_put(page, "<div class=\"finding\">\n<h3 class=\"%s\">%s under %d of %d faults</h3>\n",
             html_verdict_class(first), name_of(first), count, all);
    if (has_cause)
        html_row(page, rows[0]);
    const int others = has_cause ? count - 1 : count;
    char *words =
        has_cause ? memory_format("%d more with the same cause, and the steps they take", others)
                  : memory_text("Each of them");
    if (others)
        put_others(page, rows + count - others, others, words);
    html_put(page, "</div>\n");
    free(words);
}

void html_findings(const struct page *page, int from, int end)
{
    const struct view *view = page->view;
    int *same = memory_new((size_t)(end - from), sizeof *same);
    bool *is_told = memory_new((size_t)(end - from), sizeof *is_told);
    for (size_t word = 0; word < sizeof order / sizeof *order; word++)
        for (int i = from; i < end; i++) {
            if (is_told[i - from] || result_cell_word(view->rows[i]) != order[word])
                continue;
            const int count = take_same(view, i, end, same);
            for (int k = 0; k < count; k++)
                is_told[same[k] - from] = true;
            put_group(page, same, count, end - from);
        }
    free(is_told);
    free(same);
}
