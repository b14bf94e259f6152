/* search_run.h - one run of a search by running, at random or by priorities. It hangs on its terms
 * and its number alone: it is the same whoever makes it, and when. Private to the search
 * (worker_search.h). */
#ifndef PICKLOCK_RUN_SEARCH_RUN_H
#define PICKLOCK_RUN_SEARCH_RUN_H

#include "run/walk.h"

/* Strategies change after so many runs. */
enum { SEARCH_SLICE_RUNS = 16 };

struct search_terms {
    struct walk_maker walker; /* what is known by then, too */
    enum explore_search search;
    uint64_t seed;
    int length; /* of a walk, about */
    int faults; /* that may strike */
};

/* What it showed. */
struct search_run {
    uint64_t number; /* of the run, from 0 */
    uint64_t states[WALK_MOVES_MAX];
    int states_count; /* one a transition */
    struct {
        enum verdict verdict;
        enum cause cause;
    } found[PROPERTY_COUNT];
    int faults, count, waits;                           /* as of a walk */
    struct move moves[WALK_MOVES_MAX + WALK_WAITS_MAX]; /* where something is violated */
};

/* As walk_make(). picker: NULL: as the terms say. Fills what was met up to a failure, too. */
enum fail search_run_make(const struct search_terms *terms, uint64_t number, struct picker *picker,
                          struct worker_walk *walk, struct search_run *run,
                          struct failure *failure);

bool search_run_has_violated(const struct search_run *run);
/* How many of its bytes say something. */
size_t search_run_size(const struct search_run *run);

/* Processes and servers, used by one run after another. */
struct search_crew {
    struct worker_program *program; /* borrowed */
    struct run run;
    struct kept_workers *kept; /* for that run; NULL: nothing runs */
};

/* Those that are there stay where they suit. Failures as of kept_workers_new(). */
enum fail search_crew_suit(struct search_crew *crew, const struct run *run,
                           struct failure *failure);
void search_crew_rest(struct search_crew *crew);

#endif
