/* visited.h - the states that were reached: fingerprint to number, and whence each was reached
 * first.
 *
 * Fingerprints lie in buckets, a cache line each, in the order of their own value: so the table
 * grows in place by any factor, in one pass, without memory for old and new at once. It is at most
 * two thirds full.
 *
 * A fingerprint is the upper half of a 128-bit sum: every two words, as one number, times a 128-bit
 * number that was drawn for their place. Over the draw of those, two different states share one
 * with probability 2^-64, and are then taken for one: n states lose about n^2 / 2^65. With whole
 * states nothing is lost. Source: Dietzfelbinger, universal hashing without primes. */
#ifndef PICKLOCK_EXPLORE_VISITED_H
#define PICKLOCK_EXPLORE_VISITED_H

#include "explore/tape.h"

#include <stdbool.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define VISITED_NONE UINT32_MAX

enum { BUCKET_PRINTS = 5, VISITED_WORDS_MAX = 16 };

/* Filled from the front; a print is never 0. */
struct bucket {
    uint64_t prints[BUCKET_PRINTS];
    uint32_t numbers[BUCKET_PRINTS];
    uint32_t used; /* how many of them */
};

__extension__ typedef unsigned __int128 visited_sum;

struct visited {
    struct bucket *buckets;
    size_t size;   /* buckets where a search can begin; a few more follow them */
    uint64_t full; /* it grows when it holds so many states */
    uint64_t count;
    struct tape parents;                     /* by number */
    struct tape states;                      /* whole, by number, until they are forgotten */
    int words;                               /* of a state as it is kept: even */
    bool has_full_states;                    /* none is forgotten */
    visited_sum keys[VISITED_WORDS_MAX / 2]; /* of two words each */
    visited_sum key_of[VISITED_WORDS_MAX];   /* the same, of one word alone */
};

/* A state of an odd number of words has a 0 after the last: everywhere where states are read here.
 */
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
    return visited->key_of[place] * word;
}

static inline visited_sum visited_sum_of(const struct visited *visited, const uint32_t *words)
{
    const visited_sum *key = visited->keys;
    const uint32_t *end = words + visited->words;
    visited_sum sum = 0;
    for (; words < end; words += 2)
        sum += *key++ * (words[0] | (uint64_t)words[1] << 32);
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

/* The same, and the words are copied on the way. */
static inline uint64_t visited_print_copied(const struct visited *visited, const uint32_t *words,
                                            uint32_t *to)
{
    const visited_sum *key = visited->keys;
    const uint32_t *end = words + visited->words;
    visited_sum sum = 0;
    for (; words < end; words += 2, to += 2) {
        uint32_t low = words[0], high = words[1];
        sum += *key++ * (low | (uint64_t)high << 32);
        to[0] = low;
        to[1] = high;
    }
    return visited_print_of(sum);
}

static inline size_t visited_home_of(uint64_t print, size_t size)
{
    return (size_t)((visited_sum)print * size >> 64);
}

static inline struct bucket *visited_home(const struct visited *visited, uint64_t print)
{
    return &visited->buckets[visited_home_of(print, visited->size)];
}

/* Which of its prints it is, as bits, without a branch: where in a bucket a print lies nobody can
 * guess. */
static inline unsigned bucket_matches(const struct bucket *bucket, uint64_t print)
{
    const uint64_t *prints = bucket->prints;
    unsigned last = (unsigned)(prints[4] == print) << 4;
#ifdef __SSE2__ /* two at a time; it can only compare halves */
    const __m128i *pairs = (const __m128i *)prints, it = _mm_set1_epi64x((long long)print);
    __m128 one = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_loadu_si128(pairs), it));
    __m128 two = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_loadu_si128(pairs + 1), it));
    __m128 low = _mm_shuffle_ps(one, two, _MM_SHUFFLE(2, 0, 2, 0));
    __m128 high = _mm_shuffle_ps(one, two, _MM_SHUFFLE(3, 1, 3, 1));
    return (unsigned)_mm_movemask_ps(_mm_and_ps(low, high)) | last;
#else
    return (unsigned)(prints[0] == print) | (unsigned)(prints[1] == print) << 1 |
           (unsigned)(prints[2] == print) << 2 | (unsigned)(prints[3] == print) << 3 | last;
#endif
}

/* Is there room for one more word with a state than it has? */
static inline bool visited_has_spare(const struct visited *visited)
{
    return visited->words < 1 << visited->states.width_bits;
}

/* visited_put() of what is not found where it is looked for first. */
uint32_t visited_put_far(struct visited *visited, uint64_t print, const uint32_t *words,
                         uint32_t parent, bool *is_new);

/* The number of a state; *is_new: it was not there, and was put in with that parent, as the next
 * number. words: as many as a record has room for; those after the state's are kept with it, if it
 * is new, and compared with nothing. */
static inline uint32_t visited_put(struct visited *visited, uint64_t print, const uint32_t *words,
                                   uint32_t parent, bool *is_new)
{
    const struct bucket *home = visited_home(visited, print);
    unsigned bits = bucket_matches(home, print);
    if (bits == 0 || visited->has_full_states)
        return visited_put_far(visited, print, words, parent, is_new);
    *is_new = false;
    return home->numbers[__builtin_ctz(bits)];
}

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

/* Asks for the memory that a look there will need: it may go on in the next bucket. A macro: gcc
 * takes a function that does nothing else for pure, and drops it. */
#define VISITED_PREFETCH(home) (__builtin_prefetch(home), __builtin_prefetch((home) + 1))

#endif
