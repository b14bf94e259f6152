/* html_table.c - the tables of the page's first screen: scheme x scenario, and the figures of
 * stress runs. */
#include "report/html.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The schemes that ran, a column each: naive ones first, in the order of the scheme table. */
struct columns {
    const char **names;
    int count, naive;
    bool has_unrated;
};

static bool has_column(const struct columns *columns, const char *name)
{
    for (int i = 0; i < columns->count; i++)
        if (!strcmp(columns->names[i], name))
            return true;
    return false;
}

/* name NULL: any. */
static void take_columns(struct columns *columns, const struct view *view, bool is_naive,
                         const char *name)
{
    for (int i = 0; i < view->count; i++) {
        const struct run_result *row = view->rows[i];
        if (!row->is_stress && row->is_naive == is_naive && (!name || !strcmp(row->scheme, name)) &&
            !has_column(columns, row->scheme))
            columns->names[columns->count++] = row->scheme;
        columns->has_unrated |= row->is_unrated;
    }
}

static void columns_init(struct columns *columns, const struct view *view)
{
    *columns = (struct columns){.names = memory_new((size_t)view->count, sizeof(char *))};
    for (int side = 0; side < 2; side++) {
        bool is_naive = side == 0;
        for (int i = 0; i < schemes_count; i++)
            take_columns(columns, view, is_naive, schemes[i]->name);
        take_columns(columns, view, is_naive, NULL); /* schemes that the table does not know */
        if (is_naive)
            columns->naive = columns->count;
    }
}

void html_sides(const struct page *page, int naive, int others, const char *title)
{
    fputs("<thead role=\"rowgroup\">\n<tr role=\"row\" class=\"sides\"><td role=\"cell\"></td>",
          page->out);
    if (naive)
        fprintf(page->out,
                "<th role=\"columnheader\" scope=\"colgroup\" class=\"naive\" "
                "colspan=\"%d\">Naive schemes</th>",
                naive);
    if (others)
        fprintf(page->out,
                "<th role=\"columnheader\" scope=\"colgroup\" class=\"safe\" "
                "colspan=\"%d\">%s</th>",
                others, title);
    fputs("</tr>\n", page->out);
}

static void put_heads(const struct page *page, const struct columns *columns)
{
    html_sides(page, columns->naive, columns->count - columns->naive,
               columns->has_unrated ? "Other schemes" : "Safe schemes");
    fputs("<tr role=\"row\"><th role=\"columnheader\" scope=\"col\" class=\"name\">"
          "Scenario</th>",
          page->out);
    for (int i = 0; i < columns->count; i++) {
        fprintf(page->out, "<th role=\"columnheader\" scope=\"col\" class=\"%s%s\">",
                i < columns->naive ? "naive" : "safe",
                i == columns->naive && columns->naive ? " first" : "");
        html_text(page, columns->names[i]);
        fputs("</th>", page->out);
    }
    fputs("</tr>\n</thead>\n", page->out);
}

/* How much a run asks for attention: what the table is sorted by. */
static int rank_of(const struct run_result *row)
{
    int rank = row->verdict == VERDICT_VIOLATED             ? 3 + (int)view_blame(row)
               : row->is_unsupported || row->not_applicable ? 0
               : row->verdict == VERDICT_UNKNOWN            ? 2
                                                            : 1;
    return result_standing(row) == STANDING_UNEXPECTED ? 10 + rank : rank;
}

static void put_cell_link(const struct page *page, int at, int copies)
{
    const struct run_result *row = page->view->rows[at];
    const struct property_result *headline = view_headline(row);
    enum standing standing = result_standing(row);
    char *id = html_row_id(page->view, at), *words = view_row_words(row);
    bool is_violated = row->verdict == VERDICT_VIOLATED && headline;
    const char *why = is_violated           ? cause_name(headline->cause)
                      : row->is_unsupported ? "unsup­ported"
                                            : verdict_words(row->verdict);
    fprintf(page->out, "<a href=\"#%s\" data-scheme=\"", id);
    html_text(page, row->scheme);
    fprintf(page->out, "\" data-side=\"%s\" title=\"", view_side(row));
    html_text(page, words);
    fprintf(page->out, "\"><span class=\"mark\" aria-hidden=\"true\">%s</span>",
            html_verdict_mark(row));
    if (is_violated)
        fputs("<span class=\"unseen\">violated, </span>", page->out);
    fputs("<span class=\"why\">", page->out);
    html_text(page, why);
    fputs("</span>", page->out);
    if (copies > 1)
        fprintf(page->out, "<span class=\"copies\">× %d</span>", copies);
    if (standing == STANDING_UNEXPECTED)
        fputs("<span class=\"flag\">not expected</span>", page->out);
    else if (standing == STANDING_EXPECTED)
        fputs("<span class=\"match\" aria-hidden=\"true\">=</span>"
              "<span class=\"unseen\">, as expected</span>",
              page->out);
    fputs("</a>", page->out);
    free(id);
    free(words);
}

/* The run of that scheme in the group from..end that asks for most attention, or -1; how many there
 * are. */
static int worst_of(const struct view *view, int from, int end, const char *scheme, int *copies)
{
    int worst = -1;
    *copies = 0;
    for (int i = from; i < end; i++) {
        if (strcmp(view->rows[i]->scheme, scheme) != 0)
            continue;
        ++*copies;
        if (worst < 0 || rank_of(view->rows[i]) > rank_of(view->rows[worst]))
            worst = i;
    }
    return worst;
}

