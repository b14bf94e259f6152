/* fingerprint_set.h - the fingerprint set: which states were reached, as fingerprint and number,
 * and from which parent each was reached first. (Hash compaction: Wolper and Leroy, "Reliable
 * hashing without collision detection", 1993; Stern and Dill, "Improved probabilistic
 * verification by hash compaction", 1995.)
 *
 * Fingerprints lie in buckets of one cache line, in the order of their own value: so the table
 * grows in place by any factor, in one pass, without memory for old and new at once. It is at
 * most two thirds full.
 *
 * A fingerprint is the upper half of a 128-bit sum: every two words, as one number, times a
 * random 128-bit number of their place (Dietzfelbinger, "Universal hashing and k-wise
 * independent random variables via integer arithmetic without primes", 1996). Two different
 * states share one with probability 2^-64, and are then taken for one: of n states about n^2 /
 * 2^65 are expected to be omitted. With whole states none is. */
#ifndef PICKLOCK_EXPLORE_STORE_FINGERPRINT_SET_H
#define PICKLOCK_EXPLORE_STORE_FINGERPRINT_SET_H

#include "explore/store/chunked_array.h"

#include <stdbool.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define STATE_NONE UINT32_MAX

/* For what is written once and made for each of its callers: with their constants, or in their
 * registers. */
#define INLINE inline __attribute__((always_inline))

/* PAST_THE_END: buckets beyond the last home, for what finds no room; a search never wraps. */
enum { BUCKET_FINGERPRINTS = 5, PAST_THE_END = 64, FINGERPRINT_WORDS_MAX = 16 };

/* Filled from the front; a fingerprint is never 0. */
struct bucket {
    uint64_t fingerprints[BUCKET_FINGERPRINTS];
    uint32_t numbers[BUCKET_FINGERPRINTS];
    uint32_t used; /* how many of them */
};

__extension__ typedef unsigned __int128 fingerprint_sum;

struct fingerprint_set {
    struct bucket *buckets;
    size_t size;   /* buckets where a search can begin; a few more follow them */
    uint64_t full; /* it grows when it holds so many states, or there are no more numbers */
    uint64_t count;
    struct chunked_array parents; /* by number */
    struct chunked_array states;  /* whole, by number, until they are forgotten */
    int words;                    /* of a state as it is kept: even */
    bool has_full_states;         /* none is forgotten */
    fingerprint_sum keys[FINGERPRINT_WORDS_MAX / 2]; /* of two words each */
    fingerprint_sum key_of[FINGERPRINT_WORDS_MAX];   /* the same, of one word alone */
};

/* A state of an odd number of words has a 0 after the last: everywhere where states are read here.
 */
void fingerprint_set_init(struct fingerprint_set *visited, int words, uint64_t seed,
                          bool has_full_states);
void fingerprint_set_close(struct fingerprint_set *visited);
size_t fingerprint_set_bytes(const struct fingerprint_set *visited);

/* Words that a state of so many is kept as. */
static inline int even_words(int words)
{
    return (words + 1) / 2 * 2;
}

static inline uint64_t fingerprint_mix(uint64_t sum)
{
    sum = (sum ^ (sum >> 32)) * 0xd6e8feb86659fd93u;
    sum ^= sum >> 32;
    return sum ? sum : 1;
}

/* What a word adds to the sum: that of a state with another word there differs by no more. */
static inline fingerprint_sum fingerprint_term(const struct fingerprint_set *visited, int facts,
                                               uint32_t word)
{
    return visited->key_of[facts] * word;
}

/* Two words as one number. */
static inline uint64_t fingerprint_pair(const uint32_t *words)
{
    return words[0] | (uint64_t)words[1] << 32;
}

static inline fingerprint_sum fingerprint_sum_of(const struct fingerprint_set *visited,
                                                 const uint32_t *words)
{
    const fingerprint_sum *key = visited->keys;
    fingerprint_sum sum = key[0] * fingerprint_pair(words) + key[1] * fingerprint_pair(words + 2);
    for (int i = 4; i < visited->words; i += 2)
        sum += key[i / 2] * fingerprint_pair(words + i);
    return sum;
}

static inline uint64_t fingerprint_of_sum(fingerprint_sum sum)
{
    return fingerprint_mix((uint64_t)(sum >> 64));
}

static inline uint64_t fingerprint_of(const struct fingerprint_set *visited, const uint32_t *words)
{
    return fingerprint_of_sum(fingerprint_sum_of(visited, words));
}

/* The same, and the words are copied on the way. */
static inline uint64_t fingerprint_of_copied(const struct fingerprint_set *visited,
                                             const uint32_t *words, uint32_t *to)
{
    const fingerprint_sum *key = visited->keys;
    const uint32_t *end = words + visited->words;
    fingerprint_sum sum = 0;
    for (; words < end; words += 2, to += 2) {
        uint32_t low = words[0], high = words[1];
        sum += *key++ * (low | (uint64_t)high << 32);
        to[0] = low;
        to[1] = high;
    }
    return fingerprint_of_sum(sum);
}

static inline size_t fingerprint_set_home_of(uint64_t fingerprint, size_t size)
{
    return (size_t)((fingerprint_sum)fingerprint * size >> 64);
}

static inline struct bucket *fingerprint_set_home(const struct fingerprint_set *visited,
                                                  uint64_t fingerprint)
{
    return &visited->buckets[fingerprint_set_home_of(fingerprint, visited->size)];
}

static inline const struct bucket *fingerprint_set_last(const struct fingerprint_set *visited)
{
    return visited->buckets + visited->size + PAST_THE_END - 1;
}

