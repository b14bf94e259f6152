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

/* The id of the row's part of the details: the same in every table. The caller frees. */
char *html_row_id(const struct view *view, int at);

/* Text, escaped. */
void html_text(const struct page *page, const char *text);

/* A class for the colour of a row's verdict: "bug", "world", "overrun", "holds", "unknown"; and its
 * sign. */
const char *html_verdict_class(const struct run_result *row);
const char *html_verdict_mark(const struct run_result *row);

#endif
