/* worker_findings.h - what runs of a worker found: shrunk, confirmed, put down. Private to the
 * search (worker_search.h). */
#ifndef PICKLOCK_RUN_WORKER_FINDINGS_H
#define PICKLOCK_RUN_WORKER_FINDINGS_H

#include "run/pickers.h"
#include "run/worker_runs.h"
#include "run/worker_search.h"

struct state_set {
    uint64_t *rows; /* 0: free */
    size_t size, count;
};

/* The best way so far to violate a property: the gravest, with the fewest faults and moves. */
struct worker_violation {
    bool is_there;
    enum cause cause;
    uint64_t run;             /* the first that showed something as grave */
    int faults, count, waits; /* as of a walk */
    struct move moves[WALK_MOVES_MAX + WALK_WAITS_MAX];
};

struct worker_search {
    struct worker_scheme *worker;
    char (*names)[NAME_MAX_BYTES];
    struct search_crew crew;
    struct runs_ahead *ahead; /* may be NULL */
    uint64_t runs;            /* of all cells, since it rested */
    bool is_helped;           /* `ahead` was asked for some of them */
};

/* The search of a cell. */
struct worker_cell {
    struct worker_search *search;
    struct cell *cell;
    struct walk_maker walker;
    struct state_set states;
    struct run_slice slice;
    struct bounded_picker bounded;
    int faults;                      /* that may strike */
    unsigned applies;                /* bit a property: some run could be judged by it */
    uint64_t lost;                   /* runs that could not be judged */
    uint64_t struck;                 /* runs in which a fault struck */
    uint64_t blamed;                 /* runs that show a failure of the lock's own */
    uint64_t half_runs, half_states; /* when half of all runs were made */
    bool has_made_all;               /* of a bounded search */
    char *doubt;                     /* why nothing more can be said; ends the search */
    struct worker_violation best[PROPERTY_COUNT];
};

/* After each run: how far the search is. */
static inline void worker_cell_tell(const struct worker_cell *it)
{
    const struct explore_options *options = &it->cell->options;
    if (options->watch)
        options->watch(options->watch_context,
                       &(struct explore_progress){.states = it->states.count, .depth = -1});
}

/* Shrinks each of the best, replays it in new processes, and fills the cell's findings and
 * witnesses. Other failures than FAIL_UNKNOWN end the program. */
enum fail worker_findings_confirm(struct worker_cell *it, struct failure *failure);

#endif