/* Which of its fingerprints it is, as bits. Branch-free: the place in a bucket is unpredictable. */
static inline unsigned bucket_matches(const struct bucket *bucket, uint64_t fingerprint)
{
    const uint64_t *fingerprints = bucket->fingerprints;
    unsigned last = (unsigned)(fingerprints[4] == fingerprint) << 4;
#ifdef __SSE2__ /* two at a time; it can only compare halves */
    const __m128i *pairs = (const __m128i *)fingerprints,
                  it = _mm_set1_epi64x((long long)fingerprint);
    __m128 one = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_loadu_si128(pairs), it));
    __m128 two = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_loadu_si128(pairs + 1), it));
    __m128 low = _mm_shuffle_ps(one, two, _MM_SHUFFLE(2, 0, 2, 0));
    __m128 high = _mm_shuffle_ps(one, two, _MM_SHUFFLE(3, 1, 3, 1));
    return (unsigned)_mm_movemask_ps(_mm_and_ps(low, high)) | last;
#else
    return (unsigned)(fingerprints[0] == fingerprint) |
           (unsigned)(fingerprints[1] == fingerprint) << 1 |
           (unsigned)(fingerprints[2] == fingerprint) << 2 |
           (unsigned)(fingerprints[3] == fingerprint) << 3 | last;
#endif
}

/* Is there room for one more word with a state than it has? */
static inline bool fingerprint_set_has_spare(const struct fingerprint_set *visited)
{
    return visited->words < 1 << visited->states.width_bits;
}

/* The number of a state; *is_new: it was not there, and was put in with that parent, as the next
 * number. words: as many as a record has room for; those after the state's are kept with it, if it
 * is new, and compared with nothing. */
uint32_t fingerprint_set_put(struct fingerprint_set *visited, uint64_t fingerprint,
                             const uint32_t *words, uint32_t parent, bool *is_new);

/* The same for many states after each other: what of the table changes with each of them is here,
 * and not in memory, from the beginning to the end; meanwhile the table is asked nothing else. */
struct fingerprint_batch {
    struct bucket *buckets;
    const struct bucket *last;
    size_t size;
    uint32_t *state, *parent; /* where those of the next one go */
    uint64_t count, end;      /* at the end there is no room, in the table or in a chunked array */
    unsigned width;           /* of a record */
};

static INLINE struct fingerprint_batch
fingerprint_batch_begin(const struct fingerprint_set *visited)
{
    const struct chunked_array *states = &visited->states, *parents = &visited->parents;
    uint64_t room = visited->count < visited->full ? visited->full - visited->count : 0;
    if (room > chunked_array_room(states))
        room = chunked_array_room(states);
    if (room > chunked_array_room(parents))
        room = chunked_array_room(parents);
    if (visited->has_full_states)
        room = 0;
    return (struct fingerprint_batch){.buckets = visited->buckets,
                                      .last = fingerprint_set_last(visited),
                                      .size = visited->size,
                                      .state = states->next,
                                      .parent = parents->next,
                                      .count = visited->count,
                                      .end = visited->count + room,
                                      .width = 1u << states->width_bits};
}

static INLINE void fingerprint_batch_end(struct fingerprint_set *visited,
                                         const struct fingerprint_batch *batch)
{
    const uint64_t count = batch->count - visited->count;
    chunked_array_add(&visited->states, count);
    chunked_array_add(&visited->parents, count);
    visited->count = batch->count;
}

/* fingerprint_set_put(), as a rule; false: there is more to it, and nothing was done.
 *
 * Branch-free: whether a state is new is unpredictable, and a mispredicted branch costs more. What
 * a new one needs is written down without asking, and counts if it is new; its print goes to a
 * bucket of no table if it is not. */
static INLINE bool fingerprint_batch_put(struct fingerprint_batch *it, uint64_t fingerprint,
                                         const uint32_t *words, uint32_t parent, uint32_t *number,
                                         bool *is_new)
{
    struct bucket *home = &it->buckets[fingerprint_set_home_of(fingerprint, it->size)], none;
    unsigned bits, at; /* at: where in its bucket it is, or would be */
    do {
        bits = bucket_matches(home, fingerprint);
        at = (unsigned)__builtin_ctz(bits | 1u << home->used);
    } while (at == BUCKET_FINGERPRINTS && home++ != it->last);
    if (at == BUCKET_FINGERPRINTS || it->count == it->end)
        return false;
    /* 1 if there are none: of a comparison compilers make a guess. */
    const unsigned count = (bits - 1) >> 31;
    struct bucket *const client_facts[] = {&none, home}, *const to = client_facts[count];
    to->fingerprints[at] = fingerprint;
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

/* The number of a state, or STATE_NONE. */
uint32_t fingerprint_set_find(const struct fingerprint_set *visited, uint64_t fingerprint,
                              const uint32_t *words);

static inline uint32_t fingerprint_set_parent(const struct fingerprint_set *visited,
                                              uint32_t number)
{
    return *chunked_array_at(&visited->parents, number);
}

/* The words of a state that was not forgotten. */
static inline const uint32_t *fingerprint_set_words(const struct fingerprint_set *visited,
                                                    uint32_t number)
{
    return chunked_array_at(&visited->states, number);
}

/* The words of the states before that number will not be asked for again. */
void fingerprint_set_forget(struct fingerprint_set *visited, uint32_t before);

/* Asks for the memory that a look there will need: it may go on in the next bucket. A macro: gcc
 * takes a function that does nothing else for pure, and drops it. */
#define FINGERPRINT_PREFETCH(home) (__builtin_prefetch(home), __builtin_prefetch((home) + 1))

#endif
