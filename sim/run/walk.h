/* walk.h - one schedule of a search by running: chosen move by move, judged, and what was seen.
 *
 * Whoever chooses is a picker (pickers.h): at random, by priorities, systematically, or as another
 * walk went. */
#ifndef PICKLOCK_RUN_WALK_H
#define PICKLOCK_RUN_WALK_H

#include "run/moves.h"

#include "worker/worker_world.h"

/* Chosen; and behind them, until whoever waits on timers goes on, or never will. */
enum { WALK_MOVES_MAX = 160, WALK_WAITS_MAX = 640, WALK_NAME_MAX = 40 };

/* What a run showed, as far as it must come again: no tokens, which may differ. */
struct seen_event {
    int64_t time_us, number; /* number: of a reply */
    int kind, client, server, op, result, reply, effects;
    char name[WALK_NAME_MAX]; /* of the command, or of the fault */
};

struct worker_walk {
    struct move moves[WALK_MOVES_MAX + WALK_WAITS_MAX]; /* as they were made */
    int count;                                          /* that were chosen, */
    int waits;  /* and behind them, which come by themselves when those are made again */
    int faults; /* that it cost */
    struct seen_event *events;
    int events_count;
    struct finding findings[PROPERTY_COUNT];
};

void walk_close(struct worker_walk *walk);

/* Is that violated, by that cause? */
bool walk_has(const struct worker_walk *walk, enum property property, enum cause cause);

/* The choices of its moves (the caller frees); *count: how many. */
struct choice *walk_choices(const struct worker_walk *walk, int *count);

/* Where both first differ, in words: "A sends SET at 0.1 ms; then: A sends GET at 0.1 ms". False:
 * nowhere. At most size bytes. */
bool walk_differs(const struct worker_walk *one, const struct worker_walk *other, char *text,
                  size_t size);

/* The number of the move to make; -1: none, the run ends. */
struct picker {
    int (*pick)(struct picker *, const struct move *moves, int count);
};

/* What all walks of a search have in common. */
struct walk_maker {
    struct kept_workers *kept;
    const struct worker_program *program;
    const struct run *run; /* without sink */
    struct moves_bounds bounds;
    uint8_t budget[FAULT_COUNT];
    unsigned known;  /* bit a property: the walk does not end where it is violated */
    bool is_patient; /* at its end, who waits on nothing but timers is waited for */
    void (*state)(void *context, uint64_t fingerprint); /* NULL: nobody counts states */
    void *context;
};

/* Makes a walk. It ends when nothing can be chosen, the picker says so, or something is violated
 * that is not known. is_fresh: in new processes. FAIL_UNKNOWN: nothing can be said of it, and why;
 * other failures end the search. The walk is closed by the caller in any case. */
enum fail walk_make(const struct walk_maker *walker, struct picker *picker, bool is_fresh,
                    struct worker_walk *walk, struct failure *failure);

/* Says in a head whose program the clients are; none of their commands is missing in such a run. */
void walk_describe(const struct worker_program *program, struct history_head *head);
/* The head of the history of such a run. */
struct history_head walk_head(const struct run *run, const struct worker_program *program);

#endif
