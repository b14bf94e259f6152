/* visited.h - the states that were reached: fingerprint to number, and whence each was reached
 * first.
 *
 * Open addressing, at most three quarters full, doubled when it would be more. A fingerprint is 64
 * bits of a well-mixed hash: two states that share one are taken for one, which loses about n^2 /
 * 2^65 of n states; with whole states nothing is lost. */
#ifndef PICKLOCK_EXPLORE_VISITED_H
#define PICKLOCK_EXPLORE_VISITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VISITED_NONE UINT32_MAX

struct visited {
    uint64_t *prints; /* 0: an empty slot */
    uint32_t *numbers;
    size_t size;
    uint32_t *parents; /* by number */
    uint32_t *states;  /* whole states, by number; NULL: fingerprints only */
    uint32_t count;
    size_t parents_size, states_size;
    int words;
    uint64_t seed;
    bool tells_numbers; /* of states that were there already, too: one more look at memory */
};

void visited_init(struct visited *visited, int words, uint64_t seed, bool has_full_states);
void visited_close(struct visited *visited);
size_t visited_bytes(const struct visited *visited);

uint64_t visited_print(const struct visited *visited, const uint32_t *words);

/* The number of a state; *is_new: it was not there, and was put in with that parent. One that was
 * there: VISITED_NONE, unless tells_numbers. */
uint32_t visited_put(struct visited *visited, uint64_t print, const uint32_t *words,
                     uint32_t parent, bool *is_new);

/* The number of a state, or VISITED_NONE. */
uint32_t visited_find(const struct visited *visited, uint64_t print, const uint32_t *words);

/* Asks for the memory that a look at that print will need. A macro: gcc takes a function that does
 * nothing else for pure, and drops it. */
#define VISITED_PREFETCH(visited, print)                                                           \
    do {                                                                                           \
        size_t prefetch_at = (print) & ((visited)->size - 1);                                      \
        __builtin_prefetch(&(visited)->prints[prefetch_at], 1);                                    \
        if ((visited)->tells_numbers)                                                              \
            __builtin_prefetch(&(visited)->numbers[prefetch_at], 1);                               \
    } while (0)

#endif
