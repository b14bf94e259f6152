/* pool.c - see pool.h. Open addressing, at most half full. */
#include "explore/pool.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_FIRST = 1024, MEMO_FIRST = 1024 };

void pool_init(struct pool *pool)
{
    memset(pool, 0, sizeof *pool);
    pool->bytes_size = POOL_FIRST * 64;
    pool->bytes = memory_new(pool->bytes_size, 1);
    pool->offsets_size = POOL_FIRST;
    pool->offsets = memory_new(pool->offsets_size, sizeof *pool->offsets);
    pool->slots_size = POOL_FIRST;
    pool->slots = memory_new(pool->slots_size, sizeof *pool->slots);
}

void pool_close(struct pool *pool)
{
    free(pool->bytes);
    free(pool->offsets);
    free(pool->slots);
    memset(pool, 0, sizeof *pool);
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

static uint32_t pool_seek(const struct pool *pool, const void *record, size_t size, uint32_t mark)
{
    uint32_t mask = pool->slots_size - 1;
    uint32_t at = mark & mask;
    for (; pool->slots[at].number != 0; at = (at + 1) & mask) {
        uint32_t number = pool->slots[at].number - 1;
        if (pool->slots[at].mark != mark)
            continue;
        size_t start = pool->offsets[number];
        if (pool->offsets[number + 1] - start == size &&
            memcmp(pool->bytes + start, record, size) == 0)
            break;
    }
    return at;
}

static void pool_grow(struct pool *pool)
{
    struct pool_slot *old = pool->slots;
    uint32_t size = pool->slots_size, mask = 2 * size - 1;
    pool->slots_size *= 2;
    pool->slots = memory_new(pool->slots_size, sizeof *pool->slots);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t at = old[i].mark & mask;
        if (old[i].number == 0)
            continue;
        while (pool->slots[at].number != 0)
            at = (at + 1) & mask;
        pool->slots[at] = old[i];
    }
    free(old);
}

uint32_t pool_put(struct pool *pool, const void *record, size_t size)
{
    uint32_t mark = (uint32_t)(bytes_hash(record, size) >> 32);
    uint32_t at = pool_seek(pool, record, size, mark);
    if (pool->slots[at].number != 0)
        return pool->slots[at].number - 1;
    while (pool->bytes_used + size > pool->bytes_size) {
        pool->bytes_size *= 2;
        pool->bytes = memory_resize(pool->bytes, pool->bytes_size, 1);
    }
    if (pool->count + 2 > pool->offsets_size) {
        pool->offsets_size *= 2;
        pool->offsets = memory_resize(pool->offsets, pool->offsets_size, sizeof *pool->offsets);
    }
    memcpy(pool->bytes + pool->bytes_used, record, size);
    uint32_t number = pool->count++;
    pool->offsets[number] = pool->bytes_used;
    pool->bytes_used += size;
    pool->offsets[number + 1] = pool->bytes_used;
    pool->slots[at] = (struct pool_slot){.number = number + 1, .mark = mark};
    if (pool->count * 2 > pool->slots_size)
        pool_grow(pool);
    return number;
}

size_t pool_get(const struct pool *pool, uint32_t number, void *record)
{
    assert(number < pool->count);
    size_t size = pool->offsets[number + 1] - pool->offsets[number];
    memcpy(record, pool->bytes + pool->offsets[number], size);
    return size;
}

size_t pool_bytes(const struct pool *pool)
{
    return pool->bytes_size + pool->offsets_size * sizeof *pool->offsets +
           pool->slots_size * sizeof *pool->slots;
}

/* --- memo --- */

static void memo_make(struct memo *memo, size_t size)
{
    memo->count = 0;
    memo->size = size;
    memo->entries = memory_new(size, sizeof *memo->entries);
    memset(memo->entries, 0xff, size * sizeof *memo->entries);
}

void memo_init(struct memo *memo)
{
    memo_make(memo, MEMO_FIRST);
}

void memo_close(struct memo *memo)
{
    free(memo->entries);
    memset(memo, 0, sizeof *memo);
}

static void memo_insert(struct memo *memo, uint64_t key, uint64_t value)
{
    size_t mask = memo->size - 1, at = memo_home(memo, key);
    while (memo->entries[at].key != UINT64_MAX && memo->entries[at].key != key)
        at = (at + 1) & mask;
    memo->count += memo->entries[at].key != key;
    memo->entries[at] = (struct memo_entry){.key = key, .value = value};
}

void memo_put(struct memo *memo, uint64_t key, uint64_t value)
{
    assert(key != UINT64_MAX);
    if (memo->count * 2 >= memo->size) {
        struct memo old = *memo;
        memo_make(memo, old.size * 2);
        for (size_t i = 0; i < old.size; i++)
            if (old.entries[i].key != UINT64_MAX)
                memo_insert(memo, old.entries[i].key, old.entries[i].value);
        free(old.entries);
    }
    memo_insert(memo, key, value);
}

/* With the half that was there as well while it grew. */
size_t memo_bytes(const struct memo *memo)
{
    return memo->size * sizeof *memo->entries / 2 * 3;
}
