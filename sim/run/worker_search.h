/* worker_search.h - search by running: cells of the matrix, filled by schedules of a user's worker.
 *
 * The processes are kept from schedule to schedule and reset; that a reset forgets everything is
 * tried, not believed: the first schedule, in new processes, and every AUDIT_EVERY-th are run
 * again. What is found is shrunk, then replayed in new processes CONFIRMATIONS times: one that does
 * not come again each time is no finding, and its property is unknown. Nothing is ever safe. From
 * the main thread only. */
#ifndef PICKLOCK_RUN_WORKER_SEARCH_H
#define PICKLOCK_RUN_WORKER_SEARCH_H

#include "run/result.h"
#include "run/worker_scheme.h"

enum {
    WORKER_SEARCH_RUNS = 1000, /* of a cell, where nothing else was asked for */
    WORKER_SEARCH_AUDIT_EVERY = 20,
    WORKER_SEARCH_CONFIRMATIONS = 10,
    WORKER_SEARCH_BLAMED = 10, /* runs of a sample that show the lock's own failure are enough */
    WORKER_SEARCH_SHRINKING = 300, /* runs for one finding, at most */
    WORKER_SEARCH_HELPED = 200, /* runs, made or to be made: a second group of processes begins */
    WORKER_SEARCH_CLIENTS = 2,
    WORKER_SEARCH_DEVIATIONS = 3,
    WORKER_SEARCH_LEASE_US = 10000000,
};

struct worker_search;

/* worker and names (EXPLORE_CLIENTS_MAX clients') are kept. No other thread of ours runs yet, nor
 * anything that we started. */
struct worker_search *worker_search_new(struct worker_scheme *worker,
                                        char (*names)[NAME_MAX_BYTES]);
void worker_search_free(struct worker_search *search); /* NULL is fine */
/* Of what runs for it nothing does any more, until the next cell. */
void worker_search_rest(struct worker_search *search);
/* The process that makes runs beside it (runs_ahead.h); 0: there is none. */
int worker_search_child(const struct worker_search *search);

/* Searches the cell (cell_init(), cell_add_faults(); search, bounds, seed, limits as in its
 * options) and fills its outcome and witnesses, confirmed or not. It is a whole cell then: no
 * cell_finish(). Processes of the cell before it are used again where they suit. Failures end the
 * program; that nothing can be said of a worker is the cell's. */
enum fail worker_search_cell(struct worker_search *search, struct cell *cell,
                             struct failure *failure);

#endif
