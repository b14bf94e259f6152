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
    html_put(page, "<ol class=\"witness\">\n");
    for (int i = 0; i < count; i++)
        html_put(page, "<li>%s</li>\n", sentences[i]);
    html_put(page, "</ol>\n");
}

static void put_legend(const struct page *page, const struct timeline *timeline)
{
    html_put(page,
             "<figcaption>Time runs downwards and is not to scale. A bar under a client is a "
             "hold: from hearing “granted” to starting the release; it is pale behind the "
             "line across it, where the client’s own lease has ended. A bar under a server is "
             "the lock key, in the colour of who wrote it. Red frame: two hold at once; amber "
             "frame: they do, but one of them has outlived its own lease.");
    if (timeline->is_part)
        html_put(page,
                 " Drawn are the clients that led to the violation, of %d in the whole history.",
                 timeline->head.clients);
    char *tokens = words_tokens(timeline), *processes = words_processes(timeline);
    html_put(page, "%s%s%s%s</figcaption>\n", tokens ? " " : "", tokens, processes ? " " : "",
             processes);
    free(tokens);
    free(processes);
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
        html_put(page, "<p class=\"soft\">There is no timeline: %s</p>\n", failure.text);
        return;
    }
    if (!timeline)
        return;
    html_put(page,
             "<details%s><summary>Timeline</summary>\n<figure>\n"
             "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">\n",
             is_open ? " open" : "", label);
    timeline_print_svg(page->out, timeline, label);
    html_put(page, "</div>\n");
    put_legend(page, timeline);
    html_put(page, "</figure>\n</details>\n");
    timeline_free(timeline);
}

static void put_path(const struct page *page, const char *what, const char *folder,
                     const char *path)
{
    if (page->is_in_folder && !folder)
        html_put(page, "<dt>%s</dt><dd><a href=\"./%s\">%s</a></dd>\n", what, path, path);
    else
        html_put(page, "<dt>%s</dt><dd><code>%s%s%s</code></dd>\n", what, folder, folder ? "/" : "",
                 path);
}

static void put_command(const struct page *page, const char *what, const char *command)
{
    if (command)
        html_put(page, "<dt>%s</dt><dd><code>%s</code></dd>\n", what, command);
}

static void put_error(const struct page *page, const char *error)
{
    if (error)
        html_put(page, "<p class=\"error\">%s</p>\n", error);
}

/* --- the head of a row --- */

static void put_badge(const struct page *page, const struct result_row *row)
{
    const struct result_property *violated = view_violation(row);
    enum standing standing = result_standing(row);
    bool is_flagged = standing == STANDING_UNEXPECTED;
    html_put(page, "<p class=\"badges\"><b class=\"badge %s\">%s %s", html_verdict_class(row),
             html_verdict_mark(row), view_verdict(row));
    if (!row->search && violated)
        html_put(page, ": %s", cause_name(violated->cause));
    html_put(page, "</b>");
    if (row->search && is_flagged)
        html_put(page, " <span class=\"flag\">failed</span>");
    else if (!row->search && *view_standing_words(standing))
        html_put(page, " <span class=\"%s\">%s</span>", is_flagged ? "flag" : "soft",
                 is_flagged ? "not as expected" : view_standing_words(standing));
    html_put(page, "</p>\n");
}

void html_search(const struct page *page, const struct search_figures *search)
{
    char *bounds = search_bounds(search);
    html_put(page,
             "<p class=\"soft\">%s, at most %" PRId64 " fault%s: %" PRId64 " state%s, %" PRId64
             " transition%s, ",
             bounds, search->faults_max, units_plural(search->faults_max), search->states,
             units_plural(search->states), search->transitions, units_plural(search->transitions));
    if (search_is_random(search))
        html_put(page, "%" PRId64 " run%s; ", search->runs, units_plural(search->runs));
    else
        html_put(page, "%.0e states expected to be omitted; ", search->omissions);
    html_put(page, "%s%s%s.</p>\n", search->end, *search->tried ? "; then tried: " : "",
             search->tried);
    free(bounds);
}

