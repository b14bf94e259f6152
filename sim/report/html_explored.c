/* html_explored.c - the explorer's part of the page: the matrix scheme x faults, and below it every
 * cell with its bounds, its shortest witness drawn and told, and how to replay it. */
#include "report/html.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *class_of(const struct explored *cell)
{
    static const char *const by_word[] = {[CELL_SAFE] = "holds",
                                          [CELL_INHERENT] = "overrun",
                                          [CELL_BROKEN] = "bug",
                                          [CELL_STUCK] = "bug",
                                          [CELL_UNKNOWN] = "unknown"};
    const struct explored_property *headline = explored_headline(cell);
    if (headline && cause_blame(headline->cause) == BLAME_DEPLOYMENT)
        return "world";
    return by_word[explored_word(cell)];
}

static const char *mark_of(const struct explored *cell)
{
    static const char *const by_word[] = {[CELL_SAFE] = "✓",
                                          [CELL_INHERENT] = "△",
                                          [CELL_BROKEN] = "✗",
                                          [CELL_STUCK] = "✗",
                                          [CELL_UNKNOWN] = "?"};
    return cell->is_unsupported ? "–" : by_word[explored_word(cell)];
}

/* How much a cell asks for attention: what the table is sorted by. */
static int rank_of(const struct explored *cell)
{
    static const int by_word[] = {[CELL_SAFE] = 1,
                                  [CELL_INHERENT] = 3,
                                  [CELL_BROKEN] = 5,
                                  [CELL_STUCK] = 4,
                                  [CELL_UNKNOWN] = 2};
    return explored_has_failure(cell) ? 10 + by_word[explored_word(cell)]
                                      : by_word[explored_word(cell)];
}

char *html_cell_id(const struct results *results, int at)
{
    const struct explored *cell = &results->cells[at];
    bool is_plain = true;
    for (int i = at - 1; i >= 0 && is_plain; i--)
        is_plain = strcmp(results->cells[i].scheme, cell->scheme) != 0 ||
                   strcmp(results->cells[i].faults, cell->faults) != 0;
    char *words = memory_format("explore--%s--%s", cell->scheme, cell->faults);
    char *id = html_plain_id(words, is_plain ? -1 : at);
    free(words);
    return id;
}

/* --- the matrix --- */

/* The columns of one table: groups of cells (one scheme, one set of bounds) of an origin, naive
 * schemes first; its rows: the sets of faults as they first came. */
struct grid {
    const struct results *results;
    int *columns; /* the first cell of each group; owned */
    int columns_count, naive;
    bool has_unrated;
    const char **faults; /* owned, the texts borrowed */
    int faults_count;
};

static void grid_init(struct grid *grid, const struct results *results, int origin)
{
    size_t most = (size_t)results->cells_count;
    *grid = (struct grid){.results = results,
                          .columns = memory_new(most, sizeof *grid->columns),
                          .faults = memory_new(most, sizeof *grid->faults)};
    for (int side = 0; side < 2; side++) {
        for (int from = 0; from < results->cells_count; from = view_cells_end(results, from)) {
            const struct explored *first = &results->cells[from];
            if (first->origin != origin || first->is_naive != (side == 0))
                continue;
            grid->columns[grid->columns_count++] = from;
            grid->has_unrated |= first->is_unrated;
        }
        if (side == 0)
            grid->naive = grid->columns_count;
    }
    for (int i = 0; i < results->cells_count; i++) {
        int row = 0;
        while (row < grid->faults_count && strcmp(grid->faults[row], results->cells[i].faults) != 0)
            row++;
        if (results->cells[i].origin == origin && row == grid->faults_count)
            grid->faults[grid->faults_count++] = results->cells[i].faults;
    }
}

static void grid_close(struct grid *grid)
{
    free(grid->columns);
    free(grid->faults);
}

/* The cell of a column with these faults, or -1. */
static int cell_at(const struct grid *grid, int column, const char *faults)
{
    int from = grid->columns[column], end = view_cells_end(grid->results, from);
    for (int i = from; i < end; i++)
        if (!strcmp(grid->results->cells[i].faults, faults))
            return i;
    return -1;
}

static const char *first_class(const struct grid *grid, int column)
{
    return column == grid->naive && grid->naive ? " first" : "";
}

static void put_heads(const struct page *page, const struct grid *grid)
{
    html_sides(page, grid->naive, grid->columns_count - grid->naive,
               grid->has_unrated ? "Other schemes" : "Safe schemes");
    fputs("<tr role=\"row\"><th role=\"columnheader\" scope=\"col\" class=\"name\">Faults</th>",
          page->out);
    for (int i = 0; i < grid->columns_count; i++) {
        const struct explored *first = &grid->results->cells[grid->columns[i]];
        char *bounds = explored_bounds(first);
        fprintf(page->out, "<th role=\"columnheader\" scope=\"col\" class=\"%s%s\">",
                first->is_naive ? "naive" : "safe", first_class(grid, i));
        html_text(page, first->scheme);
        fprintf(page->out, "<small class=\"bounds\">%s</small></th>", bounds);
        free(bounds);
    }
    fputs("</tr>\n</thead>\n", page->out);
}

