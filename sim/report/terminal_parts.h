/* terminal_parts.h - between terminal.c, which prints the summary, and terminal_cells.c, which
 * prints what the explorer found. */
#ifndef PICKLOCK_REPORT_TERMINAL_PARTS_H
#define PICKLOCK_REPORT_TERMINAL_PARTS_H

#include "report/view.h"

#include <stdbool.h>
#include <stdio.h>

/* A run of the terminal printer. */
struct terminal {
    FILE *out;
    int colours;
    int columns; /* text_room() */
    int scheme_columns;
    bool is_brief;
};

static const char bold[] = "1", dim[] = "2", red[] = "31", green[] = "32", yellow[] = "33",
                  loud[] = "1;31";

/* Prints text in a column of its width (0: as wide as it is), in a colour or none (NULL). */
void terminal_cell(const struct terminal *terminal, const char *colour, const char *text,
                   int width);

const char *terminal_colour(const struct result_row *row);

/* Which of the results' origins the row comes from, where there are several; and the line's end. */
void terminal_origin(const struct terminal *terminal, const struct view *view, int at);

/* A paragraph a scheme, with its bounds, and a line a set of faults. */
void terminal_cells(const struct terminal *terminal, const struct view *view,
                    const struct view_counts *counts);

#endif