/* A row stands under its scenario or under its scheme: its head names the other. */
static void put_heading(const struct page *page, const struct result_row *row)
{
    html_put(page, "<h3>%s", view_names(row).second);
    if (!row->search && !row->is_unrated)
        html_put(page, " <small>%s</small>", view_side(row));
    html_put(page, "</h3>\n");
    put_badge(page, row);
    if (row->search)
        html_search(page, row->search);
    if (row->is_inferred)
        html_put(page, "<p class=\"soft\">Holds are inferred from the commands: nobody told of "
                       "them.</p>\n");
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

static void put_faults(const struct page *page, const struct result_row *row)
{
    const struct stress_figures *figures = row->stress;
    html_put(page, "<dt>Clients</dt><dd>%" PRId64 ", all connected before it began</dd>\n",
             figures->clients);
    char *struck = view_struck(figures), *waiting = view_kept_waiting(row);
    html_put(page, "<dt>Struck</dt><dd>%s%s%s", struck, waiting ? "; " : "", waiting);
    free(struck);
    free(waiting);
    html_put(page,
             "; %" PRId64 " contended attempt%s; %" PRId64 " refusal%s, %" PRId64 " error%s</dd>\n",
             figures->contended, units_plural(figures->contended), figures->refusals,
             units_plural(figures->refusals), figures->errors, units_plural(figures->errors));
}

/* How to have a row again, or the witness of a cell's property (NULL: of none). */
static void put_again(const struct page *page, const struct result_row *row,
                      const struct result_property *property)
{
    char *replay = row->search ? view_replay_command(row, property, page->run_folder) : NULL;
    char *command = view_command(page->view->results, row);
    const char *schedule = row->search ? property->schedule : row->schedule;
    const bool goes = page->view->results->scratch != NULL;
    const char *history = goes ? NULL : result_history(row, property);
    html_put(page, "<dl class=\"again\">\n");
    put_command(page, "Replay it", replay);
    put_command(page, row->search ? "Search again" : "Run it again", command);
    if (schedule)
        put_path(page, "Schedule", row->folder, schedule);
    if (history)
        put_path(page, "History", row->folder, history);
    if (row->stress)
        put_faults(page, row);
    html_put(page, "</dl>\n");
    free(replay);
    free(command);
}

/* What the row's verdict, or the cell's words, say. */
static void put_headline(const struct page *page, const struct result_row *row)
{
    const struct result_property *headline = view_headline(row), *violated = view_violation(row);
    const struct result_property *shown = violated ? violated : headline;
    if (row->search && !headline)
        return;
    if (violated && violated != headline) { /* what was expected to be violated is not */
        char *words = view_row_words(row);
        html_put(page, "<p>%s.</p>\n", words);
        free(words);
    }
    if (violated) {
        html_put(page, "<p><b>%s</b>: %s%s%s", property_name(violated->property),
                 cause_words(violated->cause), violated->found_by ? "; found by " : "",
                 violated->found_by);
        if (row->search)
            html_put(page, ". The witness: %s", view_confirmed_words(violated));
        html_put(page, ".</p>\n");
        put_error(page, violated->error);
    }
    if (row->search)
        put_timeline(page, row, shown);
    if (shown && !row->error)
        html_sentences(page, shown->witness, shown->witness_lines);
    if (row->search)
        put_again(page, row, shown);
    else
        put_timeline(page, row, shown);
}

/* --- properties --- */

static void put_number(const struct page *page, const char *before, int64_t number)
{
    if (number)
        html_put(page, "<td class=\"number\">%s%" PRId64 "</td>", before, number);
    else
        html_put(page, "<td class=\"number\">–</td>");
}

static void put_property(const struct page *page, const struct result_row *row,
                         const struct result_property *property)
{
    bool is_violated = property->verdict == VERDICT_VIOLATED;
    bool is_stated = property->expected != EXPECTED_NOTHING;
    bool differs = is_stated && property->expected != (int)property->verdict;
    html_put(page, "<tr><th scope=\"row\">%s</th><td>%s</td>", property_name(property->property),
             verdict_words(property->verdict));
    if (!row->search)
        fprintf(page->out, "<td%s>%s</td>", differs ? " class=\"differs\"" : "",
                is_stated ? verdict_words((enum verdict)property->expected) : "–");
    html_put(page, "<td>%s</td>", is_violated ? cause_name(property->cause) : "–");
    if (row->search) {
        put_number(page, property->is_shortest ? "" : "at most ", property->steps);
        html_put(page, "<td>%s</td>", view_confirmed_words(property));
    } else {
        put_number(page, "", property->count);
    }
    html_put(page, "</tr>\n");
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
        html_put(page, "<p><b>%s</b></p>\n", words);
        free(words);
    } else {
        html_put(page, "<p><b>%s</b>, %s:</p>\n", property_name(property->property),
                 verdict_words(property->verdict));
    }
    html_sentences(page, property->witness, property->witness_lines);
    if (row->search)
        put_again(page, row, property);
}

