/* intern.h - equal bytes get one number: records are interned, and states are made of their
 * numbers.
 *
 * Numbers count from 0 in the order in which records were first seen, so that a search is the same
 * on every machine. */
#ifndef PICKLOCK_EXPLORE_STORE_INTERN_H
#define PICKLOCK_EXPLORE_STORE_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* No record has that number. */
#define UNKNOWN_ID UINT32_MAX

struct intern_table {
    unsigned char *bytes; /* all records, one after the other */
    size_t bytes_used, bytes_size;
    size_t *offsets; /* count + 1 of them */
    uint32_t count, offsets_size;
    struct intern_slot *slots; /* hash table, at most half full */
    uint32_t slots_size;
};

struct intern_slot {
    uint32_t number; /* + 1; 0: empty */
    uint32_t mark;   /* of the record's hash: few others are looked at */
};

void intern_init(struct intern_table *table);
void intern_close(struct intern_table *table);

/* The number of a record (borrowed). */
uint32_t intern_put(struct intern_table *table, const void *record, size_t size);

/* Copies the record of that number; returns its size. */
size_t intern_get(const struct intern_table *table, uint32_t number, void *record);

size_t intern_bytes(const struct intern_table *table);

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
