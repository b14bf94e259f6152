/* visited.c - see visited.h. */
#include "explore/visited.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

/* PAST_THE_END: buckets beyond the last home, for what finds no room; a search never wraps. */
enum { VISITED_FIRST = 1 << 10, PAST_THE_END = 64, MUCH = 1 << 16 };

_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

static void size_set(struct visited *visited, size_t size)
{
    visited->size = size;
    visited->full = (uint64_t)size * BUCKET_PRINTS / 3 * 2;
}

/* splitmix64: the numbers drawn from one seed. */
static uint64_t draw(uint64_t *state)
{
    uint64_t drawn = *state += 0x9e3779b97f4a7c15u;
    drawn = (drawn ^ (drawn >> 30)) * 0xbf58476d1ce4e5b9u;
    drawn = (drawn ^ (drawn >> 27)) * 0x94d049bb133111ebu;
    return drawn ^ (drawn >> 31);
}

void visited_init(struct visited *visited, int words, uint64_t seed, bool has_full_states)
{
    memset(visited, 0, sizeof *visited);
    visited->words = (words + 1) / 2 * 2;
    assert(visited->words <= VISITED_WORDS_MAX);
    visited->has_full_states = has_full_states;
    for (int i = 0; i < VISITED_WORDS_MAX / 2; i++) {
        uint64_t high = draw(&seed);
        visited->keys[i] = (visited_sum)high << 64 | draw(&seed);
        visited->key_of[2 * i] = visited->keys[i];
        visited->key_of[2 * i + 1] = visited->keys[i] << 32;
    }
    size_set(visited, VISITED_FIRST);
    visited->buckets =
        memory_extend(NULL, 0, visited->size + PAST_THE_END, sizeof *visited->buckets);
    tape_init(&visited->parents, 1);
    tape_init(&visited->states, visited->words);
}

void visited_close(struct visited *visited)
{
    memory_drop(visited->buckets, visited->size + PAST_THE_END, sizeof *visited->buckets);
    tape_close(&visited->parents);
    tape_close(&visited->states);
    memset(visited, 0, sizeof *visited);
}

size_t visited_bytes(const struct visited *visited)
{
    return (visited->size + PAST_THE_END) * sizeof *visited->buckets +
           tape_bytes(&visited->parents) + tape_bytes(&visited->states);
}

void visited_forget(struct visited *visited, uint32_t before)
{
    if (!visited->has_full_states)
        tape_drop(&visited->states, before);
}

static inline bool is_full(const struct bucket *bucket)
{
    return bucket->prints[BUCKET_PRINTS - 1] != 0;
}

static inline void bucket_put(struct bucket *bucket, uint64_t print, uint32_t number)
{
    const uint64_t *prints = bucket->prints;
    int used = (prints[0] != 0) + (prints[1] != 0) + (prints[2] != 0) + (prints[3] != 0);
    bucket->prints[used] = print;
    bucket->numbers[used] = number;
}

/* Puts in what is not there, in the first bucket with room from that one on; false: no room up to
 * the end. */
static bool insert(struct visited *visited, struct bucket *it, uint64_t print, uint32_t number)
{
    const struct bucket *end = visited->buckets + visited->size + PAST_THE_END;
    while (is_full(it))
        if (++it == end)
            return false;
    bucket_put(it, print, number);
    return true;
}

/* All buckets move to the end of the larger table; then, from the first on, each is emptied and its
 * prints go where they belong. That is never behind where they were taken from, for homes are in
 * the order of the prints: what was not moved yet is not in the way. */
static void grow(struct visited *visited)
{
    size_t old = visited->size, all = old + PAST_THE_END;
    size_t size = old < MUCH ? 2 * old : old + old / 2, gap = size - old;
    visited->buckets = memory_extend(visited->buckets, all, all + gap, sizeof *visited->buckets);
    size_set(visited, size);
    memmove(visited->buckets + gap, visited->buckets, all * sizeof *visited->buckets);
    memset(visited->buckets, 0, gap * sizeof *visited->buckets);
    for (size_t i = 0; i < all; i++) {
        struct bucket moved = visited->buckets[gap + i];
        memset(&visited->buckets[gap + i], 0, sizeof moved);
        for (int k = 0; k < BUCKET_PRINTS && moved.prints[k] != 0; k++) {
            bool has_room = insert(visited, visited_home(visited, moved.prints[k]), moved.prints[k],
                                   moved.numbers[k]);
            assert(has_room);
        }
    }
}

static bool is_same(const struct visited *visited, uint32_t number, const uint32_t *words)
{
    return memcmp(visited_words(visited, number), words, (size_t)visited->words * sizeof *words) ==
           0;
}

/* The state in one bucket, or VISITED_NONE. */
static inline uint32_t look_in(const struct visited *visited, const struct bucket *bucket,
                               uint64_t print, const uint32_t *words)
{
    for (unsigned bits = bucket_matches(bucket, print); bits != 0; bits &= bits - 1) {
        uint32_t number = bucket->numbers[__builtin_ctz(bits)];
        if (!visited->has_full_states || is_same(visited, number, words))
            return number;
    }
    return VISITED_NONE;
}

static inline const struct bucket *last_of(const struct visited *visited)
{
    return visited->buckets + visited->size + PAST_THE_END - 1;
}

uint32_t visited_find(const struct visited *visited, uint64_t print, const uint32_t *words)
{
    const struct bucket *it = visited_home(visited, print), *last = last_of(visited);
    uint32_t number = look_in(visited, it, print, words);
    while (number == VISITED_NONE && is_full(it) && it != last)
        number = look_in(visited, ++it, print, words);
    return number;
}

uint32_t visited_put_far(struct visited *visited, uint64_t print, const uint32_t *words,
                         uint32_t parent, bool *is_new)
{
    struct bucket *it = visited_home(visited, print);
    if (is_full(it) || visited->has_full_states) {
        uint32_t known = visited_find(visited, print, words);
        *is_new = known == VISITED_NONE;
        if (!*is_new)
            return known;
    }
    *is_new = true;
    assert(visited->count < VISITED_NONE);
    uint32_t number = (uint32_t)visited->count++;
    if (visited->count > visited->full) {
        grow(visited);
        it = visited_home(visited, print);
    }
    if (!is_full(it))
        bucket_put(it, print, number);
    else
        while (!insert(visited, visited_home(visited, print), print, number))
            grow(visited);
    *tape_push(&visited->parents) = parent;
    words_copy(tape_push(&visited->states), words, visited->words);
    return number;
}
