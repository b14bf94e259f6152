/* expansion.h - one step from a state: what a move of one record does to the others, and what is
 * violated by it. For steps.c, which knows the moves that are possible together. */
#ifndef PICKLOCK_EXPLORE_EXPANSION_H
#define PICKLOCK_EXPLORE_EXPANSION_H

#include "explore/canon.h"
#include "explore/steps.h"
#include "explore/turns.h"

struct expansion {
    const struct stepper *stepper;
    struct space *space;
    const uint32_t *words; /* before */
    int words_even;        /* how many of them, with the 0 after an odd number */
    struct step_taken step;
    unsigned did;      /* by the move: enum effect_bit */
    unsigned judged;   /* of an execution: enum judged */
    struct ring *ring; /* NULL: all steps are taken */
    bool is_sorted;    /* the states that follow */
    struct canon canon;
    /* order.h: */
    int lead, doomed;         /* of the step in hand, after it */
    unsigned violated_before; /* by steps that it is the end of */
    bool has_granted;         /* one of them */
    bool has_waited;          /* one of them was a tick */
};

static inline uint32_t *budget_of(const struct space *space, uint32_t *words)
{
    return &words[space_words(space) - 1];
}

static inline bool has_budget(const struct expansion *it, enum fault fault)
{
    int slot = it->stepper->slot_of[fault];
    uint32_t budget = it->words[space_words(it->space) - 1];
    return slot >= 0 && (budget >> (BUDGET_BITS * slot) & BUDGET_MASK) > 0;
}

/* Each makes one step, or as many as there are ways to make it: stepper->take is called, or what
 * must follow at once is made as well (order.h). */
void expansion_client(struct expansion *it, int client, const struct move *move);
void expansion_server(struct expansion *it, int server, const struct move *move);
void expansion_time(struct expansion *it);
void expansion_turn(struct expansion *it, const struct turn *turn);

/* Servers with a break of all connections to come, whatever the budget: bits. */
unsigned expansion_risky_servers(const struct expansion *it, const uint32_t *words);

/* Faults with a budget left: bits. */
uint32_t expansion_payable(const struct expansion *it, uint32_t budget);

#endif
