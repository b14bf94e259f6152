/* random.h - seeded randomness that does not depend on timing.
 *
 * Counter-based: the n-th number of a stream is a function of (seed, stream, n) alone, so that
 * adding a client or a fault does not change what another one draws. Mixing is splitmix64's
 * finaliser (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014). */
#ifndef PICKLOCK_BASE_RANDOM_H
#define PICKLOCK_BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t seed;   /* of the run */
    uint64_t stream; /* who draws: a client, a rule, a test */
    uint64_t next;   /* how many were drawn */
};

/* The n-th number of a stream, any n in any order. */
uint64_t random_at(uint64_t seed, uint64_t stream, uint64_t n);

/* The next number of a stream. */
uint64_t random_next(struct random *random);

/* Even in 0 .. bound - 1, without modulo bias. bound > 0. */
uint64_t random_below(struct random *random, uint64_t bound);

/* Even in -bound .. bound - 1; 0 when bound is 0 or less. A bound above INT64_MAX / 8000 counts
 * as that. */
int64_t random_about_zero(struct random *random, int64_t bound);

/* True in parts of a million of all calls. Integers, so that a decision is the same everywhere. */
bool random_chance(struct random *random, uint32_t parts_per_million);

#endif
