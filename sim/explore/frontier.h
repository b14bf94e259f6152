/* frontier.h - the fault frontier of a scheme: for each property the smallest sets of up to two
 * faults that break it.
 *
 * The sets are walked by weight: none, one, two (different ones, or the same one twice). A set is
 * asked about a property only when no part of it breaks it already. A search that ran out of its
 * limits says nothing about what it did not find: unknown, never "holds". Runs no search itself. */
#ifndef PICKLOCK_EXPLORE_FRONTIER_H
#define PICKLOCK_EXPLORE_FRONTIER_H

#include "explore/matrix.h"

enum { FRONTIER_WEIGHT_MAX = 2 };

struct frontier {
    struct cell start; /* the options of every search, without a fault */
    unsigned faults;   /* bit a fault: which may strike */
    struct cell *rows; /* by weight, then in the order of the faults */
    int count, first;  /* first: of the weight that was added last */
    int weight;        /* -1: no row yet */
};

/* start is copied; it has no faults yet. */
void frontier_init(struct frontier *frontier, const struct cell *start, unsigned faults);

/* Adds the rows of the next weight, from first on; the caller runs each (cell_run), in any order,
 * before the next call. False: all weights are done, nothing was added. A set of which every
 * property is decided by its parts is left out, and so are a token collision where tokens cannot
 * collide, in company, and what holds from the start twice. */
bool frontier_widen(struct frontier *frontier);
void frontier_close(struct frontier *frontier);

/* Does the scheme promise the property, and can the explorer tell? */
bool frontier_asks(const struct frontier *frontier, enum property property);

/* Does this row break the property, and no part of it that was searched does? */
bool frontier_breaks(const struct frontier *frontier, int row, enum property property);

/* Were all parts of the row searched to their end, so that it is certainly among the smallest? */
bool frontier_is_least(const struct frontier *frontier, int row, enum property property);

/* Was the row asked about the property, and ran out of its limits? */
bool frontier_is_unknown(const struct frontier *frontier, int row, enum property property);

/* BROKEN: by some set. UNKNOWN: by none that was found, and not every search came to its
 * end, or it is not asked about. */
enum frontier_word { FRONTIER_HOLDS, FRONTIER_BROKEN, FRONTIER_UNKNOWN };
enum frontier_word frontier_judge(const struct frontier *frontier, enum property property);

#endif
