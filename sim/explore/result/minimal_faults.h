/* minimal_faults.h - the minimal fault sets of a scheme: for each property the smallest sets of
 * up to two faults that violate it (`picklock explore --frontier`).
 *
 * Sets are walked by size: none, one, two (different ones, or the same one twice). A set is
 * asked about a property only when no part of it violates it already. A search that reached a
 * limit says nothing about what it did not find: unknown, never "holds". Runs no search itself. */
#ifndef PICKLOCK_EXPLORE_RESULT_MINIMAL_FAULTS_H
#define PICKLOCK_EXPLORE_RESULT_MINIMAL_FAULTS_H

#include "explore/result/cell.h"

enum { FAULT_SET_MAX = 2 };

struct minimal_faults {
    struct cell start; /* the options of every search, without a fault, and what it ignores */
    unsigned faults;   /* bit a fault: which may strike */
    struct cell *rows; /* by weight, then in the order of the faults */
    int count, first;  /* first: of the weight that was added last */
    int weight;        /* -1: no row yet */
    bool is_unread;    /* nothing is known of the scheme yet: no fault is left out */
};

/* start is copied; it has no faults yet. */
void minimal_faults_init(struct minimal_faults *minimal, const struct cell *start, unsigned faults);

/* Adds the rows of the next weight, from first on; the caller decides each (cell.h), in any order,
 * before the next call. False: all weights are done, nothing was added. A set of which every
 * property is decided by its parts is left out, and so are a token collision where tokens cannot
 * collide, in company, and what holds from the start twice. */
bool minimal_faults_widen(struct minimal_faults *minimal);
/* rows are the caller's to close and to free. */

/* Where all weights were added before any row was decided: rows are asked no more about what a part
 * of theirs violates. */
void minimal_faults_settle(struct minimal_faults *minimal);

/* Does the scheme promise the property, and can the explorer tell? */
bool minimal_faults_asks(const struct minimal_faults *minimal, enum property property);

/* Does this row break the property, and no part of it that was searched does? */
bool minimal_faults_breaks(const struct minimal_faults *minimal, int row, enum property property);

/* Were all parts of the row searched to their end, so that it is certainly among the smallest? */
bool minimal_faults_is_least(const struct minimal_faults *minimal, int row, enum property property);

/* Was the row asked about the property, and ran out of its limits? */
bool minimal_faults_is_unknown(const struct minimal_faults *minimal, int row,
                               enum property property);

/* BROKEN: by some set. UNKNOWN: by none that was found, and not every search came to its
 * end, or it is not asked about. */
enum minimal_faults_word { MINIMAL_HOLDS, MINIMAL_BROKEN, MINIMAL_UNKNOWN };
enum minimal_faults_word minimal_faults_judge(const struct minimal_faults *minimal,
                                              enum property property);

#endif
