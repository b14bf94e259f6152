/* html_details.c - below the tables: every row with its story or its bounds, its sentences, its
 * timeline, its properties, and how to run or replay it again. */
#include "report/html.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/timeline_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- pieces --- */

void html_sentences(const struct page *page, char *const *sentences, int count)
{
    if (!count)
        return;
    fputs("<ol class=\"witness\">\n", page->out);
    for (int i = 0; i < count; i++) {
        fputs("<li>", page->out);
        html_text(page, sentences[i]);
        fputs("</li>\n", page->out);
    }
    fputs("</ol>\n", page->out);
}

static void put_legend(const struct page *page, const struct timeline *timeline)
{
    fputs(
        "<figcaption>Time runs downwards and is not to scale. A bar under a client is a hold: from "
        "hearing “granted” to starting the release; it is pale behind the line across it, where "
        "the "
        "client’s own lease has ended. A bar under a server is the lock key, in the colour of who "
        "wrote it. Red frame: two hold at once; amber frame: they do, but one of them has outlived "
        "its own lease. A1 is the token of A’s first attempt.",
        page->out);
    if (timeline->is_part)
        fprintf(page->out,
                " Drawn are the clients that led to the violation, of %d in the whole history.",
                timeline->head.clients);
    char *processes = words_processes(timeline);
    fputs(processes ? " " : "", page->out);
    html_text(page, processes ? processes : "");
    free(processes);
    fputs("</figcaption>\n", page->out);
}

void html_history(const struct page *page, const char *folder, const char *history,
                  int64_t first_index, const char *label, bool is_open)
{
    struct timeline *timeline;
    struct failure failure;
    if (!folder)
        folder = page->run_folder;
    if (!history || !folder)
        return;
    char *path = memory_format("%s/%s", folder, history);
    enum fail fail = timeline_new(&timeline, path, first_index, &failure);
    free(path);
    if (fail) {
        fputs("<p class=\"soft\">There is no timeline: ", page->out);
        html_text(page, failure.text);
        fputs("</p>\n", page->out);
        return;
    }
    if (!timeline)
        return;
    fprintf(
        page->out,
        "<details%s><summary>Timeline</summary>\n<figure>\n<div class=\"scroll\" role=\"region\" "
        "tabindex=\"0\" aria-label=\"",
        is_open ? " open" : "");
    html_text(page, label);
    fputs("\">\n", page->out);
    timeline_print_svg(page->out, timeline, label);
    fputs("</div>\n", page->out);
    put_legend(page, timeline);
    fputs("</figure>\n</details>\n", page->out);
    timeline_free(timeline);
}

static void put_path(const struct page *page, const char *what, const char *folder,
                     const char *path)
{
    fprintf(page->out, "<dt>%s</dt><dd>", what);
    if (page->is_in_folder && !folder) {
        fputs("<a href=\"./", page->out);
        html_text(page, path);
        fputs("\">", page->out);
        html_text(page, path);
        fputs("</a>", page->out);
    } else {
        fputs("<code>", page->out);
        html_text(page, folder);
        fputs(folder ? "/" : "", page->out);
        html_text(page, path);
        fputs("</code>", page->out);
    }
    fputs("</dd>\n", page->out);
}

static void put_command(const struct page *page, const char *what, const char *command)
{
    if (!command)
        return;
    fprintf(page->out, "<dt>%s</dt><dd><code>", what);
    html_text(page, command);
    fputs("</code></dd>\n", page->out);
}

static void put_error(const struct page *page, const char *error)
{
    if (!error)
        return;
    fputs("<p class=\"error\">", page->out);
    html_text(page, error);
    fputs("</p>\n", page->out);
}

/* --- the head of a row --- */

static void put_badge(const struct page *page, const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    enum standing standing = result_standing(row);
    bool is_flagged = standing == STANDING_UNEXPECTED;
    fprintf(page->out, "<p class=\"badges\"><b class=\"badge %s\">%s ", html_verdict_class(row),
            html_verdict_mark(row));
    html_text(page, view_verdict(row));
    if (!row->search && row->verdict == VERDICT_VIOLATED && headline)
        fprintf(page->out, ": %s", cause_name(headline->cause));
    fputs("</b>", page->out);
    if (row->search && is_flagged)
        fputs(" <span class=\"flag\">failed</span>", page->out);
    else if (!row->search && *view_standing_words(standing))
        fprintf(page->out, " <span class=\"%s\">%s</span>", is_flagged ? "flag" : "soft",
                is_flagged ? "not as expected" : view_standing_words(standing));
    fputs("</p>\n", page->out);
}

