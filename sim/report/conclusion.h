/* conclusion.h - what all rows of one lock come to, cause by cause: what was found, how soon, and
 * what to do about it. What `picklock test` ends with, on the terminal and on its page. */
#ifndef PICKLOCK_REPORT_CONCLUSION_H
#define PICKLOCK_REPORT_CONCLUSION_H

#include "report/view.h"

struct concluded_cause {
    enum cause cause;
    bool is_failure;              /* --fail-on counts it, and no baseline accepts it */
    bool is_known;                /* it counts it, and a baseline accepts it */
    int cells, runs;              /* that show it */
    const struct result_row *row; /* that is shown: a cell, where there is one, the first
                                     in the order of faults; and the shortest property */
    const struct result_property *property;
    const struct result_row *soonest_row; /* of all cells. Borrowed, all four */
    const struct result_property *soonest;
};

/* Causes in the order of their table: those that count and are not known, then those that are
 * known, then the others. A cause stands among the first two where it is known in some rows only.
 */
struct conclusion {
    struct concluded_cause causes[2 * CAUSE_COUNT];
    int count, failures, known;
    int open, judged; /* rows that are unknown, or interrupted; and all that were to be judged */
    int cells;        /* of those that were judged: cells; */
    int sampled;      /* of these: that could only be run, and were */
};

struct conclusion conclusion_of(const struct view *view);

/* Does a report of it begin with the conclusion? It is one of `picklock test`. */
bool conclusion_is_told(const struct view *view);
/* What it begins with: conclusion_whole(). */
char *conclusion_title(const struct view *view);

/* All return one sentence or two, which the caller frees. The whole: "my_lock.py fails: unlock-bug,
 * late-grant." How many scenarios were played, and why not all; NULL: all were. What a baseline
 * accepts: "Known, accepted: unlock-bug (in 3 cells)."; NULL: nothing. What
 * was shown to hold, of releases and of leases; NULL: neither. What did not count, and
 * whose fault it is; NULL: there is nothing. What is not decided, with why; NULL: nothing. What was
 * found, or not, by running alone; NULL: nothing was looked for so. */
char *conclusion_whole(const struct view *view, const struct conclusion *conclusion);
char *conclusion_played(const struct view *view);
char *conclusion_known(const struct conclusion *conclusion);
char *conclusion_held(const struct view *view);
char *conclusion_others(const struct conclusion *conclusion);
char *conclusion_open(const struct view *view, const struct conclusion *conclusion);
char *conclusion_run(const struct view *view);

/* "The shortest counterexample (late-grant)", where nothing shorter is there, else "A
 * counterexample (late-grant)"; the caller frees. */
char *conclusion_example(const struct concluded_cause *cause);

/* "in 3 cells and 2 scenarios, soonest in 13 steps under duplicate"; or "in 3 cells, in 12 steps
 * under stall, soonest in 10 under server-clock" */
char *conclusion_where(const struct concluded_cause *cause);

#endif
