/* names.h - from a name to its row: every table of names is read by this one search. */
#ifndef PICKLOCK_BASE_NAMES_H
#define PICKLOCK_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The row that has the name, or -1. names: the name of the first of count rows, which are stride
 * bytes each; a row whose name is NULL is nobody's. All borrowed. */
int names_row(const char *const *names, size_t stride, size_t count, const char *name);

/* The same in an array of names, and in an array of structs that have a .name. */
#define NAMES_FIND(names, name)                                                                    \
    names_row((names), sizeof *(names), sizeof(names) / sizeof *(names), (name))
#define NAMES_FIND_ROW(rows, wanted)                                                               \
    names_row(&(rows)[0].name, sizeof *(rows), sizeof(rows) / sizeof *(rows), (wanted))

/* The enum whose number that row is (which none is below 0), unless the row is -1: is it there? */
static inline bool names_read(int row, unsigned *which)
{
    if (row >= 0)
        *which = (unsigned)row;
    return row >= 0;
}

#endif
