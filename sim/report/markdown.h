/* markdown.h - the parts of the comment, a file each: markdown.c the runs and the frame,
 * markdown_explored.c the explorer's cells. */
#ifndef PICKLOCK_REPORT_MARKDOWN_H
#define PICKLOCK_REPORT_MARKDOWN_H

#include "report/view.h"

#include <stdio.h>

/* Nothing when there are no cells. run_folder: where their schedules are, or NULL. */
void markdown_explored(FILE *out, const struct results *results, const char *run_folder);

#endif
