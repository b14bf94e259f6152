/* result.c - see result.h. Owns the rows; judges nothing (judge.c does). */
#include "run/result.h"

#include "base/memory.h"

#include <stdlib.h>

enum { ROWS_FIRST = 16 };

static void property_close(struct property_result *property)
{
    for (int i = 0; i < property->witness_lines; i++)
        free(property->witness[i]);
    free(property->witness);
}

static void row_close(struct run_result *row)
{
    for (int i = 0; i < row->properties_count; i++)
        property_close(&row->properties[i]);
    free(row->properties);
    free(row->trouble);
    free(row->schedule);
    free(row->history);
    free(row->story);
    free(row->source);
    free(row->path);
}

void results_free(struct results *results)
{
    for (int i = 0; i < results->rows_count; i++)
        row_close(&results->rows[i]);
    free(results->rows);
    free(results->invocation);
    *results = (struct results){0};
}

/* Room doubles at powers of two, so that no capacity has to be kept. */
struct run_result *results_add(struct results *results)
{
    size_t count = (size_t)results->rows_count;
    if (count == 0 || (count >= ROWS_FIRST && (count & (count - 1)) == 0))
        results->rows =
            memory_resize(results->rows, count ? 2 * count : ROWS_FIRST, sizeof *results->rows);
    struct run_result *row = &results->rows[results->rows_count++];
    *row = (struct run_result){.as_expected = AS_EXPECTED_NONE};
    return row;
}

/* A stated expectation that could not be decided. */
static bool is_undecided(const struct run_result *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].expected != EXPECTED_NOTHING &&
            row->properties[i].verdict == VERDICT_UNKNOWN)
            return true;
    return false;
}

enum standing result_standing(const struct run_result *row)
{
    if (row->as_expected == AS_EXPECTED_YES)
        return STANDING_EXPECTED;
    if (row->as_expected == AS_EXPECTED_NO)
        return STANDING_UNEXPECTED;
    return row->verdict == VERDICT_UNKNOWN || is_undecided(row) ? STANDING_UNKNOWN
                                                                : STANDING_UNSTATED;
}

enum fail results_status(const struct results *results)
{
    enum fail status = FAIL_NONE;
    for (int i = 0; i < results->rows_count; i++) {
        enum standing standing = result_standing(&results->rows[i]);
        if (standing == STANDING_UNEXPECTED)
            return FAIL_EXPECTATION;
        if (standing == STANDING_UNKNOWN)
            status = FAIL_UNKNOWN;
    }
    return status;
}
