/* fingerprint_set.c - see fingerprint_set.h. */
#include "explore/store/fingerprint_set.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

/* STRIDE, BATCH: buckets that are moved at a time, see grow(). */
enum { BUCKETS_FIRST = 1 << 10, MUCH = 1 << 17, STRIDE = 32, BATCH = 192 };

_Static_assert(STRIDE <= BATCH, "a batch has no room");
_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

static void size_set(struct fingerprint_set *visited, size_t size)
{
    visited->size = size;
    visited->full = (uint64_t)size * BUCKET_FINGERPRINTS / 3 * 2;
    if (visited->full > STATE_NONE)
        visited->full = STATE_NONE;
}

/* splitmix64: the numbers drawn from one seed. */
static uint64_t draw(uint64_t *state)
{
    uint64_t drawn = *state += 0x9e3779b97f4a7c15u;
    drawn = (drawn ^ (drawn >> 30)) * 0xbf58476d1ce4e5b9u;
    drawn = (drawn ^ (drawn >> 27)) * 0x94d049bb133111ebu;
    return drawn ^ (drawn >> 31);
}

void fingerprint_set_init(struct fingerprint_set *visited, int words, uint64_t seed,
                          bool has_full_states)
{
    memset(visited, 0, sizeof *visited);
    visited->words = even_words(words);
    assert(visited->words >= 4 && visited->words <= FINGERPRINT_WORDS_MAX);
    visited->has_full_states = has_full_states;
    for (int i = 0; i < FINGERPRINT_WORDS_MAX / 2; i++) {
        uint64_t high = draw(&seed);
        visited->keys[i] = (fingerprint_sum)high << 64 | draw(&seed);
        visited->key_of[2 * i] = visited->keys[i];
        visited->key_of[2 * i + 1] = visited->keys[i] << 32;
    }
    size_set(visited, BUCKETS_FIRST);
    visited->buckets =
        memory_extend(NULL, 0, visited->size + PAST_THE_END, sizeof *visited->buckets);
    chunked_array_init(&visited->parents, 1);
    chunked_array_init(&visited->states, visited->words);
}

void fingerprint_set_close(struct fingerprint_set *visited)
{
    memory_drop(visited->buckets, visited->size + PAST_THE_END, sizeof *visited->buckets);
    chunked_array_close(&visited->parents);
    chunked_array_close(&visited->states);
    memset(visited, 0, sizeof *visited);
}

size_t fingerprint_set_bytes(const struct fingerprint_set *visited)
{
    return (visited->size + PAST_THE_END) * sizeof *visited->buckets +
           chunked_array_bytes(&visited->parents) + chunked_array_bytes(&visited->states);
}

void fingerprint_set_forget(struct fingerprint_set *visited, uint32_t before)
{
    if (!visited->has_full_states)
        chunked_array_drop(&visited->states, before);
}

static inline bool is_full(const struct bucket *bucket)
{
    return bucket->used == BUCKET_FINGERPRINTS;
}

static inline void bucket_put(struct bucket *bucket, uint64_t fingerprint, uint32_t number)
{
    uint32_t used = bucket->used++;
    bucket->fingerprints[used] = fingerprint;
    bucket->numbers[used] = number;
}

/* Puts in what is not there, in the first bucket with room from that one on, its home; false: no
 * room up to the end. */
static INLINE bool insert(const struct fingerprint_set *visited, struct bucket *it,
                          uint64_t fingerprint, uint32_t number)
{
    const struct bucket *last = fingerprint_set_last(visited);
    while (is_full(it))
        if (it++ == last)
            return false;
    bucket_put(it, fingerprint, number);
    return true;
}

/* A few buckets are emptied, and then their prints go where they belong: one long loop over all of
 * them costs less than a short one for each bucket, whose end nobody can guess. */
static void resettle(struct fingerprint_set *visited, size_t from, size_t end)
{
    uint64_t fingerprints[BATCH * BUCKET_FINGERPRINTS];
    uint32_t numbers[BATCH * BUCKET_FINGERPRINTS];
    unsigned count = 0;
    for (size_t i = from; i < end; i++)
        for (int k = 0; k < BUCKET_FINGERPRINTS; k++) {
            fingerprints[count] = visited->buckets[i].fingerprints[k];
            numbers[count] = visited->buckets[i].numbers[k];
            count += fingerprints[count] != 0;
        }
    memset(&visited->buckets[from], 0, (end - from) * sizeof *visited->buckets);
    for (unsigned i = 0; i < count; i++) {
        struct bucket *home = fingerprint_set_home(visited, fingerprints[i]);
        assert(home >= visited->buckets + from);
        bool has_room = insert(visited, home, fingerprints[i], numbers[i]);
        assert(has_room);
    }
}

/* Bucket by bucket, from the last on, prints go where they belong in the larger table. That must
 * not be where something is that was not moved yet: it would be passed over, and its place be empty
 * later. In the larger table a home is half as far again from the start. So a print goes no nearer
 * to it than it was, unless it lay behind its home by a third of its own place: which happens close
 * to the start alone. What is there is moved last, at once. */
static void grow(struct fingerprint_set *visited)
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

static bool is_same(const struct fingerprint_set *visited, uint32_t number, const uint32_t *words)
{
    return memcmp(fingerprint_set_words(visited, number), words,
                  (size_t)visited->words * sizeof *words) == 0;
}

/* The state in one bucket, or STATE_NONE. */
static inline uint32_t look_in(const struct fingerprint_set *visited, const struct bucket *bucket,
                               uint64_t fingerprint, const uint32_t *words)
{
    for (unsigned bits = bucket_matches(bucket, fingerprint); bits != 0; bits &= bits - 1) {
        uint32_t number = bucket->numbers[__builtin_ctz(bits)];
        if (!visited->has_full_states || is_same(visited, number, words))
            return number;
    }
    return STATE_NONE;
}

uint32_t fingerprint_set_find(const struct fingerprint_set *visited, uint64_t fingerprint,
                              const uint32_t *words)
{
    const struct bucket *it = fingerprint_set_home(visited, fingerprint),
                        *last = fingerprint_set_last(visited);
    uint32_t number = look_in(visited, it, fingerprint, words);
    while (number == STATE_NONE && is_full(it) && it != last)
        number = look_in(visited, ++it, fingerprint, words);
    return number;
}

/* The next number, for that state. */
static inline uint32_t record(struct fingerprint_set *visited, const uint32_t *words,
                              uint32_t parent)
{
    const int width = 1 << visited->states.width_bits;
    uint32_t *to = chunked_array_push(&visited->states);
    assert(visited->count < STATE_NONE);
    for (int i = 0; i < width; i += 4)
        memcpy(to + i, words + i, 4 * sizeof *words);
    *chunked_array_push(&visited->parents) = parent;
    return (uint32_t)visited->count++;
}

uint32_t fingerprint_set_put(struct fingerprint_set *visited, uint64_t fingerprint,
                             const uint32_t *words, uint32_t parent, bool *is_new)
{
    uint32_t known = fingerprint_set_find(visited, fingerprint, words);
    *is_new = known == STATE_NONE;
    if (!*is_new)
        return known;
    uint32_t number = record(visited, words, parent);
    if (visited->count > visited->full)
        grow(visited);
    while (!insert(visited, fingerprint_set_home(visited, fingerprint), fingerprint, number))
        grow(visited);
    return number;
}
