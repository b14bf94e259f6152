/* html_folded.c - the scenarios of one lock in the details: those with the same verdict and cause
 * stand together. What was violated is shown once in full; the others are a line each, that opens.
 */
#include "report/html.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>

/* What is looked at first. */
enum fold_part { PART_FOUND, PART_HOLDS, PART_NOT_APPLICABLE, PART_COUNT };

static enum fold_part part_of(const struct result_row *row)
{
    if (row->is_unsupported || row->not_applicable)
        return PART_NOT_APPLICABLE;
    return row->verdict == VERDICT_HOLDS && !view_is_problem(row) ? PART_HOLDS : PART_FOUND;
}

static bool is_same(const struct result_row *row, const struct result_row *other)
{
    if (part_of(row) != part_of(other) || row->origin != other->origin)
        return false;
    const struct result_property *one = view_violation(row), *two = view_violation(other);
    return part_of(row) != PART_FOUND || (one && two && one->cause == two->cause &&
                                          result_standing(row) == result_standing(other));
}

static void put_line(const struct page *page, int at)
{
    const struct result_row *row = page->view->rows[at];
    const bool has_reason = part_of(row) == PART_NOT_APPLICABLE;
    html_put(page, "<details class=\"same one\"><summary><b>%s</b>%s%s</summary>\n", row->subject,
             has_reason ? ": " : "",
             !has_reason           ? ""
             : row->not_applicable ? row->not_applicable
                                   : view_verdict(row));
    html_group(page, at, at + 1);
    html_put(page, "</details>\n");
}

static void put_lines(const struct page *page, const int *rows, int count)
{
    for (int i = 0; i < count; i++)
        put_line(page, rows[i]);
}

static void put_same(const struct page *page, const int *rows, int count)
{
    const struct result_row *first = page->view->rows[rows[0]];
    const char *s = units_plural(count);
    switch (part_of(first)) {
    case PART_FOUND:
        html_group(page, rows[0], rows[0] + 1);
        if (count == 1)
            return;
        html_put(page, "<div class=\"fold\">\n<h3>%s in %d more scenario%s</h3>\n",
                 cause_name(view_violation(first)->cause), count - 1, units_plural(count - 1));
        put_lines(page, rows + 1, count - 1);
        html_put(page, "</div>\n");
        return;
    case PART_HOLDS:
        html_put(page, "<div class=\"fold scenario\">\n<h2>Holds in %d scenario%s</h2>\n", count,
                 s);
        put_lines(page, rows, count);
        html_put(page, "</div>\n");
        return;
    default:
        html_put(page,
                 "<details class=\"fold scenario\"><summary><b>%d scenario%s %s not "
                 "apply</b>, and why</summary>\n",
                 count, s, count == 1 ? "does" : "do");
        put_lines(page, rows, count);
        html_put(page, "</details>\n");
    }
}

bool html_is_of_one_lock(const struct page *page, int end)
{
    for (int i = 0; i < end; i++)
        if (view_group_end(page->view, i) != i + 1)
            return false;
    return end > 1;
}

void html_folded(const struct page *page, int end)
{
    const struct view *view = page->view;
    int *same = memory_new((size_t)end, sizeof *same);
    bool *is_told = memory_new((size_t)end, sizeof *is_told);
    for (int part = 0; part < PART_COUNT; part++)
        for (int i = 0; i < end; i++) {
            if (is_told[i] || (int)part_of(view->rows[i]) != part)
                continue;
            int count = 0;
            for (int k = i; k < end; k++)
                if (k == i || (!is_told[k] && is_same(view->rows[k], view->rows[i]))) {
                    same[count++] = k;
                    is_told[k] = true;
                }
            put_same(page, same, count);
        }
    free(is_told);
    free(same);
}
