/* moves.h - what can be chosen next in a directed world, whatever its clients are: for searches
 * that run schedules.
 *
 * The rules are the explorer's: without a fault the world is prompt, so time passes only when
 * nothing is due; behind a fault that breaks connections it also passes within a critical section,
 * until a timer rings. A fault that makes somebody slow is a pause: the message, the critical
 * section or the whole client stands still from then on, until some time has passed. Pauses are in
 * no schedule: there they show as time that passes before a choice. Pure. */
#ifndef PICKLOCK_RUN_MOVES_H
#define PICKLOCK_RUN_MOVES_H

#include "explore/model/options.h"

enum move_kind {
    MOVE_CHOICE,
    MOVE_PAUSE, /* `choice` stands still; of a stall its client, and `choice` says only whose */
    MOVE_GO_ON, /* the same goes on */
};

struct move {
    enum move_kind kind;
    enum fault fault; /* that it costs; FAULT_NONE */
    struct choice choice;
    bool is_due; /* no time passes before it */
};

enum { MOVES_MAX = 512, MOVES_TIMES_MAX = 10, MOVES_LEASE_TICKS = 2 };

struct pause {
    enum fault fault;
    struct choice choice;
    int number; /* of the message */
    int since;  /* moves_state.times when it began */
};

struct moves_bounds {
    int rounds;           /* attempts of each client; one that is refused is not counted, */
    int spare;            /* but there are only so many more */
    int ticks;            /* that pass in all, besides the time that timers take */
    enum section section; /* what a critical section does before the release */
    bool has_extends;     /* a holder may extend, once */
    bool has_cancels;     /* an acquire may be cancelled, of each client one */
};

/* Beside the world: what a run may still do. */
struct moves_state {
    const struct run *run;
    struct moves_bounds bounds;
    uint8_t budget[FAULT_COUNT]; /* that is left */
    struct pause pauses[EXPLORE_FAULTS_MAX];
    int pauses_count;
    enum server_reach reach[SERVERS_MAX];
    bool has_replica[SERVERS_MAX], is_cut[SERVERS_MAX], has_saved[SERVERS_MAX];
    /* Connections were, since time has passed last. */
    bool is_broken;
    bool is_waiting_out;           /* time passes from timer to timer, however long it takes */
    bool has_nothing[FAULT_COUNT]; /* to strike by that fault, until something else happens */
    int refused[ACTORS_MAX];
    int accesses[ACTORS_MAX];      /* that its section has begun; many: one failed */
    bool has_extended[ACTORS_MAX]; /* in the hold that goes on */
    bool has_cancelled[ACTORS_MAX];
    bool has_drifted[ACTORS_MAX];
    unsigned held_dials[ACTORS_MAX]; /* bit a server: who connects there is not answered */
    int dials_since[ACTORS_MAX];     /* of `times`: when it began to connect */
    int times, ticks;                /* that time has passed; and that it was a whole tick */
};

/* run is kept; budget: FAULT_COUNT of them. */
void moves_begin(struct moves_state *state, const struct run *run,
                 const struct moves_bounds *bounds, const uint8_t *budget);

/* Fills moves (MOVES_MAX) in a fixed order; returns how many. None: the run is over. */
int moves_list(struct moves_state *state, struct world *world, struct move *moves);

/* Makes it in the world. FAIL_UNKNOWN: the world did not do it, and why; but a server that has
 * nothing to evict, or a client without a connection, is no failure: the move is off the list, and
 * *is_made says so. */
enum fail moves_make(struct moves_state *state, struct world *world, const struct move *move,
                     bool *is_made, struct failure *failure);

/* By how much time passes where no timer is due before. */
int64_t moves_tick_us(const struct run *run);

/* --- moves_access.c --- */
/* What the client's critical section does next; CHOICE_COUNT: nothing more. */
enum choice_kind moves_next_access(const struct moves_state *state, int client);
/* A choice was made, and its client was and is that. One that failed is the last of its section. */
void moves_note_access(struct moves_state *state, const struct choice *choice,
                       const struct client_view *before, const struct client_view *after);

/* The same, as far as another run can tell: time passes for as long as it does there. */
bool move_is_same(const struct move *one, const struct move *other);

/* Can a schedule of workers have it? The others are for the library itself, or nobody's. */
bool moves_have_fault(enum fault fault);

#endif
