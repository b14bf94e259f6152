/* remaining.h - how many states a breadth-first search still has to look at, by how its depths have
 * grown and shrunk so far. Their numbers rise and fall along a curve whose logarithm bends down
 * about evenly, as that of a bell does. sim/explore/README.md says how near that comes. */
#ifndef PICKLOCK_EXPLORE_SEARCH_REMAINING_H
#define PICKLOCK_EXPLORE_SEARCH_REMAINING_H

#include <stdbool.h>
#include <stdint.h>

/* Of so many depths the mean is taken, and three such means are compared. */
enum { REMAINING_MEAN = 8, REMAINING_DEPTHS = 3 * REMAINING_MEAN };

struct remaining {
    uint64_t states[REMAINING_DEPTHS]; /* of the depths so far, in turn */
    unsigned depths;
    bool is_guess;  /* else nothing is known of what is deeper */
    uint64_t below; /* is_guess: states deeper than the last depth, about */
};

/* A layer begins: all zero. The next depth has so many states, 1 or more. */
void remaining_add(struct remaining *remaining, uint64_t states);

#endif
