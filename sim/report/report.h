/* report.h - the formats of reports (report/formats.h), one a file. They print what results hold
 * and compute no verdict.
 *
 * Files are written under a temporary name and renamed when whole: a crash or a full disk leaves
 * the old file or none. */
#ifndef PICKLOCK_REPORT_REPORT_H
#define PICKLOCK_REPORT_REPORT_H

#include "report/formats.h"
#include "run/result.h"

#include <stdio.h>

struct diff;

/* The terminal summary. colours: 0 or 1. */
void report_terminal(FILE *out, const struct results *results, int colours);

/* The same, but of scenarios only those that somebody may want to look at (violated, or unknown),
 * and of no run its sentences. */
void report_terminal_brief(FILE *out, const struct results *results, int colours);

/* What characters a terminal can show. */
enum charset { CHARSET_ASCII, CHARSET_UTF8 };

/* Prints the history at path as a space-time diagram of at most 100 columns: a column a client and
 * a server, arrows for messages, bars for holds and for the key's owner, words at the right. A
 * history with too many columns is printed as a list of its events; one too long, with no place to
 * look at (first_index less than 1, see timeline.h), as a sentence that says so. FAIL_INPUT: not a
 * history.
 */
enum fail report_timeline(FILE *out, const char *history_path, int64_t first_index,
                          enum charset charset, struct failure *failure);

/* The first_index of what the summary says about a row: -1 where nothing tells. */
int64_t report_first_index(const struct result_row *row);

/* Which rows of results are drawn. */
struct timeline_choice {
    const char *scenario, *scheme; /* NULL: any; borrowed */
    const char *run_folder;        /* where histories are; borrowed */
};

/* The diagram of each violated row that is chosen and has a history, under its name and over its
 * sentences. *count (may be NULL): how many were drawn. */
enum fail report_timelines(FILE *out, const struct results *results,
                           const struct timeline_choice *choice, enum charset charset, int *count,
                           struct failure *failure);

/* What a format prints, and where; all borrowed. */
struct report {
    FILE *out;
    const char *path; /* of out, as the user named it */
    const struct results *results;
    const char *run_folder;  /* where histories are, or NULL */
    const struct diff *diff; /* what they are compared with, or NULL */
};

/* Each prints a report; a failed write is not its business (outfile_shut() tells). FAIL_INPUT: the
 * results have what the format cannot hold. */
#define FORMAT_PRINT(with, id, name, file, help)                                                   \
    enum fail report_##name(const struct report *report, struct failure *failure);
FORMATS(FORMAT_PRINT, )
#undef FORMAT_PRINT

/* Writes one file; path "-" is stdout. FAIL_INPUT when the path is wrong or may not be written,
 * FAIL_INTERNAL when writing fails (disk full); an older file is then untouched. run_folder: where
 * histories are (borrowed, may be NULL). */
enum fail report_write(enum format format, const char *path, const struct results *results,
                       const char *run_folder, struct failure *failure);

/* The same, of results that are compared with others (diff.h; borrowed, may be NULL): the page then
 * shows both beside each other. */
enum fail report_write_diff(enum format format, const char *path, const struct results *results,
                            const char *run_folder, const struct diff *diff,
                            struct failure *failure);

/* "--json"; "results.json". */
const char *report_option(enum format format);
const char *report_file(enum format format);

/* Reads a results.json back, for `picklock report`, strictly: FAIL_INPUT names the place. *results:
 * results_free. */
enum fail report_read(const char *path, struct results *results, struct failure *failure);

/* Makes <UTC time>-<name>/ under out (NULL: "reports/runs", made where missing); a folder that is
 * there gets a sibling "-2". *folder: caller frees. FAIL_INPUT: out is no folder, or may not be
 * written. */
enum fail report_folder_new(const char *out, const char *name, char **folder,
                            struct failure *failure);
/* Whether report_folder_new can make its folder under out (NULL: "reports/runs"), as far as can be
 * told without making anything. FAIL_INPUT: what it would say. */
enum fail report_folder_check(const char *out, struct failure *failure);
/* Makes the folder path and those above it, where they are missing. FAIL_INPUT: not possible there.
 */
enum fail report_folder_make(const char *path, struct failure *failure);
/* Points the `latest` link beside the folder at it; after the reports are written. */
enum fail report_folder_latest(const char *folder, struct failure *failure);

#endif
