/* html_table.c - the tables of the page's first screen: scheme x scenario, scheme x faults, and the
 * figures of stress runs. */
#include "report/html.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- a table of one kind of rows: locks side by side, what they were put to below one another ---
 */

/* Lines and columns stand for themselves by their first row, by its place in the view. A line of
 * scenarios and a column of cells are a group of the view. */
struct grid {
    const struct view *view;
    int *columns, *lines; /* owned */
    int columns_count, lines_count;
    int naive; /* so many columns, the first ones */
    bool has_unrated;
    enum result_kind kind;
    int origin; /* of cells: each has a table of its own */
};

static bool is_in_grid(const struct grid *grid, const struct result_row *row)
{
    return result_kind(row) == grid->kind &&
           (grid->kind != KIND_CELL || row->origin == grid->origin);
}

/* A column of cells is a lock with its bounds. */
static bool is_in_column(const struct result_row *row, const struct result_row *column)
{
    return !strcmp(result_lock(row), result_lock(column)) &&
           (!row->search || search_is_same(row->search, column->search));
}

static bool is_in_line(const struct result_row *row, const struct result_row *line)
{
    return row->origin == line->origin && !strcmp(row->subject, line->subject);
}

static void add_once(const struct view *view, int *places, int *count, int at,
                     bool (*is_same)(const struct result_row *, const struct result_row *))
{
    for (int i = 0; i < *count; i++)
        if (is_same(view->rows[at], view->rows[places[i]]))
            return;
    places[(*count)++] = at;
}

/* scheme NULL: any. */
static void take_columns(struct grid *grid, bool is_naive, const char *scheme)
{
    for (int i = 0; i < grid->view->count; i++) {
        const struct result_row *row = grid->view->rows[i];
        if (is_in_grid(grid, row) && row->is_naive == is_naive &&
            (!scheme || !strcmp(row->scheme, scheme)))
            add_once(grid->view, grid->columns, &grid->columns_count, i, is_in_column);
    }
}

static void take_lines(struct grid *grid)
{
    for (int i = 0, end = 0; i < grid->view->count; i++) {
        if (!is_in_grid(grid, grid->view->rows[i]))
            continue;
        grid->has_unrated |= grid->view->rows[i]->is_unrated;
        if (grid->kind == KIND_CELL)
            add_once(grid->view, grid->lines, &grid->lines_count, i, is_in_line);
        else if (i >= end)
            grid->lines[grid->lines_count++] = i;
        end = i >= end ? view_group_end(grid->view, i) : end;
    }
}

/* Naive schemes first; those of scenarios in the order of the scheme table, whatever comes first in
 * the first scenario. */
static void grid_init(struct grid *grid, const struct view *view, enum result_kind kind, int origin)
{
    size_t most = (size_t)view->count;
    *grid = (struct grid){.view = view,
                          .columns = memory_new(most, sizeof *grid->columns),
                          .lines = memory_new(most, sizeof *grid->lines),
                          .kind = kind,
                          .origin = origin};
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < schemes_count && kind == KIND_RUN; i++)
            take_columns(grid, side == 0, schemes[i]->name);
        take_columns(grid, side == 0, NULL);
        if (side == 0)
            grid->naive = grid->columns_count;
    }
    take_lines(grid);
}

static void grid_close(struct grid *grid)
{
    free(grid->columns);
    free(grid->lines);
}

/* Where the naive ones end. */
static const char *first_class(const struct grid *grid, int column)
{
    return column == grid->naive && grid->naive ? " first" : "";
}

/* How much a row asks for attention: what a table is sorted by. */
static int rank_of(const struct result_row *row)
{
    static const int by_word[] = {[CELL_SAFE] = 1,  [CELL_INHERENT] = 3,  [CELL_BROKEN] = 5,
                                  [CELL_STUCK] = 4, [CELL_NOT_FOUND] = 2, [CELL_UNKNOWN] = 2};
    int rank = row->search                                  ? by_word[result_cell_word(row)]
               : row->verdict == VERDICT_VIOLATED           ? 3 + (int)view_blame(row)
               : row->is_unsupported || row->not_applicable ? 0
               : row->verdict == VERDICT_UNKNOWN            ? 2
                                                            : 1;
    return result_standing(row) == STANDING_UNEXPECTED ? 10 + rank : rank;
}

/* The row of that line and column that asks for most attention, or -1; how many there are. */
static int worst_of(const struct grid *grid, int line, int column, int *copies)
{
    const struct result_row *const *rows = grid->view->rows;
    int from = grid->kind == KIND_CELL ? grid->columns[column] : grid->lines[line];
    int end = view_group_end(grid->view, from), worst = -1;
    *copies = 0;
    for (int i = from; i < end; i++) {
        if (!is_in_line(rows[i], rows[grid->lines[line]]) ||
            !is_in_column(rows[i], rows[grid->columns[column]]))
            continue;
        ++*copies;
        if (worst < 0 || rank_of(rows[i]) > rank_of(rows[worst]))
            worst = i;
    }
    return worst;
}

