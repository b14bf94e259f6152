/* successors.h - successor generation: the canonical successors of a state, in a fixed order.
 *
 * The one place that knows which actions are enabled together: time passes only when nothing
 * urgent is left, and a fault needs a budget. */
#ifndef PICKLOCK_EXPLORE_GRAPH_SUCCESSORS_H
#define PICKLOCK_EXPLORE_GRAPH_SUCCESSORS_H

#include "explore/graph/properties.h"
#include "explore/graph/space.h"
#include "explore/store/insert_queue.h"

/* One step: who moved, what was violated by it, and the state after it. */
struct successor {
    enum action_kind kind;
    int client, server; /* positions before the step; -1: none */
    int message;        /* that it is about, or -1 */
    int fault;          /* enum fault of ACTION_INJECT, which it costs, and of ACTION_DELAYED */
    int ticks;          /* that a clock jumped by it */
    unsigned violated;  /* bit a property, and BY_LEFTOVER */
    bool is_grant, is_unsupported;
    bool is_tick; /* time passed, with it or before what must follow at once */
    uint32_t words[WORDS_MAX];
    /* Where clients and servers stand in those words: new_position[old]. */
    uint8_t new_position[EXPLORE_CLIENTS_MAX];
    uint8_t new_number[SERVERS_MAX];
};

BITS_FIT_COUNT(PROPERTY_COUNT + LEFTOVER_BITS, struct successor, violated);

struct successors {
    struct state_space *space;
    unsigned reductions;
    int slots;                  /* faults with a budget */
    int slot_of[FAULT_COUNT];   /* -1: none */
    uint32_t risky_budgets;     /* bits of the word of budgets: faults that strike all replies */
    uint32_t reply_budgets;     /* those that strike a reply, these included */
    uint32_t dependent_budgets; /* those to which every order matters (partial_order.h) */
    uint32_t delay_budgets; /* those that let time pass, and what they are before any strikes: */
    uint32_t delays_at_first;
    void (*take)(void *context, const struct successor *step);
    void *context;
    /* Where steps go of which there is nothing to tell but the state they lead to, and whether one
     * of them grants: none costs a fault or violates a property. Its owner says which state is in
     * hand. Borrowed; NULL: they are taken as all others. */
    struct insert_queue *queue;
};

/* Are there enough such steps? Not where an action concerns several servers, or the ghost order of
 * fences follows every step; and with stamps the records are so many that few of them meet twice.
 */
bool successors_have_quick(const struct successors *successors);

static inline bool step_is_fault(const struct successor *step)
{
    return step->kind == ACTION_INJECT;
}

/* space and context are kept. */
void successors_init(struct successors *successors, struct state_space *space,
                     const struct explore_options *options);

/* The first state. */
void successors_start(const struct successors *successors, const struct explore_options *options,
                      uint32_t *words);

/* Calls take for every step from that state, or pushes it into the queue, in a fixed order. words:
 * with a 0 after an odd number of them, here and in the steps. */
void successors_expand(struct successors *successors, const uint32_t *words);

/* How often a server may still break its connections. */
int successors_breaks(const struct successors *successors, const uint32_t *words);

/* Can a client that lives still begin an attempt? */
bool successors_want_lock(const struct successors *successors, const uint32_t *words);

/* Does a client believe to hold it? */
bool successors_have_holder(const struct successors *successors, const uint32_t *words);

#endif