/* How far a cell was searched, and how that ended. */
static void put_search(const struct page *page, const struct search_figures *search)
{
    char *bounds = search_bounds(search);
    fputs("<p class=\"soft\">", page->out);
    html_text(page, bounds);
    fprintf(
        page->out, ", at most %" PRId64 " fault%s: %" PRId64 " states, %" PRId64 " transitions, ",
        search->faults_max, units_plural(search->faults_max), search->states, search->transitions);
    if (search_is_random(search))
        fprintf(page->out, "%" PRId64 " runs; ", search->runs);
    else
        fprintf(page->out, "%.0e states expected to be omitted; ", search->omissions);
    html_text(page, search->end);
    if (*search->tried) {
        fputs("; then tried: ", page->out);
        html_text(page, search->tried);
    }
    fputs(".</p>\n", page->out);
    free(bounds);
}

/* A row stands under its scenario or under its scheme: its head names the other. */
static void put_heading(const struct page *page, const struct result_row *row)
{
    fputs("<h3>", page->out);
    html_text(page, view_names(row).second);
    if (!row->search)
        fprintf(page->out, " <small>%s</small>", view_side(row));
    fputs("</h3>\n", page->out);
    put_badge(page, row);
    if (row->search)
        put_search(page, row->search);
    if (row->is_inferred)
        fputs("<p class=\"soft\">Holds are inferred from the commands: nobody told of them.</p>\n",
              page->out);
    put_error(page, row->error ? row->error : row->not_applicable);
}

/* --- what was found --- */

static void put_timeline(const struct page *page, const struct result_row *row,
                         const struct result_property *headline)
{
    char *label = memory_format("Timeline of %s %s %s", result_lock(row),
                                row->search ? "under" : "in", row->subject);
    html_history(page, row->folder, result_history(row, headline),
                 headline ? headline->first_index : -1, label,
                 row->search || row->verdict == VERDICT_VIOLATED);
    free(label);
}

static void put_faults(const struct page *page, const struct stress_figures *figures)
{
    fputs("<dt>Struck</dt><dd>", page->out);
    if (figures->faults > 0)
        fprintf(page->out, "%" PRId64 " faults, %" PRId64 " of them inside a hold", figures->faults,
                figures->faults_in_hold);
    else
        fputs("without any fault", page->out);
    fprintf(page->out,
            "; %" PRId64 " contended attempts; %" PRId64 " refusals, %" PRId64 " errors</dd>\n",
            figures->contended, figures->refusals, figures->errors);
}

/* How to have a row again, or the witness of a cell's property (NULL: of none). */
static void put_again(const struct page *page, const struct result_row *row,
                      const struct result_property *property)
{
    char *replay = row->search ? view_replay_command(row, property, page->run_folder) : NULL;
    char *command = view_command(page->view->results, row);
    const char *schedule = row->search ? property->schedule : row->schedule;
    const char *history = result_history(row, property);
    fputs("<dl class=\"again\">\n", page->out);
    put_command(page, "Replay it", replay);
    put_command(page, row->search ? "Search again" : "Run it again", command);
    if (schedule)
        put_path(page, "Schedule", row->folder, schedule);
    if (history)
        put_path(page, "History", row->folder, history);
    if (row->stress)
        put_faults(page, row->stress);
    fputs("</dl>\n", page->out);
    free(replay);
    free(command);
}

/* What the row's verdict, or the cell's words, say. */
static void put_headline(const struct page *page, const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    if (row->search && !headline)
        return;
    if (row->verdict == VERDICT_VIOLATED && headline) {
        fprintf(page->out, "<p><b>%s</b>: ", property_name(headline->property));
        html_text(page, cause_words(headline->cause));
        if (headline->found_by) {
            fputs("; found by ", page->out);
            html_text(page, headline->found_by);
        }
        if (row->search)
            fprintf(page->out, ". The witness: %s", view_confirmed_words(headline));
        fputs(".</p>\n", page->out);
        put_error(page, headline->error);
    }
    if (row->search)
        put_timeline(page, row, headline);
    if (headline && !row->error)
        html_sentences(page, headline->witness, headline->witness_lines);
    if (row->search)
        put_again(page, row, headline);
    else
        put_timeline(page, row, headline);
}

/* --- properties --- */

static void put_number(const struct page *page, const char *before, int64_t number)
{
    if (number)
        fprintf(page->out, "<td class=\"number\">%s%" PRId64 "</td>", before, number);
    else
        fputs("<td class=\"number\">–</td>", page->out);
}

