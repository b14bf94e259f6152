/* worker_runs.h - the runs of a cell, in their order, whoever makes them. Private to the search
 * (worker_search.h).
 *
 * A slice of them has the same strategy, and takes walks to be as long as those before it were.
 * What is known changes with each run: behind one that found something, the next are made anew. */
#ifndef PICKLOCK_RUN_WORKER_RUNS_H
#define PICKLOCK_RUN_WORKER_RUNS_H

#include "run/runs_ahead.h"

struct worker_cell;

struct made_run {
    bool is_made;
    bool is_lost; /* it could not be judged */
    char *doubt;  /* why; or why nothing more can be said */
    struct search_run run;
};

/* In hand. */
struct run_slice {
    struct search_terms terms;
    uint64_t end;             /* of those that are made by these terms; 0: none are */
    struct runs_ahead *ahead; /* that helps with it; may be NULL */
    struct made_run runs[SEARCH_SLICE_RUNS];
};

/* Makes the next run, or another one of its slice. *made: the next one (borrowed until the next
 * call), or NULL: not yet. Failures end the search. */
enum fail worker_runs_next(struct worker_cell *it, struct made_run **made, struct failure *failure);
void worker_runs_close(struct worker_cell *it);

/* At most so many. */
uint64_t worker_runs_max(const struct worker_cell *it);

#endif
