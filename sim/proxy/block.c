/* block.c - bytes that must wait, in one piece. Grows as needed; whoever fills it minds the bound.
 */
#include "proxy/internal.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 64 }; /* what is held is a command or an answer, and mostly short */

size_t block_length(const struct block *block)
{
    return block->end - block->begin;
}

void block_append(struct block *block, const char *bytes, size_t length)
{
    if (!length)
        return;
    size_t kept = block_length(block);
    if (block->capacity - block->end < length && block->begin >= kept && block->begin >= length) {
        /* The gap in front is at least what moves: each byte moves at most once for each that came.
         */
        memcpy(block->bytes, block->bytes + block->begin, kept);
        block->begin = 0;
        block->end = kept;
    }
    if (block->capacity - block->end < length) {
        size_t capacity = block->capacity ? block->capacity : FIRST;
        while (capacity - block->end < length)
            capacity *= 2;
        block->bytes = memory_resize(block->bytes, capacity, 1);
        block->capacity = capacity;
    }
    memcpy(block->bytes + block->end, bytes, length);
    block->end += length;
}

void block_move_on(struct block *block, size_t length)
{
    assert(length <= block_length(block));
    block->begin += length;
    if (block->begin == block->end)
        block->begin = block->end = 0;
}

void block_eat(struct block *block, size_t length)
{
    block_move_on(block, length);
    if (!block->end)
        block_free(block);
}

void block_free(struct block *block)
{
    free(block->bytes);
    *block = (struct block){0};
}
