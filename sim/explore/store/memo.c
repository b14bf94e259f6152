/* memo.c - see memo.h. */
#include "explore/store/memo.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MEMO_FIRST = 1024 };

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
