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

/* For what is written once and made for each of its callers: with their constants, or in their
 * registers. */
#define INLINE inline __attribute__((always_inline))

/* PAST_THE_END: buckets beyond the last home, for what finds no room; a search never wraps. */
enum { BUCKET_PRINTS = 5, PAST_THE_END = 64, VISITED_WORDS_MAX = 16 };

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
    uint64_t full; /* it grows when it holds so many states, or there are no more numbers */
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

/* Words that a state of so many is kept as. */
static inline int visited_even(int words)
{
    return (words + 1) / 2 * 2;
}

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

/* Two words as one number. */
static inline uint64_t visited_pair(const uint32_t *words)
{
    return words[0] | (uint64_t)words[1] << 32;
}

static inline visited_sum visited_sum_of(const struct visited *visited, const uint32_t *words)
{
    const visited_sum *key = visited->keys;
    visited_sum sum = key[0] * visited_pair(words) + key[1] * visited_pair(words + 2);
    for (int i = 4; i < visited->words; i += 2)
        sum += key[i / 2] * visited_pair(words + i);
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

static inline const struct bucket *visited_last(const struct visited *visited)
{
    return visited->buckets + visited->size + PAST_THE_END - 1;
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

/* The number of a state; *is_new: it was not there, and was put in with that parent, as the next
 * number. words: as many as a record has room for; those after the state's are kept with it, if it
 * is new, and compared with nothing. */
uint32_t visited_put(struct visited *visited, uint64_t print, const uint32_t *words,
                     uint32_t parent, bool *is_new);

/* The same for many states after each other: what of the table changes with each of them is here,
 * and not in memory, from the beginning to the end; meanwhile the table is asked nothing else. */
struct visited_burst {
    struct bucket *buckets;
    const struct bucket *last;
    size_t size;
    uint32_t *state, *parent; /* where those of the next one go */
    uint64_t count, end;      /* at the end there is no room, in the table or in a tape */
    unsigned width;           /* of a record */
};

static INLINE struct visited_burst visited_burst_begin(const struct visited *visited)
{
    const struct tape *states = &visited->states, *parents = &visited->parents;
    uint64_t room = visited->count < visited->full ? visited->full - visited->count : 0;
    if (room > tape_room(states))
        room = tape_room(states);
    if (room > tape_room(parents))
        room = tape_room(parents);
    if (visited->has_full_states)
        room = 0;
    return (struct visited_burst){.buckets = visited->buckets,
                                  .last = visited_last(visited),
                                  .size = visited->size,
                                  .state = states->next,
                                  .parent = parents->next,
                                  .count = visited->count,
                                  .end = visited->count + room,
                                  .width = 1u << states->width_bits};
}

static INLINE void visited_burst_end(struct visited *visited, const struct visited_burst *burst)
{
    const uint64_t count = burst->count - visited->count;
    tape_add(&visited->states, count);
    tape_add(&visited->parents, count);
    visited->count = burst->count;
}

/* visited_put(), as a rule; false: there is more to it, and nothing was done.
 *
 * Whether a state is new nobody can guess, and a wrong guess costs more than all this. So what a
 * new one needs is written down without asking, and counts if it is new; its print goes to a bucket
 * of no table if it is not. */
static INLINE bool visited_burst_put(struct visited_burst *it, uint64_t print,
                                     const uint32_t *words, uint32_t parent, uint32_t *number,
                                     bool *is_new)
{
    struct bucket *home = &it->buckets[visited_home_of(print, it->size)], none;
    unsigned bits, at; /* at: where in its bucket it is, or would be */
    do {
        bits = bucket_matches(home, print);
        at = (unsigned)__builtin_ctz(bits | 1u << home->used);
    } while (at == BUCKET_PRINTS && home++ != it->last);
    if (at == BUCKET_PRINTS || it->count == it->end)
        return false;
    /* 1 if there are none: of a comparison compilers make a guess. */
    const unsigned count = (bits - 1) >> 31;
    struct bucket *const places[] = {&none, home}, *const to = places[count];
    to->prints[at] = print;
    to->numbers[at] = (uint32_t)it->count;
    to->used = at + 1;
    *number = home->numbers[at];
    *is_new = count;
    if (it->width == 8)
        memcpy(it->state, words, 8 * sizeof *words);
    else
        for (unsigned i = 0; i < it->width; i += 4)
            memcpy(it->state + i, words + i, 4 * sizeof *words);
    *it->parent = parent;
    it->state += it->width & -count;
    it->parent += count;
    it->count += count;
    return true;
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