static void put_cells(const struct page *page, const struct columns *columns, int from, int end)
{
    for (int i = 0; i < columns->count; i++) {
        int copies, at = worst_of(page->view, from, end, columns->names[i], &copies);
        const char *first = i == columns->naive && columns->naive ? " first" : "";
        if (at < 0) {
            fprintf(page->out, "<td role=\"cell\" class=\"none%s\"></td>", first);
            continue;
        }
        const struct run_result *row = page->view->rows[at];
        fprintf(page->out, "<td role=\"cell\" class=\"%s%s%s\"", html_verdict_class(row),
                result_standing(row) == STANDING_UNEXPECTED ? " differs" : "", first);
        if (!row->not_applicable) /* no verdict: sorted behind those that have one */
            fprintf(page->out, " data-rank=\"%d\"", rank_of(row));
        fputs(" data-scheme=\"", page->out);
        html_text(page, row->scheme);
        fputs("\">", page->out);
        put_cell_link(page, at, copies);
        fputs("</td>", page->out);
    }
}

void html_matrix(const struct page *page)
{
    const struct view *view = page->view;
    struct columns columns;
    columns_init(&columns, view);
    if (columns.count) {
        fprintf(page->out,
                "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Scheme by "
                "scenario\">\n<table role=\"table\" class=\"matrix\" id=\"matrix\" "
                "style=\"--columns: %d\">\n<caption class=\"unseen\">Verdict of every scheme in "
                "every scenario</caption>\n<colgroup><col class=\"name\"><col span=\"%d\">"
                "</colgroup>\n",
                columns.count, columns.count);
        put_heads(page, &columns);
        fputs("<tbody role=\"rowgroup\">\n", page->out);
        for (int from = 0; from < view->count && !view->rows[from]->is_stress;) {
            int end = view_group_end(view, from);
            char *id = html_row_id(view, from);
            fputs("<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" class=\"name\">",
                  page->out);
            fprintf(page->out, "<a href=\"#%s\">", id);
            html_text(page, view->rows[from]->scenario);
            fputs("</a>", page->out);
            html_origin(page, view->rows[from]->origin);
            fputs("</th>", page->out);
            put_cells(page, &columns, from, end);
            fputs("</tr>\n", page->out);
            free(id);
            from = end;
        }
        fputs("</tbody>\n</table>\n</div>\n", page->out);
    }
    free(columns.names);
}

/* --- stress --- */

static void put_number(const struct page *page, int64_t number, const char *style)
{
    fprintf(page->out, "<td class=\"number%s\" data-rank=\"%" PRId64 "\">%" PRId64 "</td>",
            number ? style : "", number, number);
}

static void put_duration(const struct page *page, int64_t us)
{
    char text[UNITS_TEXT_MAX];
    fprintf(page->out, "<td class=\"number\" data-rank=\"%" PRId64 "\">%s</td>", us,
            units_print_ms(us, text));
}

static void put_stress_row(const struct page *page, int at)
{
    const struct run_result *row = page->view->rows[at];
    const struct stress_figures *figures = &row->stress;
    const char *style = html_verdict_class(row);
    char *id = html_row_id(page->view, at);
    fprintf(page->out, "<tr><th scope=\"row\" class=\"name\"><a href=\"#%s\">", id);
    html_text(page, row->scheme);
    fprintf(page->out, "</a> <small>%s</small>", view_side(row));
    html_origin(page, row->origin);
    fputs("</th>", page->out);
    fprintf(page->out, "<td class=\"%s\" data-rank=\"%d\">", style, rank_of(row));
    put_cell_link(page, at, 1);
    fputs("</td>", page->out);
    put_number(page, figures->lost_updates, " bad");
    put_number(page, figures->foreign_releases, " bad");
    put_number(page, figures->overruns, "");
    put_number(page, figures->operations, "");
    put_number(page, figures->operations_per_second, "");
    put_number(page, figures->grants, "");
    put_duration(page, figures->latency_us.p50);
    put_duration(page, figures->latency_us.p99);
    fputs("</tr>\n", page->out);
    free(id);
}

void html_stress(const struct page *page)
{
    static const char *const heads[] = {"Verdict",  "Lost updates", "Foreign releases",
                                        "Overruns", "Operations",   "Per second",
                                        "Grants",   "p50",          "p99"};
    const struct view *view = page->view;
    bool has_any = false;
    for (int i = 0; i < view->count; i++) {
        if (!view->rows[i]->is_stress)
            continue;
        if (!has_any) {
            fputs("<h2>Stress</h2>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
                  "aria-label=\"Stress runs\">\n<table class=\"stress\" id=\"stress\">\n<thead>"
                  "<tr><th scope=\"col\" class=\"name\">Scheme</th>",
                  page->out);
            for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++)
                fprintf(page->out, "<th scope=\"col\"%s>%s</th>", h ? " class=\"number\"" : "",
                        heads[h]);
            fputs("</tr></thead>\n<tbody>\n", page->out);
        }
        has_any = true;
        put_stress_row(page, i);
    }
    if (has_any)
        fputs("</tbody>\n</table>\n</div>\n", page->out);
}
