/* chunked_array.h - a chunked array: records of a few numbers each, in chunks that never move.
 *
 * Growing costs neither a copy nor memory for old and new at once, and chunks that were read for
 * the last time go back to the system. */
#ifndef PICKLOCK_EXPLORE_STORE_CHUNKED_ARRAY_H
#define PICKLOCK_EXPLORE_STORE_CHUNKED_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CHUNK_BITS = 14, CHUNK = 1 << CHUNK_BITS, CHUNK_SPARES = 2 }; /* numbers */

struct chunked_array {
    uint32_t **chunks;   /* NULL: dropped */
    size_t chunks_count; /* ever begun */
    size_t chunks_size;
    size_t chunks_dropped; /* the first so many of them */
    uint64_t count;        /* records, with those that were dropped */
    uint32_t *next;        /* where the next one goes; at chunk_end: into a new piece */
    uint32_t *chunk_end;
    /* Pieces that were dropped, for the next ones: in a queue no page is fetched anew. */
    uint32_t *spares[CHUNK_SPARES];
    int spares_count;
    int width_bits; /* a record has room for 1 << width_bits numbers */
};

/* width: numbers of a record, at most CHUNK. */
void chunked_array_init(struct chunked_array *array, int width);
void chunked_array_close(struct chunked_array *array);
size_t chunked_array_bytes(const struct chunked_array *array);

/* One more piece: chunked_array_push() calls it. */
void chunked_array_grow(struct chunked_array *array);

/* Records before that one will not be read again. */
void chunked_array_drop(struct chunked_array *array, uint64_t before);

/* A record that is there still. */
static inline uint32_t *chunked_array_at(const struct chunked_array *array, uint64_t at)
{
    uint64_t number = at << array->width_bits;
    return array->chunks[number >> CHUNK_BITS] + (number & (CHUNK - 1));
}

/* Records that there is room for at chunked array->next, without one more piece. */
static inline uint64_t chunked_array_room(const struct chunked_array *array)
{
    return (uint64_t)(array->chunk_end - array->next) >> array->width_bits;
}

/* So many records were filled in there. */
static inline void chunked_array_add(struct chunked_array *array, uint64_t count)
{
    array->next += count << array->width_bits;
    array->count += count;
}

/* One more record, to be filled in. */
static inline uint32_t *chunked_array_push(struct chunked_array *array)
{
    if (array->next == array->chunk_end)
        chunked_array_grow(array);
    uint32_t *record = array->next;
    array->next += (size_t)1 << array->width_bits;
    array->count++;
    return record;
}

/* Two at a time: an even number of them. */
static inline void words_copy(uint32_t *to, const uint32_t *from, int words)
{
    for (int i = 0; i < words; i += 2) {
        uint64_t pair;
        memcpy(&pair, from + i, sizeof pair);
        memcpy(to + i, &pair, sizeof pair);
    }
}

#endif
