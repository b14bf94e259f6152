/* fallback.h - what is tried when an exhaustive search has reached a limit: smaller bounds, then
 * random runs.
 *
 * Whatever fewer clients do in fewer rounds can be done within the bound that was asked for: the
 * others stay idle, and an idle client is not obliged to anything. So a way that violates a
 * property there violates it here; only progress is not asked, since with more clients or rounds
 * somebody might get the lock after all. (A client that waits for what can never come is seen on
 * the path itself, and counts.) What is found is the shortest only where the search that was cut
 * short had seen all that is shorter, or the random search proves it. What is not found stays
 * unknown: a fallback never says "holds". */
#ifndef PICKLOCK_EXPLORE_SEARCH_FALLBACK_H
#define PICKLOCK_EXPLORE_SEARCH_FALLBACK_H

#include "explore/search/explore.h"

/* Smaller bounds at most; and states of each search when there is no smaller limit: enough for a
 * second or so. */
enum { FALLBACK_BOUNDS_MAX = 6, FALLBACK_STATES = 1 << 20, FALLBACK_TEXT_MAX = 256 };

struct fallback_bound {
    int clients, rounds;
    enum explore_end end;
};

/* What was tried; is_due false: there was no need to. */
struct fallback {
    bool is_due;
    struct fallback_bound bounds[FALLBACK_BOUNDS_MAX];
    int bounds_count;
    uint64_t runs, seed; /* random */
};

/* The deadline of the exhaustive search, so that a quarter of the time that is left is left then.
 */
int64_t fallback_deadline_us(const struct explore_options *options);

/* Did it end at a limit, with one of the wanted properties (bits) unknown? */
bool fallback_is_due(const struct explore_options *options, const struct explore_outcome *outcome,
                     unsigned wanted);

/* Adds to the outcome of that search what is found of the wanted properties, within its options.
 * FAIL_INPUT: the scheme broke a rule. */
enum fail fallback_search(const struct explore_options *options, unsigned wanted,
                          struct explore_outcome *outcome, struct fallback *tried,
                          struct failure *failure);

/* "2 clients with 1 round, 10000 random runs with seed 0". At most size bytes; returns text. */
const char *fallback_print(const struct fallback *tried, char *text, size_t size);

/* The same? */
bool fallback_is_same(const struct fallback *a, const struct fallback *b);

#endif
