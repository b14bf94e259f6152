/* view.h - what every format says in the same way: the order of rows, the property that stands for
 * a row, counts, words.
 *
 * Verdicts come from the results; nothing is judged here. */
#ifndef PICKLOCK_REPORT_VIEW_H
#define PICKLOCK_REPORT_VIEW_H

#include "run/result.h"

/* Rows in the order of reading: scenarios as they first came (one of another origin is another
 * one), then stress, then cells, scheme by scheme with the same bounds; within a scenario the naive
 * schemes before the safe ones. */
struct view {
    const struct results *results; /* borrowed */
    const struct result_row **rows;
    int count;
};

void view_init(struct view *view, const struct results *results);
void view_close(struct view *view);

/* The first row behind `from` that is of another scenario, or of cells of another scheme or other
 * bounds; or count. */
int view_group_end(const struct view *view, int from);

/* The first row of that kind, or count. */
int view_first(const struct view *view, enum result_kind kind);

/* The property that a line about the row names. Of a cell result_cell_headline(); else not as
 * expected before stated before the rest, then by cause (causes.def), among those with the row's
 * verdict. NULL: the row has none. */
const struct result_property *view_headline(const struct result_row *row);

/* The gravest that is violated, which the word "violated" is of; NULL: none is. Not the headline,
 * where that one holds and ought not to. */
const struct result_property *view_violation(const struct result_row *row);

/* Of a run: each other cause that view_sides_words() may name, with the first property that shows
 * it, the gravest first. more: CAUSE_COUNT. Returns how many. */
int view_more_causes(const struct result_row *row, const struct result_property **more);

/* "naive", "safe", or "" where nobody said which. */
const char *view_side(const struct result_row *row);

/* Does the row's verdict name a fault of the scheme itself, of its surroundings, or of nobody? */
enum blame view_blame(const struct result_row *row);

/* "holds", "not applicable", "unsupported": what a row came to, in a word or two; of a cell the
 * cell's words. */
const char *view_verdict(const struct result_row *row);

/* "safe", "nobody's fault", "broken" ...; by enum cell_word. */
extern const char *const view_cell_words[];

/* Does somebody have to look at it? Not as expected, unknown, or a defect of picklock. */
bool view_is_problem(const struct result_row *row);

/* "as expected", "NOT expected", "unknown", "" (nothing stated, or nothing to state). */
const char *view_standing_words(enum standing standing);

struct view_counts {
    /* runs and stress runs: */
    int rows, scenarios, schemes, stress;
    int standing[STANDING_COUNT];
    /* cells: */
    int cells, cell_schemes;
    int words[CELL_UNKNOWN + 1];
    int failed, open, defects; /* what the exit status follows */
};
struct view_counts view_count(const struct view *view);

/* --- words; what is returned the caller frees, unless it is const --- */

/* What stands first and second in a row's name: scenario and scheme, or scheme and faults
 * (borrowed). */
struct view_names {
    const char *first, *second;
};
struct view_names view_names(const struct result_row *row);

/* "900 faults (20 pause, 880 delay), 45 inside a hold"; owned by the caller. */
char *view_struck(const struct stress_figures *figures);
/* "faults kept clients waiting for 24.1 s of their 30 s"; owned. NULL: they did not, or it is not
 * known. */
char *view_kept_waiting(const struct result_row *row);

/* "late-grant [2]": text with the number of its origin, where there are several. */
char *view_with_origin(const struct results *results, const char *text, int origin);

/* "release-own is violated (unlock-bug), expected holds"; for a row that could not be judged, or
 * does not apply, why; of a cell its words. */
char *view_row_words(const struct result_row *row);

/* "release-own is violated (unlock-bug) in 14 steps", of a property of a cell. */
char *view_property_words(const struct result_property *property);

/* "release-own is violated (unlock-bug)", of a property of a run. */
char *view_finding_words(const struct result_property *property);

/* The same, and what the row's scenario expected, where that is something else. */
char *view_told_words(const struct result_row *row, const struct result_property *property);

/* Whatever else of a row that is not as expected the scenario did not expect; NULL: nothing. The
 * headline is left out. */
char *view_more_differences(const struct result_row *row);

/* "and 1 step without a line: the fault itself, that somebody is slow", where the steps of a
 * witness are more than its choices; else NULL. */
char *view_unlisted_words(const struct result_property *property);

/* "confirmed on real Redis", "replayed", "NOT CONFIRMED", "". */
const char *view_confirmed_words(const struct result_property *property);

/* How sure: "3e-13 omitted", or of a random search, which cannot tell, "4000 runs". */
char *view_sureness(const struct search_figures *search);

/* What a report begins with: what is missing of it; then how the sides fared, or else the verdict.
 */
char *view_title_words(const struct view *view);

/* The verdict of all rows in one sentence. */
char *view_verdict_words(const struct view *view);

/* What ran, in one sentence: how many runs of what on which server. */
char *view_scope_words(const struct view *view);

/* How naive and safe schemes fared, one beside the other, and those that are neither: which broke
 * the lock by their own doing (causes.def: HARM_LOCK). NULL: nothing was judged. */
char *view_sides_words(const struct view *view);

/* "Where nothing was expected, --fail-on scheme said what counts as a failure.", or NULL: no policy
 * could fail anything.
 */
char *view_policy_words(const struct results *results);

/* "Where the lock is another program (python3 a.py), holds are inferred from its commands.", or
 * NULL. */
char *view_inferred_words(const struct results *results);

/* "113 of 201 runs (SIGINT)", of what did not come to its end, or NULL. */
char *view_interrupted_words(const struct results *results);

/* The faults of a cell, as a sentence names them: "no fault" where there is none. */
const char *view_faults(const char *faults);

/* What made the rows of an origin, in one line. */
char *view_origin_words(const struct results *results, int origin);

/* The row whose sentences are worth showing when all is as expected: the first one broken by its
 * own scheme, else the first violated, else NULL. Of runs and stress runs. */
const struct result_row *view_first_bug(const struct view *view);

/* What that one is shown as: "the first bug", "the deployment's fault", "nobody's fault". */
const char *view_bug_title(const struct result_row *row);

/* --- commands, quoted for a shell; the caller frees --- */

/* That makes the row again, or NULL. */
char *view_command(const struct results *results, const struct result_row *row);

/* That replays the witness of a cell's property, or NULL; run_folder (may be NULL) is where its
 * schedule is unless the row says otherwise. */
char *view_replay_command(const struct result_row *row, const struct result_property *property,
                          const char *run_folder);

#endif
