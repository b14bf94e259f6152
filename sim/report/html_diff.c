/* html_diff.c - what has changed since an older run: a table of the changes, and below it each run
 * or cell that changed, old and new beside each other. */
#include "report/diff.h"
#include "report/html.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

/* Each is two diagrams; a page with more of them is slow to load, and nobody reads them. */
enum { DRAWN_MAX = 50 };

static const struct result_row *any_row(const struct diff_change *change)
{
    return change->now ? change->now : change->then;
}

static const struct result_property *property_of(const struct result_row *row,
                                                 enum property property)
{
    for (int i = 0; row && i < row->properties_count; i++)
        if (row->properties[i].property == property)
            return &row->properties[i];
    return NULL;
}

/* --- the table --- */

static const char *style_of(const struct result_row *row, enum property property)
{
    const struct result_property *found = property_of(row, property);
    if (!row)
        return "soft";
    if (!found)
        return html_verdict_class(row);
    if (found->verdict == VERDICT_VIOLATED)
        return cause_blame(found->cause) == BLAME_SCHEME   ? "bug"
               : cause_blame(found->cause) == BLAME_NOBODY ? "overrun"
                                                           : "world";
    return found->verdict == VERDICT_HOLDS ? "holds" : "unknown";
}

/* The id of the row's details on this page, or NULL: it is not there any more. The caller frees. */
static char *id_of(const struct page *page, const struct result_row *row)
{
    for (int i = 0; i < page->view->count; i++)
        if (page->view->rows[i] == row)
            return html_row_id(page->view, i);
    return NULL;
}

static void put_change(const struct page *page, const struct diff_change *change)
{
    char *id = id_of(page, change->now), *name = diff_name(any_row(change));
    const bool is_whole = change->property == PROPERTY_COUNT;
    html_put(page, "<tr><th scope=\"row\">");
    if (id)
        html_put(page, "<a href=\"#%s\">%s</a>", id, name);
    else
        html_put(page, "%s", name);
    html_put(page, "</th><td>%s",
             is_whole ? "the verdict as a whole" : property_name(change->property));
    if (change->bounds)
        html_put(page, "<br><small>%s</small>", change->bounds);
    html_put(page, "</td><td class=\"%s\">%s</td><td class=\"%s\">%s</td></tr>\n",
             style_of(change->then, change->property), change->was,
             style_of(change->now, change->property), change->is);
    free(name);
    free(id);
}

static void put_table(const struct page *page, const struct diff *diff)
{
    html_put(page, "<div class=\"scroll\"><table class=\"changes\">\n<thead><tr>"
                   "<th scope=\"col\">Run or cell</th><th scope=\"col\">Property</th>"
                   "<th scope=\"col\">Before</th><th scope=\"col\">Now</th></tr></thead>\n");
    for (int i = 0; i < diff->count; i++) {
        const enum diff_kind kind = diff->changes[i].kind;
        const bool is_first_of_kind = i == 0 || kind != diff->changes[i - 1].kind;
        if (is_first_of_kind && i)
            html_put(page, "</tbody>\n");
        if (is_first_of_kind)
            html_put(page,
                     "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"4\" class=\"kind\">%s "
                     "<small>%d</small></th></tr>\n",
                     diff_title(kind), diff->of_kind[kind]);
        put_change(page, &diff->changes[i]);
    }
    html_put(page, "</tbody>\n</table></div>\n");
}

/* --- beside each other --- */

/* What is shown of a side: the property that changed where it is violated, else the headline. */
static const struct result_property *shown_of(const struct result_row *row, enum property property)
{
    const struct result_property *found = property_of(row, property);
    return found && found->verdict == VERDICT_VIOLATED ? found : view_headline(row);
}

static void put_side(const struct page *page, const struct result_row *row, enum property property,
                     const char *own_folder, const char *when)
{
    const struct result_property *shown = shown_of(row, property);
    const bool is_violated = shown && shown->verdict == VERDICT_VIOLATED;
    char *label = memory_format("%s: timeline of %s %s %s", when, result_lock(row),
                                row->search ? "under" : "in", row->subject);
    html_put(page, "<div class=\"pane\">\n<h4>%s <b class=\"badge %s\">%s %s</b></h4>\n", when,
             html_verdict_class(row), html_verdict_mark(row), view_verdict(row));
    if (is_violated)
        html_put(page, "<p><b>%s</b>: %s.</p>\n", property_name(shown->property),
                 cause_words(shown->cause));
    else if (row->search)
        html_search(page, row->search);
    if (shown && !row->error)
        html_sentences(page, shown->witness, shown->witness_lines);
    html_history(page, row->folder ? row->folder : own_folder, result_history(row, shown),
                 shown ? shown->first_index : -1, label, true);
    html_put(page, "</div>\n");
    free(label);
}

static bool is_drawn(const struct diff_change *change)
{
    return change->then && change->now &&
           (result_history(change->then, shown_of(change->then, change->property)) ||
            result_history(change->now, shown_of(change->now, change->property)));
}

static bool is_same_pair(const struct diff_change *a, const struct diff_change *b)
{
    return a->then == b->then && a->now == b->now;
}

/* The first of its pair of rows? */
static bool is_first(const struct diff *diff, int at)
{
    for (int i = 0; i < at; i++)
        if (is_same_pair(&diff->changes[i], &diff->changes[at]))
            return false;
    return true;
}

static void put_pair(const struct page *page, int at, bool is_open)
{
    const struct diff *diff = page->diff;
    const struct diff_change *change = &diff->changes[at];
    char *name = diff_name(change->now);
    html_put(page, "<details class=\"change\"%s><summary>%s", is_open ? " open" : "", name);
    free(name);
    const char *before = ": ";
    for (int i = at; i < diff->count; i++)
        if (is_same_pair(&diff->changes[i], change) &&
            diff->changes[i].property != PROPERTY_COUNT) {
            html_put(page, "%s%s", before, property_name(diff->changes[i].property));
            before = ", ";
        }
    html_put(page, "</summary>\n<div class=\"panes\">\n");
    put_side(page, change->then, change->property, diff->name, "Before");
    put_side(page, change->now, change->property, NULL, "Now");
    html_put(page, "</div>\n</details>\n");
}

static void put_pairs(const struct page *page)
{
    const struct diff *diff = page->diff;
    int all = 0;
    for (int i = 0; i < diff->count; i++) {
        if (!is_drawn(&diff->changes[i]) || !is_first(diff, i))
            continue;
        if (all == 0)
            html_put(page, "<h3>Before and now, beside each other</h3>\n");
        if (all++ < DRAWN_MAX)
            put_pair(page, i, all == 1);
    }
    if (all > DRAWN_MAX)
        html_put(page,
                 "<p class=\"soft\">These are the first %d of %d; the others are in the details "
                 "below, and in the page of %s.</p>\n",
                 DRAWN_MAX, all, diff->name);
}

void html_diff(const struct page *page)
{
    const struct diff *diff = page->diff;
    if (!diff)
        return;
    html_put(page,
             "<section id=\"diff\">\n<h2>Compared with <code>%s</code></h2>\n"
             "<p class=\"soft\">%d run%s or cell%s in both%s.</p>\n",
             diff->name, diff->compared, units_plural(diff->compared), units_plural(diff->compared),
             diff->count ? "" : ", all the same");
    if (diff->count) {
        put_table(page, diff);
        put_pairs(page);
    }
    html_put(page, "</section>\n");
}