/* --- heads --- */

static void put_side(const struct page *page, const char *style, int columns, const char *title)
{
    if (columns)
        html_put(page,
                 "<th role=\"columnheader\" scope=\"colgroup\" class=\"%s\" colspan=\"%d\">%s</th>",
                 style, columns, title);
}

/* Is there another column of the same lock, with other bounds? */
static bool has_namesake(const struct grid *grid, int column)
{
    const struct result_row *const *rows = grid->view->rows;
    for (int i = 0; i < grid->columns_count; i++)
        if (i != column &&
            !strcmp(result_lock(rows[grid->columns[i]]), result_lock(rows[grid->columns[column]])))
            return true;
    return false;
}

static void put_heads(const struct page *page, const struct grid *grid)
{
    html_put(page, "<thead role=\"rowgroup\">\n");
    if (grid->naive || !grid->has_unrated) { /* there are sides */
        html_put(page, "<tr role=\"row\" class=\"sides\"><td role=\"cell\"></td>");
        put_side(page, "naive", grid->naive, "Naive schemes");
        put_side(page, "safe", grid->columns_count - grid->naive,
                 grid->has_unrated ? "Other schemes" : "Safe schemes");
        html_put(page, "</tr>\n");
    }
    html_put(page,
             "<tr role=\"row\"><th role=\"columnheader\" scope=\"col\" class=\"name\">%s</th>",
             grid->kind == KIND_CELL ? "Faults" : "Scenario");
    for (int i = 0; i < grid->columns_count; i++) {
        const struct result_row *column = grid->view->rows[grid->columns[i]];
        html_put(page, "<th role=\"columnheader\" scope=\"col\" class=\"%s%s\">%s",
                 i < grid->naive ? "naive" : "safe", first_class(grid, i), result_lock(column));
        if (column->search && has_namesake(grid, i))
            html_put(page, "<small class=\"bounds\">%" PRId64 " server%s%s</small>",
                     column->search->servers, units_plural(column->search->servers),
                     search_is_random(column->search) ? ", random runs" : "");
        html_put(page, "</th>");
    }
    html_put(page, "</tr>\n</thead>\n");
}

/* --- cells of a table --- */

static void open_link(const struct page *page, int at, const char *title)
{
    const struct result_row *row = page->view->rows[at];
    char *id = html_row_id(page->view, at);
    html_put(page,
             "<a href=\"#%s\" data-scheme=\"%s\" data-side=\"%s\" title=\"%s\">"
             "<span class=\"mark\" aria-hidden=\"true\">%s</span>",
             id, result_lock(row), view_side(row), title, html_verdict_mark(row));
    free(id);
}

/* The words of a cell. A word that is wide for a column is set smaller: it is never broken inside.
 */
static void put_why(const struct page *page, const char *words)
{
    enum { WIDE = 9 }; /* letters */
    size_t widest = 0;
    for (const char *at = words; *at; at += strspn(at, " -")) {
        const size_t length = strcspn(at, " -");
        widest = length > widest ? length : widest;
        at += length;
    }
    html_put(page, "<span class=\"why%s\">%s</span>", widest >= WIDE ? " wide" : "", words);
}

const char *html_row_why(const struct result_row *row)
{
    const struct result_property *violated = view_violation(row);
    return violated              ? cause_name(violated->cause)
           : row->is_unsupported ? "not supported"
                                 : verdict_words(row->verdict);
}

static void put_run_link(const struct page *page, int at, int copies)
{
    const struct result_row *row = page->view->rows[at];
    const struct result_property *violated = view_violation(row);
    enum standing standing = result_standing(row);
    char *words = view_row_words(row);
    open_link(page, at, words);
    free(words);
    if (violated)
        html_put(page, "<span class=\"unseen\">violated, </span>");
    put_why(page, html_row_why(row));
    if (copies > 1)
        html_put(page, "<span class=\"copies\">× %d</span>", copies);
    if (standing == STANDING_UNEXPECTED)
        html_put(page, "<span class=\"flag\">not expected</span>");
    else if (standing == STANDING_EXPECTED)
        html_put(page, "<span class=\"match\" aria-hidden=\"true\">=</span>"
                       "<span class=\"unseen\">, as expected</span>");
    html_put(page, "</a>");
}

