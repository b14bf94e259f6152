/* html.h - the parts of the page, a file each: html.c the frame, html_table.c the tables,
 * html_details.c what stands below them. */
#ifndef PICKLOCK_REPORT_HTML_H
#define PICKLOCK_REPORT_HTML_H

#include "report/view.h"

#include <stdio.h>

struct page {
    FILE *out;
    const struct view *view;
    const char *run_folder; /* where histories are, or NULL */
    bool is_in_folder;      /* the page lies in it: paths can be links */
};

/* The table scheme x scenario of all directed rows; nothing when there are none. */
void html_matrix(const struct page *page);

/* The figures of stress rows; nothing when there are none. */
void html_stress(const struct page *page);

/* Every row: story, sentences, timeline, properties, how to run it again. */
void html_details(const struct page *page);

/* The explorer's matrices scheme x faults, one an origin; nothing without cells. */
void html_explored(const struct page *page);

/* Every cell: bounds, the shortest witness drawn and told, properties, how to replay it. */
void html_explored_details(const struct page *page);

/* --- pieces that the files of the page share --- */

/* The first line of a matrix's head: naive columns, then the others under that title. Leaves thead
 * open. */
void html_sides(const struct page *page, int naive, int others, const char *title);

/* Sentences as a list; nothing when there are none. */
void html_sentences(const struct page *page, char *const *sentences, int count);

/* The history as a diagram, if there is one; first_index as in timeline.h. folder: what history is
 * relative to, NULL: the page's run folder. */
void html_timeline(const struct page *page, const char *folder, const char *history,
                   int64_t first_index, const char *label, bool is_open);

/* A file of the run folder, as a link where the page lies in it. */
void html_path(const struct page *page, const char *what, const char *folder, const char *path);

/* " [2]" where the rows have several origins: the number that the list of them gives it. */
void html_origin(const struct page *page, int origin);

/* The id of a cell's part of the details. The caller frees. */
char *html_cell_id(const struct results *results, int at);

/* words with nothing in them but what may stand in an id; at is added where that had to be changed,
 * or where at is not -1 (words came before). The caller frees. */
char *html_plain_id(const char *words, int at);

/* The id of the row's part of the details: the same in every table. The caller frees. */
char *html_row_id(const struct view *view, int at);

/* Text, escaped. */
void html_text(const struct page *page, const char *text);

/* A class for the colour of a row's verdict: "bug", "world", "overrun", "holds", "unknown"; and its
 * sign. */
const char *html_verdict_class(const struct run_result *row);
const char *html_verdict_mark(const struct run_result *row);

#endif
