/* shard.h - a list dealt out to several processes: this one does those whose index falls to shard K
 * of N.
 *
 * The list is dealt in rounds of N, one to each shard, every round from another shard on: sizes
 * differ by at most one, and a list with the period of N (the columns of a matrix) does not give
 * one shard all of the dear ones. Every index is in exactly one shard, on every machine. */
#ifndef PICKLOCK_BASE_SHARD_H
#define PICKLOCK_BASE_SHARD_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

enum { SHARDS_MAX = 100000 };

/* number is 1 to count; both 0: not sharded, the whole list. */
struct shard {
    int number, count;
};

/* Reads "K/N", 1 <= K <= N <= SHARDS_MAX (borrowed; NULL: the whole list). FAIL_INPUT: it is not,
 * with why. */
enum fail shard_read(const char *text, struct shard *shard, struct failure *failure);

bool shard_has(const struct shard *shard, int64_t index);

/* The index of the shard's nth (from 0): the way back from its rows to the whole list. */
int64_t shard_index(const struct shard *shard, int64_t nth);

/* How many of a list of `whole` fall to it. */
int64_t shard_size(const struct shard *shard, int64_t whole);

#endif
