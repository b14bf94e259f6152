/* canon.h - one name for all states that differ only in who is who.
 *
 * Clients that run the same scheme are interchangeable, servers of a quorum too: what can be told
 * apart is sorted, and what names a place is renamed with it. Ties that are left cost states, never
 * verdicts. */
#ifndef PICKLOCK_EXPLORE_CANON_H
#define PICKLOCK_EXPLORE_CANON_H

#include "explore/space.h"

/* Sorts the words in place and says where everybody went. */
void canon_sort(struct space *space, unsigned reductions, uint32_t *words, uint8_t *new_position,
                uint8_t *new_number);

/* Everybody stays where he is. */
void canon_none(uint8_t *new_position, uint8_t *new_number);

#endif
