/* visited.c - see visited.h. */
#include "explore/visited.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

/* STRIDE, BATCH: buckets that are moved at a time, see grow(). */
enum { VISITED_FIRST = 1 << 10, MUCH = 1 << 17, STRIDE = 32, BATCH = 192 };

_Static_assert(STRIDE <= BATCH, "a batch has no room");
_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

static void size_set(struct visited *visited, size_t size)
{
    visited->size = size;
    visited->full = (uint64_t)size * BUCKET_PRINTS / 3 * 2;
    if (visited->full > VISITED_NONE)
        visited->full = VISITED_NONE;
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
    visited->words = visited_even(words);
    assert(visited->words >= 4 && visited->words <= VISITED_WORDS_MAX);
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
    return bucket->used == BUCKET_PRINTS;
}

static inline void bucket_put(struct bucket *bucket, uint64_t print, uint32_t number)
{
    uint32_t used = bucket->used++;
    bucket->prints[used] = print;
    bucket->numbers[used] = number;
}

/* Puts in what is not there, in the first bucket with room from that one on, its home; false: no
 * room up to the end. */
static INLINE bool insert(const struct visited *visited, struct bucket *it, uint64_t print,
                          uint32_t number)
{
    const struct bucket *last = visited_last(visited);
    while (is_full(it))
        if (it++ == last)
            return false;
    bucket_put(it, print, number);
    return true;
}

/* A few buckets are emptied, and then their prints go where they belong: one long loop over all of
 * them costs less than a short one for each bucket, whose end nobody can guess. */
static void resettle(struct visited *visited, size_t from, size_t end)
{
    uint64_t prints[BATCH * BUCKET_PRINTS];
    uint32_t numbers[BATCH * BUCKET_PRINTS];
    unsigned count = 0;
    for (size_t i = from; i < end; i++)
        for (int k = 0; k < BUCKET_PRINTS; k++) {
            prints[count] = visited->buckets[i].prints[k];
            numbers[count] = visited->buckets[i].numbers[k];
            count += prints[count] != 0;
        }
    memset(&visited->buckets[from], 0, (end - from) * sizeof *visited->buckets);
    for (unsigned i = 0; i < count; i++) {
        struct bucket *home = visited_home(visited, prints[i]);
        assert(home >= visited->buckets + from);
        bool has_room = insert(visited, home, prints[i], numbers[i]);
        assert(has_room);
    }
}

/* Bucket by bucket, from the last on, prints go where they belong in the larger table. That must
 * not be where something is that was not moved yet: it would be passed over, and its place be empty
 * later. In the larger table a home is half as far again from the start. So a print goes no nearer
 * to it than it was, unless it lay behind its home by a third of its own place: which happens close
 * to the start alone. What is there is moved last, at once. */
static void grow(struct visited *visited)
{
    size_t old = visited->size, end = old + PAST_THE_END;
    size_t size = old < MUCH ? 2 * old : old + old / 2;
    visited->buckets =
        memory_extend(visited->buckets, end, size + PAST_THE_END, sizeof *visited->buckets);
    size_set(visited, size);
    while (end > BATCH) {
        size_t from = end > BATCH + STRIDE ? end - STRIDE : BATCH;
        resettle(visited, from, end);
        end = from;
    }
    resettle(visited, 0, end);
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

uint32_t visited_find(const struct visited *visited, uint64_t print, const uint32_t *words)
{
    const struct bucket *it = visited_home(visited, print), *last = visited_last(visited);
    uint32_t number = look_in(visited, it, print, words);
    while (number == VISITED_NONE && is_full(it) && it != last)
        number = look_in(visited, ++it, print, words);
    return number;
}

/* The next number, for that state. */
static inline uint32_t record(struct visited *visited, const uint32_t *words, uint32_t parent)
{
    const int width = 1 << visited->states.width_bits;
    uint32_t *to = tape_push(&visited->states);
    assert(visited->count < VISITED_NONE);
    for (int i = 0; i < width; i += 4)
        memcpy(to + i, words + i, 4 * sizeof *words);
    *tape_push(&visited->parents) = parent;
    return (uint32_t)visited->count++;
}

uint32_t visited_put(struct visited *visited, uint64_t print, const uint32_t *words,
                     uint32_t parent, bool *is_new)
{
    uint32_t known = visited_find(visited, print, words);
    *is_new = known == VISITED_NONE;
    if (!*is_new)
        return known;
    uint32_t number = record(visited, words, parent);
    if (visited->count > visited->full)
        grow(visited);
    while (!insert(visited, visited_home(visited, print), print, number))
        grow(visited);
    return number;
}
