/* visited.c - see visited.h. */
#include "explore/visited.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { VISITED_FIRST = 1 << 14 };

void visited_init(struct visited *visited, int words, uint64_t seed, bool has_full_states)
{
    memset(visited, 0, sizeof *visited);
    visited->words = words;
    visited->seed = seed;
    visited->size = VISITED_FIRST;
    visited->prints = memory_new(visited->size, sizeof *visited->prints);
    visited->numbers = memory_new(visited->size, sizeof *visited->numbers);
    visited->parents_size = VISITED_FIRST;
    visited->parents = memory_new(visited->parents_size, sizeof *visited->parents);
    if (has_full_states) {
        visited->states_size = VISITED_FIRST;
        visited->states = memory_new(visited->states_size, (size_t)words * sizeof(uint32_t));
    }
}

void visited_close(struct visited *visited)
{
    free(visited->prints);
    free(visited->numbers);
    free(visited->parents);
    free(visited->states);
    memset(visited, 0, sizeof *visited);
}

size_t visited_bytes(const struct visited *visited)
{
    return visited->size * (sizeof *visited->prints + sizeof *visited->numbers) +
           visited->parents_size * sizeof *visited->parents +
           visited->states_size * (size_t)visited->words * sizeof(uint32_t);
}

/* Each pair of words is mixed in by a multiplication of its own, and the whole once more at the
 * end. */
uint64_t visited_print(const struct visited *visited, const uint32_t *words)
{
    uint64_t hash = visited->seed ^ 0x9e3779b97f4a7c15u;
    for (int i = 0; i < visited->words; i += 2) {
        uint64_t pair = words[i];
        if (i + 1 < visited->words)
            pair |= (uint64_t)words[i + 1] << 32;
        hash = (hash ^ pair) * 0xd6e8feb86659fd93u;
        hash ^= hash >> 32;
    }
    hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 32)) * 0x94d049bb133111ebu;
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

static bool is_same(const struct visited *visited, size_t at, uint64_t print, const uint32_t *words)
{
    if (visited->prints[at] != print)
        return false;
    if (!visited->states)
        return true;
    const uint32_t *state = visited->states + (size_t)visited->numbers[at] * (size_t)visited->words;
    return memcmp(state, words, (size_t)visited->words * sizeof *words) == 0;
}

static size_t seek(const struct visited *visited, uint64_t print, const uint32_t *words)
{
    size_t mask = visited->size - 1, at = print & mask;
    while (visited->prints[at] != 0 && !is_same(visited, at, print, words))
        at = (at + 1) & mask;
    return at;
}

static void grow_table(struct visited *visited)
{
    struct visited old = *visited;
    visited->size = old.size * 2;
    visited->prints = memory_new(visited->size, sizeof *visited->prints);
    visited->numbers = memory_new(visited->size, sizeof *visited->numbers);
    size_t mask = visited->size - 1;
    for (size_t i = 0; i < old.size; i++) {
        if (old.prints[i] == 0)
            continue;
        size_t at = old.prints[i] & mask;
        while (visited->prints[at] != 0)
            at = (at + 1) & mask;
        visited->prints[at] = old.prints[i];
        visited->numbers[at] = old.numbers[i];
    }
    free(old.prints);
    free(old.numbers);
}

static void grow_lists(struct visited *visited)
{
    if (visited->count == visited->parents_size) {
        visited->parents_size += visited->parents_size / 2;
        visited->parents =
            memory_resize(visited->parents, visited->parents_size, sizeof *visited->parents);
    }
    if (visited->states && visited->count == visited->states_size) {
        visited->states_size += visited->states_size / 2;
        visited->states = memory_resize(visited->states, visited->states_size,
                                        (size_t)visited->words * sizeof(uint32_t));
    }
}

uint32_t visited_put(struct visited *visited, uint64_t print, const uint32_t *words,
                     uint32_t parent, bool *is_new)
{
    size_t at = seek(visited, print, words);
    *is_new = visited->prints[at] == 0;
    if (!*is_new)
        return visited->tells_numbers ? visited->numbers[at] : VISITED_NONE;
    assert(visited->count < VISITED_NONE);
    grow_lists(visited);
    uint32_t number = visited->count++;
    visited->prints[at] = print;
    visited->numbers[at] = number;
    visited->parents[number] = parent;
    if (visited->states)
        memcpy(visited->states + (size_t)number * (size_t)visited->words, words,
               (size_t)visited->words * sizeof *words);
    if ((size_t)visited->count * 4 > visited->size * 3)
        grow_table(visited);
    return number;
}

uint32_t visited_find(const struct visited *visited, uint64_t print, const uint32_t *words)
{
    size_t at = seek(visited, print, words);
    return visited->prints[at] == 0 ? VISITED_NONE : visited->numbers[at];
}