static void put_cell(const struct page *page, const struct grid *grid, int column, int at)
{
    const struct explored *cell = &grid->results->cells[at];
    char *id = html_cell_id(grid->results, at);
    fprintf(page->out, "<td role=\"cell\" class=\"%s%s%s\" data-rank=\"%d\" data-scheme=\"",
            class_of(cell), explored_has_failure(cell) ? " differs" : "", first_class(grid, column),
            rank_of(cell));
    html_text(page, cell->scheme);
    fprintf(page->out, "\"><a href=\"#%s\" data-scheme=\"", id);
    html_text(page, cell->scheme);
    fprintf(page->out, "\" data-side=\"%s\" title=\"", view_cell_side(cell));
    html_text(page, cell->words);
    fprintf(page->out,
            ", %" PRId64 " transitions\"><span class=\"mark\" aria-hidden=\"true\">%s"
            "</span><span class=\"why\">",
            cell->transitions, mark_of(cell));
    html_text(page, cell->words);
    char *sureness = view_sureness(cell);
    fprintf(page->out, "</span><span class=\"copies\">%" PRId64 " states, %s</span></a></td>",
            cell->states, sureness);
    free(sureness);
    free(id);
}

static void put_rows(const struct page *page, const struct grid *grid)
{
    for (int row = 0; row < grid->faults_count; row++) {
        fputs("<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" class=\"name\">", page->out);
        html_text(page, grid->faults[row]);
        fputs("</th>", page->out);
        for (int i = 0; i < grid->columns_count; i++) {
            int at = cell_at(grid, i, grid->faults[row]);
            if (at < 0)
                fprintf(page->out, "<td role=\"cell\" class=\"none%s\"></td>",
                        first_class(grid, i));
            else
                put_cell(page, grid, i, at);
        }
        fputs("</tr>\n", page->out);
    }
}

static void put_table(const struct page *page, int origin)
{
    const struct results *results = page->view->results;
    struct grid grid;
    grid_init(&grid, results, origin);
    if (grid.columns_count) {
        fputs("<h2>Every interleaving", page->out);
        if (results->origins_count)
            fprintf(page->out, " [%d]", origin + 1);
        fprintf(
            page->out,
            "</h2>\n<p class=\"caption\">“Safe” means: up to the bounds under the scheme’s name, "
            "with each fault at most as often as it is named. Omitted: how many states are "
            "expected to be left out because two have the same fingerprint. A random search "
            "never proves that a property holds.</p>\n"
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Scheme by "
            "faults\">\n<table role=\"table\" class=\"matrix explored\" id=\"explored%d\" "
            "style=\"--columns: %d\">\n<caption class=\"unseen\">What every interleaving of "
            "each scheme comes to, under each set of faults</caption>\n<colgroup><col "
            "class=\"name\"><col span=\"%d\"></colgroup>\n",
            origin, grid.columns_count, grid.columns_count);
        put_heads(page, &grid);
        fputs("<tbody role=\"rowgroup\">\n", page->out);
        put_rows(page, &grid);
        fputs("</tbody>\n</table>\n</div>\n", page->out);
    }
    grid_close(&grid);
}

void html_explored(const struct page *page)
{
    int origins = page->view->results->origins_count;
    for (int i = 0; i < (origins ? origins : 1); i++)
        put_table(page, i);
}

/* --- the cells --- */

static void put_head(const struct page *page, const struct explored *cell)
{
    char *bounds = explored_bounds(cell);
    fputs("<h3>", page->out);
    html_text(page, cell->faults);
    fprintf(page->out, "</h3>\n<p class=\"badges\"><b class=\"badge %s\">%s ", class_of(cell),
            mark_of(cell));
    html_text(page, cell->words);
    fputs("</b>", page->out);
    if (explored_has_failure(cell))
        fputs(" <span class=\"flag\">failed</span>", page->out);
    fprintf(page->out,
            "</p>\n<p class=\"soft\">%s, at most %" PRId64 " fault%s: %" PRId64 " states, %" PRId64
            " transitions, ",
            bounds, cell->faults_max, units_plural(cell->faults_max), cell->states,
            cell->transitions);
    if (explored_is_random(cell))
        fprintf(page->out, "%" PRId64 " runs; ", cell->runs);
    else
        fprintf(page->out, "%.0e states expected to be omitted; ", cell->lost);
    html_text(page, cell->end);
    if (*cell->tried) {
        fputs("; then tried: ", page->out);
        html_text(page, cell->tried);
    }
    fputs(".</p>\n", page->out);
    free(bounds);
}

