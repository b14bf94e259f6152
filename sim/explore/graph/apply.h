/* apply.h - applies one action to a state: what it does to the other clients and servers, and
 * which properties are violated by it. For successors.c, which knows which actions are enabled
 * together. */
#ifndef PICKLOCK_EXPLORE_GRAPH_APPLY_H
#define PICKLOCK_EXPLORE_GRAPH_APPLY_H

#include "explore/graph/successors.h"

struct expansion {
    const struct successors *successors;
    struct state_space *space;
    const uint32_t *words; /* before */
    int words_even;        /* how many of them, with the 0 after an odd number */
    struct successor step;
    unsigned did;               /* by the action: enum effect_bit */
    unsigned observed;          /* of an execution: enum observed */
    struct insert_queue *queue; /* NULL: all steps are taken */
    bool is_sorted;             /* the states that follow */
    struct symmetry symmetry;
    /* partial_order.h: */
    int owner, pending_disconnect; /* of the step in hand, after it */
    unsigned violated_before;      /* by steps that it is the end of */
    bool has_granted;              /* one of them */
    bool has_waited;               /* one of them was a tick */
};

static inline uint32_t *budget_of(const struct state_space *space, uint32_t *words)
{
    return &words[space_words(space) - 1];
}

/* Must every order be searched? There is a budget for a fault that depends on everything, or a
 * server is out of reach, so that it is not known when its clients have what they wait for. */
bool apply_wants_every_order(const struct expansion *it, const uint32_t *words);

static inline bool has_budget(const struct expansion *it, enum fault fault)
{
    int slot = it->successors->slot_of[fault];
    uint32_t budget = it->words[space_words(it->space) - 1];
    return slot >= 0 && (budget >> (BUDGET_BITS * slot) & BUDGET_MASK) > 0;
}

/* Each makes one step, or as many as there are ways to make it: successors->take is called, or what
 * must follow at once is made as well (partial_order.h). */
void apply_client(struct expansion *it, int client, const struct action *action);
void apply_server(struct expansion *it, int server, const struct action *action);
void apply_time(struct expansion *it);
void apply_selection(struct expansion *it, const struct selection *selection);

/* Has a server a break of all connections to come, whatever the budget? */
bool apply_has_risky_server(const struct expansion *it, const uint32_t *words);

/* Faults with a budget left: bits. */
uint32_t apply_affordable(const struct expansion *it, uint32_t budget);

#endif
