/* random.c - see random.h. */
#include "base/random.h"

#include <assert.h>

static uint64_t mixed(uint64_t word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

uint64_t random_at(uint64_t seed, uint64_t stream, uint64_t n)
{
    uint64_t of_stream = mixed(mixed(seed + 0x9e3779b97f4a7c15u) ^ (stream * 0xd1342543de82ef95u));
    return mixed(of_stream + (n + 1) * 0x9e3779b97f4a7c15u);
}

uint64_t random_next(struct random *random)
{
    return random_at(random->seed, random->stream, random->next++);
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    assert(bound > 0);
    /* Redraw what lies in the last, incomplete run of bound numbers. */
    uint64_t skewed = (UINT64_MAX % bound + 1) % bound;
    uint64_t drawn = random_next(random);
    while (drawn > UINT64_MAX - skewed)
        drawn = random_next(random);
    return drawn % bound;
}

int64_t random_about_zero(struct random *random, int64_t bound)
{
    const int64_t most = INT64_MAX / 8000; /* far from where sums with it overflow */
    if (bound <= 0)
        return 0;
    if (bound > most)
        bound = most;
    return (int64_t)random_below(random, (uint64_t)bound * 2) - bound;
}

bool random_chance(struct random *random, uint32_t parts_per_million)
{
    return random_below(random, 1000000) < parts_per_million;
}
