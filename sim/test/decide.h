/* decide.h - decides a cell: all its searches, one after the other, and what is left then. */
#ifndef PICKLOCK_TEST_DECIDE_H
#define PICKLOCK_TEST_DECIDE_H

#include "explore/result/cell.h"

static inline enum fail decide(struct cell *cell, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < SECTION_COUNT && !fail; i++)
        if (cell_has_search(cell, (enum section)i))
            fail = cell_search(cell, (enum section)i, failure);
    if (!fail)
        cell_finish(cell);
    return fail;
}

#endif