static void put_property(const struct page *page, const struct explored_property *property)
{
    bool is_violated = property->verdict == VERDICT_VIOLATED;
    fprintf(page->out, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td>",
            property_name(property->property), verdict_words(property->verdict),
            is_violated ? cause_name(property->cause) : "–");
    if (is_violated)
        fprintf(page->out, "<td class=\"number\">%s%" PRId64 "</td>",
                property->is_shortest ? "" : "at most ", property->steps);
    else
        fputs("<td>–</td>", page->out);
    fprintf(page->out, "<td>%s</td></tr>\n", view_confirmed_words(property));
}

static void put_replay(const struct page *page, const struct explored *cell,
                       const struct explored_property *property)
{
    char *replay = view_replay_command(cell, property, page->run_folder);
    char *again = view_explore_command(cell);
    fputs("<dl class=\"again\">\n", page->out);
    if (replay) {
        fputs("<dt>Replay it</dt><dd><code>", page->out);
        html_text(page, replay);
        fputs("</code></dd>\n", page->out);
    }
    fputs("<dt>Search again</dt><dd><code>", page->out);
    html_text(page, again);
    fputs("</code></dd>\n", page->out);
    if (property->schedule)
        html_path(page, "Schedule", cell->folder, property->schedule);
    if (property->history)
        html_path(page, "History", cell->folder, property->history);
    fputs("</dl>\n", page->out);
    free(replay);
    free(again);
}

/* The shortest way to what the cell's words say. */
static void put_headline(const struct page *page, const struct explored *cell)
{
    const struct explored_property *headline = explored_headline(cell);
    if (!headline)
        return;
    fprintf(page->out, "<p><b>%s</b>: ", property_name(headline->property));
    html_text(page, cause_words(headline->cause));
    if (*headline->found_by) {
        fputs("; found by ", page->out);
        html_text(page, headline->found_by);
    }
    fprintf(page->out, ". The witness: %s.</p>\n", view_confirmed_words(headline));
    if (headline->trouble) {
        fputs("<p class=\"trouble\">", page->out);
        html_text(page, headline->trouble);
        fputs("</p>\n", page->out);
    }
    char *label = memory_format("Timeline of %s under %s", cell->scheme, cell->faults);
    html_timeline(page, cell->folder, headline->history, headline->first_index, label, true);
    free(label);
    html_sentences(page, headline->witness, headline->witness_lines);
    put_replay(page, cell, headline);
}

static void put_properties(const struct page *page, const struct explored *cell)
{
    fputs(
        "<details><summary>Properties</summary>\n<div class=\"scroll\">"
        "<table class=\"properties\">\n<thead><tr><th scope=\"col\">Property</th>"
        "<th scope=\"col\">Verdict</th><th scope=\"col\">Cause</th>"
        "<th scope=\"col\" class=\"number\">Steps</th><th scope=\"col\">Witness</th></tr></thead>\n"
        "<tbody>\n",
        page->out);
    for (int i = 0; i < cell->properties_count; i++)
        put_property(page, &cell->properties[i]);
    fputs("</tbody>\n</table></div>\n", page->out);
    for (int i = 0; i < cell->properties_count; i++) {
        const struct explored_property *property = &cell->properties[i];
        if (property->verdict != VERDICT_VIOLATED || property->is_headline)
            continue;
        char *words = view_property_words(property);
        fprintf(page->out, "<p><b>%s</b></p>\n", words);
        html_sentences(page, property->witness, property->witness_lines);
        put_replay(page, cell, property);
        free(words);
    }
    fputs("</details>\n", page->out);
}

static void put_article(const struct page *page, int at)
{
    const struct explored *cell = &page->view->results->cells[at];
    char *id = html_cell_id(page->view->results, at);
    fprintf(page->out, "<article id=\"%s\" class=\"%s\" data-scheme=\"", id, class_of(cell));
    html_text(page, cell->scheme);
    fputs("\">\n", page->out);
    put_head(page, cell);
    put_headline(page, cell);
    put_properties(page, cell);
    fputs("</article>\n", page->out);
    free(id);
}

void html_explored_details(const struct page *page)
{
    const struct results *results = page->view->results;
    for (int from = 0, end; from < results->cells_count; from = end) {
        end = view_cells_end(results, from);
        fputs("<section class=\"scenario\" data-scenario=\"explore ", page->out);
        html_text(page, results->cells[from].scheme);
        fputs("\">\n<h2>Every interleaving of ", page->out);
        html_text(page, results->cells[from].scheme);
        if (results->origins_count)
            fprintf(page->out, " [%d]", results->cells[from].origin + 1);
        fputs(" <a class=\"up\" href=\"#top\">back to the top</a></h2>\n", page->out);
        for (int i = from; i < end; i++)
            put_article(page, i);
        fputs("</section>\n", page->out);
    }
}
