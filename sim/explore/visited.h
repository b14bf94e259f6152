/* visited.h - the states that were reached: fingerprint to number, and whence each was reached
 * first.
 *
 * Fingerprints lie in buckets, a cache line each, in the order of their own value: so the table
 * grows in place by any factor, in one pass, without memory for old and new at once. It is at most
 * four fifths full.
 *
 * A fingerprint is 64 bits of a sum: every word times a 128-bit number that was drawn for its
 * place. Over the draw of those numbers two different states share one with probability 2^-64, and
 * are then taken for one: n states lose about n^2 / 2^65. With whole states nothing is lost. */
#ifndef PICKLOCK_EXPLORE_VISITED_H
#define PICKLOCK_EXPLORE_VISITED_H

#include "explore/tape.h"

#include <stdbool.h>

#define VISITED_NONE UINT32_MAX

enum { BUCKET_PRINTS = 5, VISITED_WORDS_MAX = 16 };

/* Filled from the front; a print is never 0. */
struct bucket {
    uint64_t prints[BUCKET_PRINTS];
    uint32_t numbers[BUCKET_PRINTS];
    uint32_t spare;
};

__extension__ typedef unsigned __int128 visited_sum;

struct visited {
    struct bucket *buckets;
    size_t size;   /* buckets where a search can begin; a few more follow them */
    uint64_t full; /* it grows when it holds so many states */
    uint64_t count;
    struct tape parents; /* by number */
    struct tape states;  /* whole, by number, until they are forgotten */
    int words;
    bool has_full_states; /* none is forgotten */
    visited_sum keys[VISITED_WORDS_MAX];
};

void visited_init(struct visited *visited, int words, uint64_t seed, bool has_full_states);
void visited_close(struct visited *visited);
size_t visited_bytes(const struct visited *visited);

static inline uint64_t visited_mix(uint64_t sum)
{
    sum = (sum ^ (sum >> 32)) * 0xd6e8feb86659fd93u;
    sum ^= sum >> 32;
    return sum ? sum : 1;
}

/* What a word adds to the sum: that of a state with another word there differs by no more. */
static inline visited_sum visited_term(const struct visited *visited, int place, uint32_t word)
{
    return visited->keys[place] * word;
}

static inline visited_sum visited_sum_of(const struct visited *visited, const uint32_t *words)
{
    visited_sum sum = 0;
    for (int i = 0; i < visited->words; i++)
        sum += visited_term(visited, i, words[i]);
    return sum;
}

static inline uint64_t visited_print_of(visited_sum sum)
{
    return visited_mix((uint64_t)(sum >> 64));
}

static inline uint64_t visited_print(const struct visited *visited, const uint32_t *words)
{
    return visited_print_of(visited_sum_of(visited, words));
}

static inline struct bucket *visited_home(const struct visited *visited, uint64_t print)
{
    return &visited->buckets[(size_t)((visited_sum)print * visited->size >> 64)];
}

/* The number of a state; *is_new: it was not there, and was put in with that parent, as the next
 * number. */
uint32_t visited_put(struct visited *visited, uint64_t print, const uint32_t *words,
                     uint32_t parent, bool *is_new);

/* The number of a state, or VISITED_NONE. */
uint32_t visited_find(const struct visited *visited, uint64_t print, const uint32_t *words);

static inline uint32_t visited_parent(const struct visited *visited, uint32_t number)
{
    return *tape_at(&visited->parents, number);
}

/* The words of a state that was not forgotten. */
static inline const uint32_t *visited_words(const struct visited *visited, uint32_t number)
{
    return tape_at(&visited->states, number);
}

/* The words of the states before that number will not be asked for again. */
void visited_forget(struct visited *visited, uint32_t before);

/* Asks for the memory that a look at that print will need. A macro: gcc takes a function that does
 * nothing else for pure, and drops it. */
#define VISITED_PREFETCH(visited, print) __builtin_prefetch(visited_home((visited), (print)), 1)

#endif
