/* html_conclusion.c - on top of the page of a test: the verdict in words, cause by cause, with what
 * to do about it, and a counterexample as a diagram. */
#include "report/html.h"

#include "base/memory.h"
#include "report/conclusion.h"

#include <stdlib.h>
#include <string.h>

/* Takes words; NULL: nothing. */
static void put_paragraph(const struct page *page, char *words)
{
    if (words)
        html_put(page, "<p>%s</p>\n", words);
    free(words);
}

static void put_cause(const struct page *page, const struct concluded_cause *cause)
{
    int at = 0;
    while (page->view->rows[at] != cause->row)
        at++;
    char *id = html_row_id(page->view, at), *where = conclusion_where(cause);
    html_put(page,
             "<li><a href=\"#%s\">%s</a> %s <small>%s</small>\n"
             "<p><b>What to do:</b> %s.</p></li>\n",
             id, cause_name(cause->cause), cause_words(cause->cause), where,
             cause_advice(cause->cause));
    free(where);
    free(id);
}

static void put_counterexample(const struct page *page, const struct concluded_cause *cause)
{
    const struct result_row *row = cause->row;
    const struct result_property *property = cause->property;
    char *title = conclusion_example(cause), *label = memory_format("Timeline: %s", title);
    char *again = row->search ? view_replay_command(row, property, page->run_folder)
                              : view_command(page->view->results, row);
    html_put(page, "<h3>%s, %s %s</h3>\n", title, row->search ? "under" : "in", row->subject);
    html_history(page, row->folder, result_history(row, property), property->first_index, label,
                 true);
    html_sentences(page, property->witness, property->witness_lines);
    if (again)
        html_put(page, "<p class=\"again\">Replay it: <code>%s</code></p>\n", again);
    free(again);
    free(label);
    free(title);
}

/* Its first sentence is the page's title. */
void html_conclusion(const struct page *page)
{
    if (!conclusion_is_told(page->view))
        return;
    const struct conclusion conclusion = conclusion_of(page->view);
    html_put(page, "<section class=\"conclusion\">\n<h2>%s</h2>\n",
             conclusion.failures ? "Why, and what to do" : "What was found");
    put_paragraph(page, conclusion_played(page->view));
    if (conclusion.failures)
        html_put(page, "<ul class=\"reasons\">\n");
    for (int i = 0; i < conclusion.failures; i++)
        put_cause(page, &conclusion.causes[i]);
    if (conclusion.failures)
        html_put(page, "</ul>\n");
    else if (!conclusion.count)
        html_put(page, "<p>Nothing.</p>\n");
    put_paragraph(page, conclusion_known(&conclusion));
    put_paragraph(page, conclusion_held(page->view));
    put_paragraph(page, conclusion_others(&conclusion));
    put_paragraph(page, conclusion_run(page->view));
    put_paragraph(page, conclusion_open(page->view, &conclusion));
    if (conclusion.failures)
        put_counterexample(page, &conclusion.causes[0]);
    html_put(page, "</section>\n");
}
