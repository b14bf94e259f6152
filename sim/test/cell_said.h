/* cell_said.h - what every report says of a searched cell, where nothing counts as a failure. */
#ifndef PICKLOCK_TEST_CELL_SAID_H
#define PICKLOCK_TEST_CELL_SAID_H

#include "run/cell_result.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static inline void assert_cell_says(const struct cell *cell, const char *words)
{
    const enum confirmed not_asked[PROPERTY_COUNT] = {CONFIRMED_NOT_ASKED};
    struct results results = {0};
    result_add_cell(&results, cell, not_asked, FAIL_ON_NEVER);
    assert_string_equal(results.rows[0].search->words, words);
    results_free(&results);
}

#endif
