/* symmetry.h - symmetry reduction: one canonical state for all that differ only in who is who.
 * (Clarke, Enders, Filkorn and Jha, "Exploiting symmetry in temporal logic model checking",
 * 1996; Ip and Dill, "Better verification through symmetry", 1996.)
 *
 * Clients that run the same scheme are interchangeable, and so are the servers of a quorum.
 * Those that can be told apart are sorted, and what refers to one of them is renamed with it.
 * Two that are equal in all that is sorted by may stay in either order: that costs states, never
 * verdicts.
 *
 * Condition: the scheme treats all servers alike (is_even_handed); with the workload of a
 * critical section the first server stays the first. Tests: test_symmetry.c,
 * test_explore_reductions.c. */
#ifndef PICKLOCK_EXPLORE_REDUCE_SYMMETRY_H
#define PICKLOCK_EXPLORE_REDUCE_SYMMETRY_H

#include "explore/graph/space.h"

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
