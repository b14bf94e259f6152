/* bfs.h - breadth-first search, by faults and then by events: every state once, the first path
 * to it kept, which is a shortest one.
 *
 * The frontier is bounded by faults: a layer is all that is reached with so many of them. A step
 * that costs a fault goes to the frontier of the next layer, with the depth that it would have
 * had, so that there, too, the shortest comes first. */
#ifndef PICKLOCK_EXPLORE_SEARCH_BFS_H
#define PICKLOCK_EXPLORE_SEARCH_BFS_H

#include "base/bits.h"
#include "explore/graph/successors.h"
#include "explore/search/outcome.h"
#include "explore/store/fingerprint_set.h"

#include <limits.h>

/* Where a property was violated with the fewest faults and events: by the step-th step that follows
 * a state (STATE_NONE: nowhere yet). */
struct violation {
    uint32_t state;
    int step;
    int faults, events;
    bool is_by_leftover; /* BY_LEFTOVER: only until there is another */
};

#define STATE_NOTES(BIT)                                                                           \
    BIT(STATE_GRANTS)       /* a step without a fault grants */                                    \
    BIT(STATE_WANTS)        /* somebody can still ask for the lock */                              \
    BIT(STATE_LEADS)        /* has edges */                                                        \
    BIT(STATE_BY_FAULT)     /* its parent led to it by a fault */                                  \
    BIT(STATE_BY_TICK)      /* its parent led to it by a tick */                                   \
    BIT(STATE_HELD)         /* somebody believes to hold the lock */                               \
    BIT(STATE_GRANTS_LATER) /* a step that begins with a tick grants */
BITS(state_note, STATE_NOTES);

/* The first edge of each state; a tick passes with it; where it leads. */
#define EDGE_FIRST 0x80000000u
#define EDGE_TICK  0x40000000u
#define EDGE_STATE (EDGE_TICK - 1)

enum { WITHOUT_END = INT_MAX };

struct search {
    const struct explore_options *options;
    struct state_space space;
    struct successors successors;
    struct fingerprint_set visited;
    struct violation first_violations[PROPERTY_COUNT];
    enum explore_end end;
    uint64_t transitions;
    uint64_t bytes; /* at the largest */
    int depth;
    int layer, layer_depth; /* where it ended: with so many faults, so many events deep; all ways of
                               fewer faults were seen, and of as many up to so many events */
    /* fast_path.h: what is found is the same without. */
    bool has_sleep_sets;
    uint64_t skipped; /* of the transitions: so many were not looked up */
    /* For progress: where the steps without a fault lead, in the order of the states that they come
     * from. Left out is what leads to a state for the first time, which its parent tells, and what
     * comes from a state that grants. */
    bool keeps_edges;
    /* search_bounded(): */
    int bound;      /* events of a way that is looked for, at most; 0: any number */
    int faults_due; /* and so many faults: there is no path with fewer */
    int next_bound; /* events, at least, of the ways that were left out; WITHOUT_END: none was */
    bool is_precondition_violated; /* search_partial_order() does not suit the scheme: nothing of
                                      the search counts */
    struct chunked_array edges;
    uint32_t edges_from; /* whose edges are being added */
    uint8_t *notes;      /* by state: enum state_note */
    size_t notes_size;
    uint8_t *waits; /* by state, once progress was judged: ticks to the next grant; WAIT_ENDLESS */
    size_t waits_size;
    /* Asked now and then, and before every depth: is there nothing more to look for with so many
     * faults, this deep? Then the search ends. NULL: go on. */
    bool (*is_enough)(void *context, const struct search *search, int faults, int depth);
    void *context;
};

BITS_FIT(STATE_NOTES, struct search, notes[0]);

/* Nothing shorter than this can come any more, once a search is so many faults and events deep. */
bool violation_is_final(const struct violation *violation, int faults, int depth);

void search_init(struct search *search, const struct explore_options *options);

/* Before it runs: one order for many (partial_order.h). Ways are not the shortest then, and no
 * witness can be built. */
void search_partial_order(struct search *search);

/* Before it runs: only paths of at most so many events and of so many faults, to what is sought and
 * takes no fewer. lower_bound_suits(). */
void search_bounded(struct search *search, int events, int faults);
void search_run(struct search *search);
void search_close(struct search *search);

/* Fills first_violations[PROPERTY_PROGRESS]: a state from which no path without a fault leads to a
 * grant soon enough, though somebody can still ask. Once, after a search that was complete. */
enum { WAIT_ENDLESS = UINT8_MAX };
void search_progress(struct search *search);

/* Is nobody granted the lock in time from there on? search_progress() was called. */
bool search_is_overdue(const struct search *search, uint32_t state);
/* And can somebody ask for it there? */
bool search_is_stuck(const struct search *search, uint32_t state);

#endif
