/* html_details.c - below the tables: every run with its story, its sentences, its timeline, and how
 * to run it again. */
#include "report/html.h"

#include "base/memory.h"
#include "report/timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void put_heading(const struct page *page, const struct run_result *row)
{
    const struct property_result *headline = view_headline(row);
    bool is_violated = row->verdict == VERDICT_VIOLATED && headline;
    enum standing standing = result_standing(row);
    fputs("<h3>", page->out);
    html_text(page, row->scheme);
    fprintf(page->out, " <small>%s</small></h3>\n<p class=\"badges\"><b class=\"badge %s\">%s %s",
            view_side(row), html_verdict_class(row), html_verdict_mark(row), view_verdict(row));
    if (is_violated)
        fprintf(page->out, ": %s", cause_name(headline->cause));
    fputs("</b>", page->out);
    if (*view_standing_words(standing))
        fprintf(page->out, " <span class=\"%s\">%s</span>",
                standing == STANDING_UNEXPECTED ? "flag" : "soft",
                standing == STANDING_UNEXPECTED ? "not as expected"
                                                : view_standing_words(standing));
    fputs("</p>\n", page->out);
    if (row->trouble || row->not_applicable) {
        fputs("<p class=\"trouble\">", page->out);
        html_text(page, row->trouble ? row->trouble : row->not_applicable);
        fputs("</p>\n", page->out);
    }
    if (is_violated) {
        fprintf(page->out, "<p><b>%s</b>: ", property_name(headline->property));
        html_text(page, cause_words(headline->cause));
        fputs(".</p>\n", page->out);
    }
    if (headline && !row->trouble)
        html_sentences(page, headline->witness, headline->witness_lines);
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
    fputs("</figcaption>\n", page->out);
}

void html_timeline(const struct page *page, const char *folder, const char *history,
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

static void put_timeline(const struct page *page, const struct run_result *row)
{
    const struct property_result *headline = view_headline(row);
    char *label = memory_format("Timeline of %s in %s", row->scheme, row->scenario);
    html_timeline(page, row->folder, row->history, headline ? headline->first_index : -1, label,
                  row->verdict == VERDICT_VIOLATED);
    free(label);
}

static void put_property(const struct page *page, const struct property_result *property)
{
    bool is_violated = property->verdict == VERDICT_VIOLATED;
    bool differs =
        property->expected != EXPECTED_NOTHING && property->expected != (int)property->verdict;
    fprintf(page->out,
            "<tr><th scope=\"row\">%s</th><td>%s</td><td%s>%s</td><td>%s</td>"
            "<td class=\"number\">",
            property_name(property->property), verdict_words(property->verdict),
            differs ? " class=\"differs\"" : "",
            property->expected == EXPECTED_NOTHING
                ? "–"
                : verdict_words((enum verdict)property->expected),
            is_violated ? cause_name(property->cause) : "–");
    fprintf(page->out, property->count ? "%" PRId64 "</td></tr>\n" : "–</td></tr>\n",
            property->count);
}

/* All properties, and the sentences of those that the heading does not tell. */
static void put_properties(const struct page *page, const struct run_result *row)
{
    const struct property_result *headline = view_headline(row);
    if (!row->properties_count)
        return;
    fputs("<details><summary>Properties</summary>\n<div class=\"scroll\">"
          "<table class=\"properties\">\n<thead><tr><th "
          "scope=\"col\">Property</th><th scope=\"col\">Verdict</th><th scope=\"col\">Expected</th>"
          "<th scope=\"col\">Cause</th><th scope=\"col\" class=\"number\">Count</th></tr></thead>\n"
          "<tbody>\n",
          page->out);
    for (int i = 0; i < row->properties_count; i++)
        put_property(page, &row->properties[i]);
    fputs("</tbody>\n</table></div>\n", page->out);
    for (int i = 0; i < row->properties_count; i++) {
        const struct property_result *property = &row->properties[i];
        if (property == headline || !property->witness_lines)
            continue;
        fprintf(page->out, "<p><b>%s</b>, %s:</p>\n", property_name(property->property),
                verdict_words(property->verdict));
        html_sentences(page, property->witness, property->witness_lines);
    }
    fputs("</details>\n", page->out);
}

void html_path(const struct page *page, const char *what, const char *folder, const char *path)
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

static void put_struck(const struct page *page, const struct stress_figures *figures)
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

static void put_again(const struct page *page, const struct run_result *row)
{
    char *command = view_command(page->view->results, row);
    fputs("<dl class=\"again\">\n", page->out);
    if (command) {
        fputs("<dt>Run it again</dt><dd><code>", page->out);
        html_text(page, command);
        fputs("</code></dd>\n", page->out);
    }
    if (row->schedule)
        html_path(page, "Schedule", row->folder, row->schedule);
    if (row->history)
        html_path(page, "History", row->folder, row->history);
    if (row->is_stress)
        put_struck(page, &row->stress);
    fputs("</dl>\n", page->out);
    free(command);
}

static void put_row(const struct page *page, int at)
{
    const struct run_result *row = page->view->rows[at];
    char *id = html_row_id(page->view, at);
    fprintf(page->out, "<article id=\"%s\" class=\"%s\" data-scheme=\"", id,
            html_verdict_class(row));
    html_text(page, row->scheme);
    fputs("\">\n", page->out);
    put_heading(page, row);
    put_timeline(page, row);
    put_properties(page, row);
    put_again(page, row);
    fputs("</article>\n", page->out);
    free(id);
}

void html_details(const struct page *page)
{
    const struct view *view = page->view;
    for (int from = 0; from < view->count;) {
        int end = view_group_end(view, from);
        const struct run_result *first = view->rows[from];
        fputs("<section class=\"scenario\" data-scenario=\"", page->out);
        html_text(page, first->scenario);
        fputs("\">\n<h2>", page->out);
        html_text(page, first->is_stress ? "Stress, in detail" : first->scenario);
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
        for (int i = from; i < end; i++)
            put_row(page, i);
        fputs("</section>\n", page->out);
        from = end;
    }
}
