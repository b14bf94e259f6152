/* intern.c - see intern.h. Open addressing, at most half full. */
#include "explore/store/intern.h"

#include "base/memory.h"
#include "explore/store/memo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { INTERN_FIRST = 1024 };

void intern_init(struct intern_table *table)
{
    memset(table, 0, sizeof *table);
    table->bytes_size = INTERN_FIRST * 64;
    table->bytes = memory_new(table->bytes_size, 1);
    table->offsets_size = INTERN_FIRST;
    table->offsets = memory_new(table->offsets_size, sizeof *table->offsets);
    table->slots_size = INTERN_FIRST;
    table->slots = memory_new(table->slots_size, sizeof *table->slots);
}

void intern_close(struct intern_table *table)
{
    free(table->bytes);
    free(table->offsets);
    free(table->slots);
    memset(table, 0, sizeof *table);
}

/* Four words at a time, none of which waits for another. */
static uint64_t bytes_hash(const unsigned char *bytes, size_t size)
{
    uint64_t lanes[4] = {size, 0, 0, 0}, words[4];
    for (; size >= sizeof words; bytes += sizeof words, size -= sizeof words) {
        memcpy(words, bytes, sizeof words);
        for (int i = 0; i < 4; i++)
            lanes[i] = (lanes[i] ^ words[i] ^ lanes[i] >> 29) * 0xbf58476d1ce4e5b9u;
    }
    memset(words, 0, sizeof words);
    memcpy(words, bytes, size);
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++)
        hash = memo_mix(hash ^ memo_mix(lanes[i] ^ words[i]));
    return hash;
}

static uint32_t intern_seek(const struct intern_table *table, const void *record, size_t size,
                            uint32_t mark)
{
    uint32_t mask = table->slots_size - 1;
    uint32_t at = mark & mask;
    for (; table->slots[at].number != 0; at = (at + 1) & mask) {
        uint32_t number = table->slots[at].number - 1;
        if (table->slots[at].mark != mark)
            continue;
        size_t start = table->offsets[number];
        if (table->offsets[number + 1] - start == size &&
            memcmp(table->bytes + start, record, size) == 0)
            break;
    }
    return at;
}

static void intern_grow(struct intern_table *table)
{
    struct intern_slot *old = table->slots;
    uint32_t size = table->slots_size, mask = 2 * size - 1;
    table->slots_size *= 2;
    table->slots = memory_new(table->slots_size, sizeof *table->slots);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t at = old[i].mark & mask;
        if (old[i].number == 0)
            continue;
        while (table->slots[at].number != 0)
            at = (at + 1) & mask;
        table->slots[at] = old[i];
    }
    free(old);
}

uint32_t intern_put(struct intern_table *table, const void *record, size_t size)
{
    uint32_t mark = (uint32_t)(bytes_hash(record, size) >> 32);
    uint32_t at = intern_seek(table, record, size, mark);
    if (table->slots[at].number != 0)
        return table->slots[at].number - 1;
    while (table->bytes_used + size > table->bytes_size) {
        table->bytes_size *= 2;
        table->bytes = memory_resize(table->bytes, table->bytes_size, 1);
    }
    if (table->count + 2 > table->offsets_size) {
        table->offsets_size *= 2;
        table->offsets = memory_resize(table->offsets, table->offsets_size, sizeof *table->offsets);
    }
    memcpy(table->bytes + table->bytes_used, record, size);
    uint32_t number = table->count++;
    table->offsets[number] = table->bytes_used;
    table->bytes_used += size;
    table->offsets[number + 1] = table->bytes_used;
    table->slots[at] = (struct intern_slot){.number = number + 1, .mark = mark};
    if (table->count * 2 > table->slots_size)
        intern_grow(table);
    return number;
}

uint32_t intern_find(const struct intern_table *table, const void *record, size_t size)
{
    const uint32_t mark = (uint32_t)(bytes_hash(record, size) >> 32);
    const uint32_t number = table->slots[intern_seek(table, record, size, mark)].number;
    return number ? number - 1 : UNKNOWN_ID;
}

size_t intern_size(const struct intern_table *table, uint32_t number)
{
    assert(number < table->count);
    return table->offsets[number + 1] - table->offsets[number];
}

size_t intern_get(const struct intern_table *table, uint32_t number, void *record)
{
    const size_t size = intern_size(table, number);
    memcpy(record, table->bytes + table->offsets[number], size);
    return size;
}

size_t intern_bytes(const struct intern_table *table)
{
    return table->bytes_size + table->offsets_size * sizeof *table->offsets +
           table->slots_size * sizeof *table->slots;
}
