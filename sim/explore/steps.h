/* steps.h - all that can follow a state, one step after the other, each in its canonical form.
 *
 * The one place that knows which moves are possible together: the prompt rule, the budgets, what
 * one client's move does to servers and to the verdict. */
#ifndef PICKLOCK_EXPLORE_STEPS_H
#define PICKLOCK_EXPLORE_STEPS_H

#include "explore/ring.h"

/* One step: who moved, what was violated by it, and the state after it. */
struct step_taken {
    enum move_kind kind;
    int client, server; /* positions before the step; -1: none */
    int parcel;         /* that it is about, or -1 */
    int fault;          /* enum fault of MOVE_STRIKE, which it costs, and of MOVE_FOLLOW */
    int ticks;          /* that a clock jumped by it */
    unsigned violated;  /* bit a property */
    bool is_grant, is_unsupported;
    bool is_tick; /* time passed, with it or before what must follow at once */
    uint32_t words[WORDS_MAX];
    /* Where clients and servers stand in those words: new_position[old]. */
    uint8_t new_position[EXPLORE_CLIENTS_MAX];
    uint8_t new_number[SERVERS_MAX];
};

BITS_FIT_COUNT(PROPERTY_COUNT, struct step_taken, violated);

struct stepper {
    struct space *space;
    unsigned reductions;
    int slots;                /* faults with a budget */
    int slot_of[FAULT_COUNT]; /* -1: none */
    uint32_t risky_budgets;   /* bits of the word of budgets: faults that strike all replies */
    uint32_t reply_budgets;   /* those that strike a reply, these included */
    uint32_t order_budgets;   /* those to which every order matters (order.h) */
    void (*take)(void *context, const struct step_taken *step);
    void *context;
    /* Where steps go of which there is nothing to tell but the state they lead to, and whether one
     * of them grants: none costs a fault or violates a property. Its owner says which state is in
     * hand. Borrowed; NULL: they are taken as all others. */
    struct ring *ring;
};

/* Are there enough such steps? Not where a move concerns several servers, or a roll follows every
 * step; and with stamps the records are so many that few of them meet twice. */
bool stepper_has_quick(const struct stepper *stepper);

static inline bool step_is_fault(const struct step_taken *step)
{
    return step->kind == MOVE_STRIKE;
}

/* space and context are kept. */
void stepper_init(struct stepper *stepper, struct space *space,
                  const struct explore_options *options);

/* The first state. */
void stepper_start(const struct stepper *stepper, const struct explore_options *options,
                   uint32_t *words);

/* Calls take for every step from that state, or pushes it into the ring, in a fixed order. words:
 * with a 0 after an odd number of them, here and in the steps. */
void stepper_expand(struct stepper *stepper, const uint32_t *words);

/* How often a server may still break its connections. */
int stepper_breaks(const struct stepper *stepper, const uint32_t *words);

/* Can a client that lives still begin an attempt? */
bool stepper_wants_lock(const struct stepper *stepper, const uint32_t *words);

/* Does a client believe to hold it? */
bool stepper_has_holder(const struct stepper *stepper, const uint32_t *words);

#endif
