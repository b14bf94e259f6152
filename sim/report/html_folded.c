/* html_folded.c - many scenarios in the details, a line each, that opens. Of one lock those with
 * the same verdict and cause stand together, and what was violated is shown once in full; of
 * several locks a line says how each side fared. */
#include "report/html.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

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

/* --- several locks --- */

enum { GROUPS_SHOWN = 8, PROBLEMS_OPEN = 3 };

static bool has_problem(const struct view *view, int from, int end)
{
    bool has = false;
    for (int i = from; i < end; i++)
        has |= view_is_problem(view->rows[i]);
    return has;
}

static bool is_alike(const struct result_row *row, const struct result_row *other)
{
    return !strcmp(view_side(row), view_side(other)) &&
           !strcmp(html_row_why(row), html_row_why(other)) &&
           !strcmp(html_verdict_class(row), html_verdict_class(other));
}

/* The row at `at`, with those behind it that are alike; nothing where one before it has told it. */
static void put_alike(const struct page *page, int from, int at, int end)
{
    const struct view *view = page->view;
    const struct result_row *row = view->rows[at];
    const char *side = view_side(row);
    for (int i = from; i < at; i++)
        if (is_alike(view->rows[i], row))
            return;
    html_put(page, " <span class=\"%s\">%s %s%s%s", html_verdict_class(row), html_verdict_mark(row),
             html_row_why(row), *side ? ", " : "", side);
    for (int i = at; i < end; i++)
        if (i == at || is_alike(view->rows[i], row))
            html_put(page, "%s %s", i == at ? ":" : ",", result_lock(view->rows[i]));
    html_put(page, "</span>");
}

bool html_has_many(const struct page *page, int end)
{
    int groups = 0;
    for (int i = 0; i < end; i = view_group_end(page->view, i))
        groups++;
    return groups > GROUPS_SHOWN;
}

void html_lines(const struct page *page, int end)
{
    const struct view *view = page->view;
    const struct result_row *bug = view_first_bug(view);
    int problems = 0;
    html_put(page, "<div class=\"fold scenario\">\n<h2>Scenario by scenario</h2>\n");
    for (int from = 0, next; from < end; from = next) {
        next = view_group_end(view, from);
        bool is_open = has_problem(view, from, next) && problems++ < PROBLEMS_OPEN;
        for (int i = from; i < next; i++)
            is_open |= view->rows[i] == bug;
        html_put(page, "<details class=\"one\"%s><summary><b>%s</b>", is_open ? " open" : "",
                 view->rows[from]->subject);
        html_origin(page, view->rows[from]->origin);
        for (int i = from; i < next; i++)
            put_alike(page, from, i, next);
        html_put(page, "</summary>\n");
        html_group(page, from, next);
        html_put(page, "</details>\n");
    }
    html_put(page, "</div>\n");
}