/* The mark says what kind it is; what it was, and in how many steps, stands below. */
static void put_cell_link(const struct page *page, int at)
{
    const struct result_row *row = page->view->rows[at];
    const struct result_property *told[CAUSE_COUNT];
    const int more = result_cell_causes(row, told) - 1;
    const struct result_property *headline = more < 0 ? NULL : told[0];
    const enum cell_word word = result_cell_word(row);
    const bool is_stuck = word == CELL_STUCK && headline->cause == CAUSE_STUCK;
    const bool is_short =
        (word == CELL_STUCK || word == CELL_BROKEN) && headline->steps && !result_has_defect(row);
    open_link(page, at, row->search->words);
    html_put(page, "<span class=\"unseen\">%s</span>", is_short && !is_stuck ? "broken: " : "");
    put_why(page, !is_short  ? row->search->words
                  : is_stuck ? view_cell_words[word]
                             : cause_name(headline->cause));
    if (is_short)
        html_put(page, "<span class=\"copies\">%s%" PRId64 " step%s</span>",
                 headline->is_shortest ? "" : "≤ ", headline->steps, units_plural(headline->steps));
    if (is_short && more > 0)
        html_put(page, "<span class=\"copies\">and %d more</span>", more);
    fputs("</a>", page->out);
}

static void put_cell(const struct page *page, const struct grid *grid, int line, int column)
{
    int copies, at = worst_of(grid, line, column, &copies);
    const char *first = first_class(grid, column);
    if (at < 0) {
        html_put(page, "<td role=\"cell\" class=\"none%s\"></td>", first);
        return;
    }
    const struct result_row *row = grid->view->rows[at];
    html_put(page, "<td role=\"cell\" class=\"%s%s%s\"", html_verdict_class(row),
             result_standing(row) == STANDING_UNEXPECTED ? " differs" : "", first);
    if (!row->not_applicable) /* no verdict: sorted behind those that have one */
        html_put(page, " data-rank=\"%d\"", rank_of(row));
    html_put(page, " data-scheme=\"%s\">", result_lock(row));
    if (row->search)
        put_cell_link(page, at);
    else
        put_run_link(page, at, copies);
    html_put(page, "</td>");
}

/* --- a table --- */

static void put_line_head(const struct page *page, const struct grid *grid, int line)
{
    int at = grid->lines[line];
    const struct result_row *row = grid->view->rows[at];
    html_put(page, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" class=\"name\">");
    if (row->search) {
        html_put(page, "%s", row->subject);
    } else {
        char *id = html_row_id(page->view, at);
        html_put(page, "<a href=\"#%s\">%s</a>", id, row->subject);
        html_origin(page, row->origin);
        free(id);
    }
    html_put(page, "</th>");
}

struct column_effort {
    int64_t states, runs;
    double omissions; /* of the largest search */
};

static struct column_effort effort_of(const struct grid *grid, int column)
{
    struct column_effort effort = {0};
    const int from = grid->columns[column], end = view_group_end(grid->view, from);
    for (int i = from; i < end; i++) {
        const struct search_figures *search = grid->view->rows[i]->search;
        if (!is_in_column(grid->view->rows[i], grid->view->rows[from]))
            continue;
        effort.states += search->states;
        effort.runs += search->runs;
        effort.omissions =
            search->omissions > effort.omissions ? search->omissions : effort.omissions;
    }
    return effort;
}

/* The last row: how far each column was searched. Each search has its own figures in the details.
 */
static void put_effort(const struct page *page, const struct grid *grid)
{
    html_put(page, "<tfoot role=\"rowgroup\">\n<tr role=\"row\"><th role=\"rowheader\" "
                   "scope=\"row\" class=\"name\">How far</th>");
    for (int i = 0; i < grid->columns_count; i++) {
        const struct search_figures *search = grid->view->rows[grid->columns[i]]->search;
        const struct column_effort effort = effort_of(grid, i);
        char *bounds = search_bounds(search);
        html_put(page, "<td role=\"cell\" class=\"effort%s\" data-scheme=\"%s\">%s; %" PRId64,
                 first_class(grid, i), result_lock(grid->view->rows[grid->columns[i]]), bounds,
                 effort.states);
        if (search_is_random(search))
            html_put(page, " state%s in %" PRId64 " run%s</td>", units_plural(effort.states),
                     effort.runs, units_plural(effort.runs));
        else
            html_put(page, " state%s, %.0e omitted</td>", units_plural(effort.states),
                     effort.omissions);
        free(bounds);
    }
    html_put(page, "</tr>\n</tfoot>\n");
}

static void put_grid(const struct page *page, const struct grid *grid, const char *label,
                     const char *attributes, const char *caption)
{
    fprintf(page->out,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">\n"
            "<table role=\"table\" %s style=\"--columns: %d\">\n<caption class=\"unseen\">%s"
            "</caption>\n<colgroup><col class=\"name\"><col span=\"%d\"></colgroup>\n",
            label, attributes, grid->columns_count, caption, grid->columns_count);
    put_heads(page, grid);
    html_put(page, "<tbody role=\"rowgroup\">\n");
    for (int line = 0; line < grid->lines_count; line++) {
        put_line_head(page, grid, line);
        for (int column = 0; column < grid->columns_count; column++)
            put_cell(page, grid, line, column);
        html_put(page, "</tr>\n");
    }
    html_put(page, "</tbody>\n");
    if (grid->kind == KIND_CELL)
        put_effort(page, grid);
    html_put(page, "</table>\n</div>\n");
}

