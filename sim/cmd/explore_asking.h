/* explore_asking.h - `picklock explore --worker` with an exhaustive search: the cells of a worker,
 * decided by asking once (ask/asking.h), and their witnesses replayed with real workers in fresh
 * processes. */
#ifndef PICKLOCK_CMD_EXPLORE_ASKING_H
#define PICKLOCK_CMD_EXPLORE_ASKING_H

#include "ask/asking.h"
#include "cmd/explore_cells.h"
#include "run/replays_ahead.h"

/* What all cells rest on. */
struct explore_asking {
    struct asking_figures figures; /* executions 0: it was not asked */
    uint64_t executions_again;     /* with waits that are added up; 0: it was not needed */
    int cells_again;               /* that were decided so */
    bool stands; /* and it did not answer alike then: its waits come to just what it waits for in
                    all. What was not found then stands as the first search has it */
    bool adds_waits; /* so it is asked now */
    int finer;       /* with a lease of so many more ticks */
    int lease_ticks;
    enum asking_extend extend;
    bool could_be_cancelled;
    bool skips_fence;     /* it promises one, and their order was not asked for */
    char kept_words[256]; /* why answers of an earlier run were not taken, or kept; "" */
    bool has_failed;      /* the worker did not answer alike, or what it said cannot be asked on */
    struct failure past;  /* somebody went past the proxy: no cell has a verdict */
    struct worker_replays
        *replays;                /* that were made, with their histories; explore_asking_close() */
    struct replays_ahead *ahead; /* while it runs: of these, some are made by it; may be NULL */
};

void explore_asking_close(struct explore_asking *asking); /* of zeros: nothing */

/* Can a worker be struck by these ("stall,crash+stall"; NULL: all that can)? FAIL_INPUT: not by one
 * of them, or there is no such fault. Where asking does not decide one, it may be run
 * (explore_undecided.h). */
enum fail explore_asking_or_running_check(const char *faults, struct failure *failure);

/* What the lock guards is not touched: a worker's controller has no part in the replay for it. */
void explore_asking_suit(struct cell *cell);

/* Searches the cells, replays what they found, and finishes them; of a run that has a folder the
 * histories of its replays are kept there (args->output.folder) until asking is closed. FAIL_INPUT:
 * a fault that does not apply, or a worker that cannot be used, as FAIL_UNAVAILABLE. What a worker
 * does not decide is a reason in its cells. */
enum fail explore_asking_run(struct explore_asking *asking, struct cells *cells,
                             const struct explore_args *args, struct failure *failure);

#endif