static void put_property(const struct page *page, const struct result_row *row,
                         const struct result_property *property)
{
    bool is_violated = property->verdict == VERDICT_VIOLATED;
    bool is_stated = property->expected != EXPECTED_NOTHING;
    bool differs = is_stated && property->expected != (int)property->verdict;
    fprintf(page->out, "<tr><th scope=\"row\">%s</th><td>%s</td>",
            property_name(property->property), verdict_words(property->verdict));
    if (!row->search)
        fprintf(page->out, "<td%s>%s</td>", differs ? " class=\"differs\"" : "",
                is_stated ? verdict_words((enum verdict)property->expected) : "–");
    fprintf(page->out, "<td>%s</td>", is_violated ? cause_name(property->cause) : "–");
    if (row->search) {
        put_number(page, property->is_shortest ? "" : "at most ", property->steps);
        fprintf(page->out, "<td>%s</td>", view_confirmed_words(property));
    } else {
        put_number(page, "", property->count);
    }
    fputs("</tr>\n", page->out);
}

/* What the heading does not tell of: its sentences, and of a cell how to replay it. */
static void put_other(const struct page *page, const struct result_row *row,
                      const struct result_property *property)
{
    if (row->search && property->verdict != VERDICT_VIOLATED)
        return;
    if (!row->search && !property->witness_lines)
        return;
    if (row->search) {
        char *words = view_property_words(property);
        fprintf(page->out, "<p><b>%s</b></p>\n", words);
        free(words);
    } else {
        fprintf(page->out, "<p><b>%s</b>, %s:</p>\n", property_name(property->property),
                verdict_words(property->verdict));
    }
    html_sentences(page, property->witness, property->witness_lines);
    if (row->search)
        put_again(page, row, property);
}

static void put_properties(const struct page *page, const struct result_row *row)
{
    static const char number[] = "<th scope=\"col\" class=\"number\">";
    const struct result_property *headline = view_headline(row);
    if (!row->properties_count)
        return;
    fputs("<details><summary>Properties</summary>\n<div class=\"scroll\">"
          "<table class=\"properties\">\n<thead><tr><th scope=\"col\">Property</th>"
          "<th scope=\"col\">Verdict</th>",
          page->out);
    if (row->search)
        fprintf(page->out, "<th scope=\"col\">Cause</th>%sSteps</th><th scope=\"col\">Witness</th>",
                number);
    else
        fprintf(page->out,
                "<th scope=\"col\">Expected</th><th scope=\"col\">Cause</th>%sCount</th>", number);
    fputs("</tr></thead>\n<tbody>\n", page->out);
    for (int i = 0; i < row->properties_count; i++)
        put_property(page, row, &row->properties[i]);
    fputs("</tbody>\n</table></div>\n", page->out);
    for (int i = 0; i < row->properties_count; i++)
        if (&row->properties[i] != headline)
            put_other(page, row, &row->properties[i]);
    fputs("</details>\n", page->out);
}

/* --- rows --- */

static void put_row(const struct page *page, int at)
{
    const struct result_row *row = page->view->rows[at];
    char *id = html_row_id(page->view, at);
    fprintf(page->out, "<article id=\"%s\" class=\"%s\" data-scheme=\"", id,
            html_verdict_class(row));
    html_text(page, result_lock(row));
    fputs("\">\n", page->out);
    put_heading(page, row);
    put_headline(page, row);
    put_properties(page, row);
    if (!row->search)
        put_again(page, row, NULL);
    fputs("</article>\n", page->out);
    free(id);
}

/* The scenario with its story; of cells the scheme. */
static void put_group_head(const struct page *page, const struct result_row *first)
{
    fputs("<section class=\"scenario\" data-scenario=\"", page->out);
    fputs(first->search ? "explore " : "", page->out);
    html_text(page, view_names(first).first);
    fputs("\">\n<h2>", page->out);
    fputs(first->search ? "Every interleaving of " : "", page->out);
    html_text(page, first->stress ? "Stress, in detail" : view_names(first).first);
    html_origin(page, first->origin);
    fputs(" <a class=\"up\" href=\"#top\">back to the top</a></h2>\n", page->out);
    if (first->story && *first->story) {
        fputs("<p class=\"story\">", page->out);
        html_text(page, first->story);
        fputs("</p>\n", page->out);
    }
    if (first->source && *first->source) {
        fputs("<p class=\"soft\">Source: ", page->out);
        html_text(page, first->source);
        fputs("</p>\n", page->out);
    }
}

void html_details(const struct page *page)
{
    const struct view *view = page->view;
    for (int from = 0, end; from < view->count; from = end) {
        end = view_group_end(view, from);
        put_group_head(page, view->rows[from]);
        for (int i = from; i < end; i++)
            put_row(page, i);
        fputs("</section>\n", page->out);
    }
}
