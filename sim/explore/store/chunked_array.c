/* chunked_array.c - see chunked_array.h. */
#include "explore/store/chunked_array.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS_FIRST = 16, CHUNK_BYTES = CHUNK * sizeof(uint32_t) };

void chunked_array_init(struct chunked_array *array, int width)
{
    memset(array, 0, sizeof *array);
    while (1 << array->width_bits < width)
        array->width_bits++;
    assert(array->width_bits <= CHUNK_BITS);
}

void chunked_array_close(struct chunked_array *array)
{
    for (size_t i = array->chunks_dropped; i < array->chunks_count; i++)
        memory_piece_drop(array->chunks[i], CHUNK_BYTES);
    while (array->spares_count > 0)
        memory_piece_drop(array->spares[--array->spares_count], CHUNK_BYTES);
    free(array->chunks);
    memset(array, 0, sizeof *array);
}

size_t chunked_array_bytes(const struct chunked_array *array)
{
    size_t chunks = array->chunks_count - array->chunks_dropped + (size_t)array->spares_count;
    return chunks * CHUNK_BYTES + array->chunks_size * sizeof *array->chunks;
}

void chunked_array_grow(struct chunked_array *array)
{
    if (array->chunks_count == array->chunks_size) {
        array->chunks_size = array->chunks_size ? 2 * array->chunks_size : CHUNKS_FIRST;
        array->chunks = memory_resize(array->chunks, array->chunks_size, sizeof *array->chunks);
    }
    array->next =
        array->spares_count > 0 ? array->spares[--array->spares_count] : memory_piece(CHUNK_BYTES);
    array->chunk_end = array->next + CHUNK;
    array->chunks[array->chunks_count++] = array->next;
}

void chunked_array_drop(struct chunked_array *array, uint64_t before)
{
    size_t end = (size_t)(before << array->width_bits >> CHUNK_BITS);
    while (array->chunks_dropped < end) {
        uint32_t *chunk = array->chunks[array->chunks_dropped];
        array->chunks[array->chunks_dropped++] = NULL;
        if (array->spares_count < CHUNK_SPARES)
            array->spares[array->spares_count++] = chunk;
        else
            memory_piece_drop(chunk, CHUNK_BYTES);
    }
}
