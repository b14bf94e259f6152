/* symmetry.h - one name for all states that differ only in who is who.
 *
 * Clients that run the same scheme are interchangeable, servers of a quorum too: what can be told
 * apart is sorted, and what names a place is renamed with it. Ties that are left cost states, never
 * verdicts. */
#ifndef PICKLOCK_EXPLORE_REDUCE_SYMMETRY_H
#define PICKLOCK_EXPLORE_REDUCE_SYMMETRY_H

#include "explore/graph/state_space.h"

void symmetry_open(struct symmetry *symmetry, struct state_space *space, unsigned reductions,
                   const uint32_t *words);

/* Sorts the words of a step in place and says where everybody went. */
void symmetry_step(struct symmetry *symmetry, uint32_t *words, uint8_t *new_position,
                   uint8_t *new_number);

/* The same without a state before it. */
void symmetry_sort(struct state_space *space, unsigned reductions, uint32_t *words,
                   uint8_t *new_position, uint8_t *new_number);

/* Everybody stays where he is. */
void symmetry_none(uint8_t *new_position, uint8_t *new_number);

#endif
