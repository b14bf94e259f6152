/* html_conclusion.c - on top of the page of a test: the verdict in words, cause by cause, with what
 * to do about it, and the shortest counterexample as a diagram. */
#include "report/html.h"

#include "base/memory.h"
#include "report/conclusion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes words; NULL: nothing. */
static void put_paragraph(const struct page *page, char *words)
{
    if (words) {
        fputs("<p>", page->out);
        html_text(page, words);
        fputs("</p>\n", page->out);
    }
    free(words);
}

static void put_cause(const struct page *page, const struct concluded_cause *cause)
{
    int at = 0;
    while (page->view->rows[at] != cause->row)
        at++;
    char *id = html_row_id(page->view, at), *where = conclusion_where(cause);
    fprintf(page->out, "<li><a href=\"#%s\">%s</a>: ", id, cause_name(cause->cause));
    html_text(page, cause_words(cause->cause));
    fputs("; ", page->out);
    html_text(page, where);
    fputs(". <b>What to do:</b> ", page->out);
    html_text(page, cause_advice(cause->cause));
    fputs(".</li>\n", page->out);
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
    fprintf(page->out, "<h3>%s, %s ", title, row->search ? "under" : "in");
    html_text(page, row->subject);
    fputs("</h3>\n", page->out);
    html_history(page, row->folder, result_history(row, property), property->first_index, label,
                 true);
    html_sentences(page, property->witness, property->witness_lines);
    if (again) {
        fputs("<p>Replay it: <code>", page->out);
        html_text(page, again);
        fputs("</code></p>\n", page->out);
    }
    free(again);
    free(label);
    free(title);
}

void html_conclusion(const struct page *page)
{
    if (strcmp(page->view->results->command, "test") != 0 || !page->view->count)
        return;
    const struct conclusion conclusion = conclusion_of(page->view);
    fputs("<section class=\"conclusion\">\n<h2>The verdict</h2>\n", page->out);
    put_paragraph(page, conclusion_whole(page->view, &conclusion));
    fputs(conclusion.failures ? "<ul>\n" : "", page->out);
    for (int i = 0; i < conclusion.failures; i++)
        put_cause(page, &conclusion.causes[i]);
    fputs(conclusion.failures ? "</ul>\n" : "", page->out);
    put_paragraph(page, conclusion_others(&conclusion));
    put_paragraph(page, conclusion_open(page->view, &conclusion));
    if (conclusion.failures)
        put_counterexample(page, &conclusion.causes[0]);
    fputs("</section>\n", page->out);
}
