/* pickers.h - who chooses the next move of a walk: the strategies of searches by running.
 *
 * Each draws from the stream of its walk alone, so the same seed makes the same choices. */
#ifndef PICKLOCK_RUN_PICKERS_H
#define PICKLOCK_RUN_PICKERS_H

#include "base/random.h"
#include "run/walk.h"

/* Any move, each as likely; faults by a chance that is drawn for each walk. */
struct uniform_picker {
    struct picker picker;
    struct random random;
    uint32_t fault_chance; /* parts per million */
};
void uniform_begin(struct uniform_picker *picker, struct random random);

/* PCT: clients have priorities, and at some moves the highest gives way: it becomes the lowest
 * (Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with probabilistic
 * guarantees of finding bugs", 2010). Faults strike at moves that are drawn beforehand, and a pause
 * lasts until a lease is over. */
enum { PCT_CHANGES_MAX = 6, PCT_CHANGES_MIN = 3 };
struct pct_picker {
    struct picker picker;
    struct random random;
    int made, times_owed;
    int64_t rank[ACTORS_MAX], lowest;
    bool has_dialled[ACTORS_MAX]; /* and had no answer at once */
    int changes[PCT_CHANGES_MAX], changes_count;
    int strikes[EXPLORE_FAULTS_MAX], strikes_count; /* at which move a fault strikes */
};
/* length: how long walks are, about; faults: how many may strike. */
void pct_begin(struct pct_picker *picker, struct random random, int length, int faults);

/* As a list of moves went: a move that is not possible is left out. */
struct replay_picker {
    struct picker picker;
    const struct move *moves;
    int count, at;
};
void replay_begin(struct replay_picker *picker, const struct move *moves, int count);

/* Systematically, depth first: all walks with at most so many deviations, then with one more. A
 * deviation is a fault, or a preemption: whoever moved last could go on, and somebody else moves
 * (Musuvathi and Qadeer, "Iterative context bounding for systematic testing of multithreaded
 * programs", 2007). */
struct bounded_step {
    int at, next; /* the move that was made, and the one to make there next (-1: none) */
};
struct bounded_picker {
    struct picker picker;
    struct bounded_step steps[WALK_MOVES_MAX];
    int known; /* steps that the walk in hand repeats */
    int depth;
    int most; /* deviations */
    int last; /* the client that moved last; -1: none */
    int spent;
};
void bounded_begin(struct bounded_picker *picker);
/* Before the next walk. False: all with that many deviations were made. */
bool bounded_next(struct bounded_picker *picker, int most);

#endif