/* Of a cell, those with that verdict in one line: nothing else is to say of each. Hundreds of cells
 * with a dozen lines are slow to load. */
static void put_alike(const struct page *page, const struct result_row *row, enum verdict verdict)
{
    int count = 0;
    for (int i = 0; i < row->properties_count; i++) {
        if (row->properties[i].verdict != verdict)
            continue;
        fputs(count++ ? ", " : "<tr><th scope=\"row\" class=\"many\">", page->out);
        html_put(page, "%s", property_name(row->properties[i].property));
    }
    if (count)
        html_put(page, "</th><td>%s</td><td>–</td><td class=\"number\">–</td><td>–</td></tr>\n",
                 verdict_words(verdict));
}

static void put_property_rows(const struct page *page, const struct result_row *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (!row->search || row->properties[i].verdict == VERDICT_VIOLATED)
            put_property(page, row, &row->properties[i]);
    if (!row->search)
        return;
    put_alike(page, row, VERDICT_UNKNOWN);
    put_alike(page, row, VERDICT_HOLDS);
    put_alike(page, row, VERDICT_NOT_APPLICABLE);
}

static void put_properties(const struct page *page, const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    if (!row->properties_count)
        return;
    html_put(page, "<details><summary>Properties</summary>\n<div class=\"scroll\">"
                   "<table class=\"properties\">\n<thead><tr><th scope=\"col\">Property</th>"
                   "<th scope=\"col\">Verdict</th>");
    if (row->search)
        html_put(page, "<th scope=\"col\">Cause</th><th scope=\"col\" class=\"number\">Steps</th>"
                       "<th scope=\"col\">Witness</th>");
    else
        html_put(page, "<th scope=\"col\">Expected</th><th scope=\"col\">Cause</th>"
                       "<th scope=\"col\" class=\"number\">Count</th>");
    html_put(page, "</tr></thead>\n<tbody>\n");
    put_property_rows(page, row);
    html_put(page, "</tbody>\n</table></div>\n");
    for (int i = 0; i < row->properties_count; i++)
        if (&row->properties[i] != headline)
            put_other(page, row, &row->properties[i]);
    html_put(page, "</details>\n");
}

/* --- rows --- */

void html_row(const struct page *page, int at)
{
    const struct result_row *row = page->view->rows[at];
    char *id = html_row_id(page->view, at);
    html_put(page,
             "<article id=\"%s\" class=\"%s\" data-scheme=\"%s\" data-side=\"%s\" "
             "data-subject=\"%s\">\n",
             id, html_verdict_class(row), result_lock(row), view_side(row), row->subject);
    put_heading(page, row);
    put_headline(page, row);
    html_plots(page, row);
    put_properties(page, row);
    if (!row->search)
        put_again(page, row, NULL);
    html_put(page, "</article>\n");
    free(id);
}

/* The scenario with its story; of cells the scheme. */
static void put_group_head(const struct page *page, const struct result_row *first)
{
    const char *name = view_names(first).first;
    html_put(page, "<section class=\"scenario\" data-scenario=\"%s%s\">\n<h2>%s%s",
             first->search ? "explore " : "", name,
             !first->search                    ? ""
             : search_is_random(first->search) ? "Random interleavings of "
                                               : "Every interleaving of ",
             first->stress ? "Stress, in detail" : name);
    html_origin(page, first->origin);
    html_put(page, " <a class=\"up\" href=\"#top\">back to the top</a></h2>\n");
    if (first->story && *first->story)
        html_put(page, "<p class=\"story\">%s</p>\n", first->story);
    if (first->source && *first->source)
        html_put(page, "<p class=\"soft\">Source: %s</p>\n", first->source);
}

void html_group(const struct page *page, int from, int end)
{
    put_group_head(page, page->view->rows[from]);
    if (page->view->rows[from]->search)
        html_findings(page, from, end);
    for (int i = from; i < end && !page->view->rows[from]->search; i++)
        html_row(page, i);
    html_put(page, "</section>\n");
}

void html_details(const struct page *page)
{
    const struct view *view = page->view;
    int from = 0;
    while (from < view->count && result_kind(view->rows[from]) == KIND_RUN)
        from++;
    if (html_is_of_one_lock(page, from))
        html_folded(page, from);
    else if (html_has_many(page, from))
        html_lines(page, from);
    else
        from = 0;
    for (int end; from < view->count; from = end) {
        end = view_group_end(view, from);
        html_group(page, from, end);
    }
}
