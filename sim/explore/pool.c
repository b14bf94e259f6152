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

static uint64_t bytes_hash(const unsigned char *bytes, size_t size)
{
    uint64_t hash = size;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = memo_mix(hash ^ word);
    }
    uint64_t rest = 0;
    memcpy(&rest, bytes, size);
    return memo_mix(hash ^ rest);
}

static uint32_t pool_seek(const struct pool *pool, const void *record, size_t size)
{
    uint32_t mask = pool->slots_size - 1;
    uint32_t at = (uint32_t)bytes_hash(record, size) & mask;
    for (; pool->slots[at] != 0; at = (at + 1) & mask) {
        uint32_t number = pool->slots[at] - 1;
        size_t start = pool->offsets[number];
        if (pool->offsets[number + 1] - start == size &&
            memcmp(pool->bytes + start, record, size) == 0)
            break;
    }
    return at;
}

static void pool_grow(struct pool *pool)
{
    free(pool->slots);
    pool->slots_size *= 2;
    pool->slots = memory_new(pool->slots_size, sizeof *pool->slots);
    for (uint32_t i = 0; i < pool->count; i++) {
        size_t start = pool->offsets[i];
        uint32_t at = pool_seek(pool, pool->bytes + start, pool->offsets[i + 1] - start);
        pool->slots[at] = i + 1;
    }
}

uint32_t pool_put(struct pool *pool, const void *record, size_t size)
{
    uint32_t at = pool_seek(pool, record, size);
    if (pool->slots[at] != 0)
        return pool->slots[at] - 1;
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
    pool->slots[at] = number + 1;
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
