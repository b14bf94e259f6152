/* memo.h - what was computed once: a map from one number to another. */
#ifndef PICKLOCK_EXPLORE_STORE_MEMO_H
#define PICKLOCK_EXPLORE_STORE_MEMO_H

#include <stddef.h>
#include <stdint.h>

/* A map from one number to another: what was computed once. Keys are any but UINT64_MAX. */
struct memo {
    struct memo_entry *entries; /* hash table, at most half full */
    size_t count, size;
};

/* Side by side: a look costs one miss of the cache. */
struct memo_entry {
    uint64_t key; /* UINT64_MAX: empty */
    uint64_t value;
};

void memo_init(struct memo *memo);
void memo_close(struct memo *memo);
void memo_put(struct memo *memo, uint64_t key, uint64_t value);
size_t memo_bytes(const struct memo *memo);

static inline uint64_t memo_mix(uint64_t key)
{
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return key ^ (key >> 31);
}

/* Where a look for the key begins. */
static inline size_t memo_home(const struct memo *memo, uint64_t key)
{
    return (key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32 & (memo->size - 1);
}

/* The value, or NULL: not there. Valid until the next put. */
static inline const uint64_t *memo_find(const struct memo *memo, uint64_t key)
{
    size_t mask = memo->size - 1;
    for (size_t at = memo_home(memo, key);; at = (at + 1) & mask) {
        if (memo->entries[at].key == key)
            return &memo->entries[at].value;
        if (memo->entries[at].key == UINT64_MAX)
            return NULL;
    }
}

#endif