void html_scenarios(const struct page *page)
{
    struct grid grid;
    grid_init(&grid, page->view, KIND_RUN, 0);
    if (grid.columns_count)
        put_grid(page, &grid, "Scheme by scenario", "class=\"matrix\" id=\"matrix\"",
                 "Verdict of every scheme in every scenario");
    grid_close(&grid);
}

void html_cells(const struct page *page)
{
    int origins = page->view->results->origins_count;
    for (int origin = 0; origin < (origins ? origins : 1); origin++) {
        struct grid grid;
        char attributes[64];
        grid_init(&grid, page->view, KIND_CELL, origin);
        snprintf(attributes, sizeof attributes, "class=\"matrix explored\" id=\"explored%d\"",
                 origin);
        if (grid.columns_count) {
            html_put(page, "<h2>Every interleaving");
            if (origins)
                html_put(page, " [%d]", origin + 1);
            html_put(
                page,
                "</h2>\n<p class=\"caption\">“Safe” means: up to the bounds in the last row, with "
                "each fault at most as often as it is named. Omitted: how many states are "
                "expected to be left out of the largest search because two have the same "
                "fingerprint. A random search never proves that a property holds.</p>\n");
            put_grid(page, &grid, "Scheme by faults", attributes,
                     "What every interleaving of each scheme comes to, under each set of faults");
        }
        grid_close(&grid);
    }
}

/* --- stress --- */

static void put_number(const struct page *page, int64_t number, const char *style)
{
    html_put(page, "<td class=\"number%s\" data-rank=\"%" PRId64 "\">%" PRId64 "</td>",
             number ? style : "", number, number);
}

static void put_duration(const struct page *page, int64_t us)
{
    char text[UNITS_TEXT_MAX];
    html_put(page, "<td class=\"number\" data-rank=\"%" PRId64 "\">%s</td>", us,
             units_print_rounded(us, text));
}

/* Red is what the scheme did: what is lost by work longer than a lease is nobody's fault. */
static bool lost_by_scheme(const struct result_row *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].property == PROPERTY_NO_LOST_UPDATE)
            return cause_blame(row->properties[i].cause) >= BLAME_EITHER;
    return false;
}

static void put_stress_row(const struct page *page, int at)
{
    const struct result_row *row = page->view->rows[at];
    const struct stress_figures *figures = row->stress;
    const char *style = html_verdict_class(row);
    char *id = html_row_id(page->view, at);
    html_put(page, "<tr><th scope=\"row\" class=\"name\"><a href=\"#%s\">%s</a> <small>%s</small>",
             id, result_lock(row), view_side(row));
    html_origin(page, row->origin);
    html_put(page, "</th><td class=\"%s\" data-rank=\"%d\">", style, rank_of(row));
    put_run_link(page, at, 1);
    html_put(page, "</td>");
    put_number(page, figures->clients, "");
    put_number(page, figures->lost_updates, lost_by_scheme(row) ? " bad" : "");
    put_number(page, figures->foreign_releases, " bad");
    put_number(page, figures->overruns, "");
    put_number(page, figures->operations, "");
    put_number(page, figures->operations_per_second, "");
    put_number(page, figures->grants, "");
    put_duration(page, figures->latency_us.p50);
    put_duration(page, figures->latency_us.p99);
    html_put(page, "</tr>\n");
    free(id);
}

void html_stress(const struct page *page)
{
    static const char *const heads[] = {
        "Verdict",  "Clients",    "Lost updates", "Foreign releases",
        "Overruns", "Operations", "Per second",   "Grants",
        "p50",      "p99"};
    const struct view *view = page->view;
    bool has_any = false;
    for (int i = 0; i < view->count; i++) {
        if (!view->rows[i]->stress)
            continue;
        if (!has_any) {
            html_put(page,
                     "<h2>Stress</h2>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
                     "aria-label=\"Stress runs\">\n<table class=\"stress\" id=\"stress\">\n<thead>"
                     "<tr><th scope=\"col\" class=\"name\">Scheme</th>");
            for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++)
                fprintf(page->out, "<th scope=\"col\"%s>%s</th>", h ? " class=\"number\"" : "",
                        heads[h]);
            html_put(page, "</tr></thead>\n<tbody>\n");
        }
        has_any = true;
        put_stress_row(page, i);
    }
    if (has_any)
        html_put(page, "</tbody>\n</table>\n</div>\n");
    html_growth(page);
}
