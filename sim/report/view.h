/* view.h - what every format says in the same way: the order of rows, the property that stands for
 * a row, counts, words.
 *
 * Verdicts come from the results; nothing is judged here. */
#ifndef PICKLOCK_REPORT_VIEW_H
#define PICKLOCK_REPORT_VIEW_H

#include "run/result.h"

/* Rows in the order of reading: scenarios as they first came (one of another
 * origin is another one), stress last; within one the naive
 * schemes before the safe ones. */
struct view {
    const struct results *results; /* borrowed */
    const struct run_result **rows;
    int count;
};

void view_init(struct view *view, const struct results *results);
void view_close(struct view *view);

/* The first row behind `from` that is of another scenario, or count. */
int view_group_end(const struct view *view, int from);

/* The property that a line about the row names: not as expected before stated before the rest, then
 * by blame, then by the order of the table, among those with the row's verdict. NULL: the row has
 * none. */
const struct property_result *view_headline(const struct run_result *row);

/* "naive", "safe", or "-" where nobody said which. */
const char *view_side(const struct run_result *row);

/* Does the row's verdict name a fault of the scheme itself, of its surroundings, or of nobody? */
enum blame view_blame(const struct run_result *row);

/* What --scheme is told to have that scheme again: its file, quoted for a shell, or its name. The
 * caller frees. */
char *view_scheme_argument(const char *name, const char *file);

/* "holds", "not applicable", "unsupported": what a row came to, in a word or two. */
const char *view_verdict(const struct run_result *row);

/* Does somebody have to look at it? Not as expected, or unknown. */
bool view_is_trouble(enum standing standing);

/* "113 of 201 runs (SIGINT)", of what did not come to its end, or NULL; the caller frees. */
char *view_interrupted_words(const struct results *results);

/* "as expected", "NOT expected", "unknown", "" (nothing stated, or nothing to state). */
const char *view_standing_words(enum standing standing);

struct view_counts {
    int rows, scenarios, schemes;
    int standing[STANDING_COUNT];
    int naive, naive_broken, safe,
        safe_broken; /* broken: the lock was lost by the scheme's own doing */
    int stress;
};
struct view_counts view_count(const struct view *view);

/* --- cells of the explorer --- */

struct view_explored {
    int cells, schemes;
    int words[CELL_UNKNOWN + 1];
    int failed, open, defects; /* what the exit status follows */
};
struct view_explored view_count_explored(const struct results *results);

/* "safe", "nobody's fault", "broken" ...; by enum cell_word. */
extern const char *const view_cell_words[];

/* The first cell behind `from` that has other bounds, another scheme or origin, or count. */
int view_cells_end(const struct results *results, int from);

/* Their verdict in one sentence, "" where there are none; the caller frees. */
char *view_explored_words(const struct results *results);

/* "release-own is violated (unlock-bug) in 14 steps"; the caller frees. */
char *view_property_words(const struct explored_property *property);

/* "confirmed on real Redis", "replayed", "NOT CONFIRMED", "". */
const char *view_confirmed_words(const struct explored_property *property);

/* As view_side(). */
const char *view_cell_side(const struct explored *cell);

/* How sure: "3e-13 omitted", or of a random search, which cannot tell, "4000 runs"; the caller
 * frees.
 */
char *view_sureness(const struct explored *cell);

/* The command that searches the cell again; the caller frees. */
char *view_explore_command(const struct explored *cell);

/* The command that replays the property's witness, or NULL; run_folder (may be NULL) is where its
 * schedule is unless the cell says otherwise. The caller frees. */
char *view_replay_command(const struct explored *cell, const struct explored_property *property,
                          const char *run_folder);

/* --- words --- */

/* What made the rows of an origin, in one line; the caller frees. */
char *view_origin_words(const struct results *results, int origin);

/* "Where nothing was expected, --fail-on scheme judged.", or NULL: no policy could fail anything;
 * the caller frees. */
char *view_policy_words(const struct results *results);

/* The verdict of all rows in one sentence; the caller frees. */
char *view_verdict_words(const struct view *view);

/* What ran, in one sentence: how many runs of what on which server; the caller frees. */
char *view_scope_words(const struct view *view);

/* How naive and safe schemes fared, in one sentence, or NULL; the caller frees. */
char *view_sides_words(const struct view *view);

/* "release-own is violated (unlock-bug), expected holds"; for a row that could not be judged, or
 * does not apply, why. The caller frees. */
char *view_row_words(const struct run_result *row);

/* The command that makes this row again; the caller frees. */
char *view_command(const struct results *results, const struct run_result *row);

/* The row whose sentences are worth showing when all is as expected: the first one broken by its
 * own scheme, else the first violated, else NULL. */
const struct run_result *view_first_bug(const struct view *view);

#endif
