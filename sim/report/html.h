/* html.h - the parts of the page, a file each: html.c the frame, html_table.c the tables,
 * html_conclusion.c and html_diff.c what stands above, html_details.c, html_folded.c and
 * html_findings.c what stands below them.
 */
#ifndef PICKLOCK_REPORT_HTML_H
#define PICKLOCK_REPORT_HTML_H

#include "report/view.h"

#include <stdio.h>

struct diff;

struct page {
    FILE *out;
    const struct view *view;
    const char *run_folder;  /* where histories are, or NULL */
    bool is_in_folder;       /* the page lies in it: paths can be links */
    const struct diff *diff; /* what the rows are compared with, or NULL */
};

/* Of a page of `picklock test`: each cause with what to do about it, and the shortest
 * counterexample; else nothing. */
void html_conclusion(const struct page *page);

/* What has changed, old and new beside each other; nothing where nothing is compared. */
void html_diff(const struct page *page);

/* The table scheme x scenario of all directed rows; nothing when there are none. */
void html_scenarios(const struct page *page);

/* The tables scheme x faults of the explorer's cells, one an origin; nothing without cells. */
void html_cells(const struct page *page);

/* The figures of stress rows; nothing when there are none. */
void html_stress(const struct page *page);

/* Of a stress row its plots, where its series was recorded; else nothing. */
void html_plots(const struct page *page, const struct result_row *row);

/* Plots by the number of clients, for each lock that was run with several; else nothing. */
void html_growth(const struct page *page);

/* Every row: story or bounds, sentences, timeline, properties, how to run or replay it again. */
void html_details(const struct page *page);

/* The cells of one scheme, from .. end of the view: what has the same cause stands together. */
void html_findings(const struct page *page, int from, int end);

/* The rows of the view before end: are they scenarios, and several, with one lock? Those with the
 * same verdict and cause then stand together. */
bool html_is_of_one_lock(const struct page *page, int end);
void html_folded(const struct page *page, int end);

/* The same of several locks, where there are many scenarios: a line each, that says how each side
 * fared. Open are the first that somebody has to look at, and the first bug. */
bool html_has_many(const struct page *page, int end);
void html_lines(const struct page *page, int end);

/* --- pieces that the files of the page share --- */

/* A scenario, or the cells of a scheme, with its head: the rows from .. end of the view. */
void html_group(const struct page *page, int from, int end);

/* One row of the details. */
void html_row(const struct page *page, int at);

/* " [2]" where the rows have several origins: the number that the list of them gives it. */
void html_origin(const struct page *page, int origin);

/* The id of the row's part of the details: the same in every table. The caller frees. */
char *html_row_id(const struct view *view, int at);

/* The history as a diagram, if there is one; first_index as in timeline.h. folder: what history is
 * relative to, NULL: the page's run folder. */
void html_history(const struct page *page, const char *folder, const char *history,
                  int64_t first_index, const char *label, bool is_open);

/* How far a cell was searched, and how that ended. */
void html_search(const struct page *page, const struct search_figures *search);

/* The sentences of a finding, as a list. */
void html_sentences(const struct page *page, char *const *sentences, int count);

/* As fprintf() to the page; each %s is escaped, and nothing where it is NULL (text.h). */
void html_put(const struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Why a run, or a run of stress, is what it is, in a word: its cause, or its verdict. */
const char *html_row_why(const struct result_row *row);

/* A class for the colour of a row's verdict: "bug", "world", "overrun", "holds", "unknown"; and its
 * sign. */
const char *html_verdict_class(const struct result_row *row);
const char *html_verdict_mark(const struct result_row *row);

#endif
