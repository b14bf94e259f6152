/* report.h - the output formats; one a file. They print what results hold and compute no verdict.
 *
 * Files are written under a temporary name and renamed when whole: a crash or a full disk leaves
 * the old file or none. */
#ifndef PICKLOCK_REPORT_REPORT_H
#define PICKLOCK_REPORT_REPORT_H

#include "run/result.h"

#include <stdio.h>

/* The terminal summary. colours: 0 or 1. */
void report_terminal(FILE *out, const struct results *results, int colours);

/* Each writes one file; path "-" is stdout. FAIL_INPUT when the path is wrong or may not be
 * written, FAIL_INTERNAL when writing fails (disk full); an older file is then untouched.
 * run_folder: where histories are (borrowed, may be NULL). */
enum fail report_json(const char *path, const struct results *results, struct failure *failure);
enum fail report_markdown(const char *path, const struct results *results, struct failure *failure);
enum fail report_junit(const char *path, const struct results *results, struct failure *failure);
enum fail report_html(const char *path, const struct results *results, const char *run_folder,
                      struct failure *failure);

/* Reads a results.json back, for `picklock report`, strictly: FAIL_INPUT names the place. *results:
 * results_free. */
enum fail report_read(const char *path, struct results *results, struct failure *failure);

/* Makes <UTC time>-<name>/ under out (NULL: "reports/runs", made where missing); a folder that is
 * there gets a sibling "-2". *folder: caller frees. FAIL_INPUT: out is no folder, or may not be
 * written. */
enum fail report_folder_new(const char *out, const char *name, char **folder,
                            struct failure *failure);
/* Points the `latest` link beside the folder at it; after the reports are written. */
enum fail report_folder_latest(const char *folder, struct failure *failure);

#endif
