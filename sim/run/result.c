/* result.c - see result.h. Owns the rows; judges nothing (judge.c does). */
#include "run/result.h"

#include "base/memory.h"

#include <stdio.h>
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
    free(row->scheme_file);
    free(row->trouble);
    free(row->not_applicable);
    free(row->schedule);
    free(row->history);
    free(row->story);
    free(row->source);
    free(row->path);
    free(row->folder);
}

void results_drop_last(struct results *results)
{
    row_close(&results->rows[--results->rows_count]);
}

void results_interrupt(struct results *results, const char *why, const char *unit, int64_t done,
                       int64_t of)
{
    struct interruption *interrupted = &results->interrupted;
    if (interrupted->why)
        return;
    *interrupted = (struct interruption){.why = memory_text(why), .done = done, .of = of};
    snprintf(interrupted->unit, sizeof interrupted->unit, "%s", unit);
}

static void texts_free(char **texts, int count)
{
    for (int i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void results_free(struct results *results)
{
    for (int i = 0; i < results->rows_count; i++)
        row_close(&results->rows[i]);
    free(results->rows);
    for (int i = 0; i < results->cells_count; i++)
        explored_close(&results->cells[i]);
    free(results->cells);
    for (int i = 0; i < results->origins_count; i++) {
        free(results->origins[i].invocation);
        free(results->origins[i].campaign);
    }
    free(results->origins);
    texts_free(results->notes, results->notes_count);
    texts_free(results->missing, results->missing_count);
    free(results->interrupted.why);
    free(results->invocation);
    free(results->campaign);
    *results = (struct results){0};
}

/* Room for one more: it doubles at powers of two, so that no capacity has to be kept. */
static void *with_room(void *rows, int count, size_t size)
{
    size_t used = (size_t)count;
    if (used == 0 || (used >= ROWS_FIRST && (used & (used - 1)) == 0))
        return memory_resize(rows, used ? 2 * used : ROWS_FIRST, size);
    return rows;
}

struct run_result *results_add(struct results *results)
{
    results->rows = with_room(results->rows, results->rows_count, sizeof *results->rows);
    struct run_result *row = &results->rows[results->rows_count++];
    *row = (struct run_result){.as_expected = AS_EXPECTED_NONE};
    return row;
}

struct explored *results_add_cell(struct results *results)
{
    results->cells = with_room(results->cells, results->cells_count, sizeof *results->cells);
    struct explored *cell = &results->cells[results->cells_count++];
    *cell = (struct explored){0};
    return cell;
}

const struct results *results_origin(const struct results *results, int origin)
{
    return results->origins_count ? &results->origins[origin] : results;
}

/* A stated expectation that could not be decided. */
static bool is_undecided(const struct run_result *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].expected != EXPECTED_NOTHING &&
            (row->properties[i].verdict == VERDICT_UNKNOWN ||
             row->properties[i].verdict == VERDICT_NOT_APPLICABLE))
            return true;
    return false;
}

bool result_is_vacuous(const struct run_result *row)
{
    bool is_unknown = false;
    if (row->as_expected != AS_EXPECTED_NONE)
        return false;
    for (int i = 0; i < row->properties_count; i++) {
        const struct property_result *property = &row->properties[i];
        if (!property_is_exclusion(property->property))
            continue;
        if (property->verdict == VERDICT_HOLDS || property->verdict == VERDICT_VIOLATED)
            return false;
        is_unknown |= property->verdict == VERDICT_UNKNOWN;
    }
    return is_unknown;
}

enum standing result_standing(const struct run_result *row)
{
    if (row->verdict == VERDICT_NOT_APPLICABLE)
        return STANDING_NOT_APPLICABLE;
    if (row->as_expected == AS_EXPECTED_YES)
        return STANDING_EXPECTED;
    if (row->as_expected == AS_EXPECTED_NO)
        return STANDING_UNEXPECTED;
    bool is_open = row->verdict == VERDICT_UNKNOWN || is_undecided(row) || result_is_vacuous(row);
    return is_open ? STANDING_UNKNOWN : STANDING_UNSTATED;
}

bool results_nothing_applied(const struct results *results)
{
    for (int i = 0; i < results->rows_count; i++)
        if (result_standing(&results->rows[i]) != STANDING_NOT_APPLICABLE)
            return false;
    return results->rows_count > 0 && results->cells_count == 0 && results->shard.count == 0;
}

bool results_nothing_ran(const struct results *results)
{
    return results->rows_count == 0 && results->cells_count == 0 && results->shard.count == 0;
}

enum fail results_status(const struct results *results)
{
    bool is_defect = false, is_failed = false;
    bool is_open = results->missing_count > 0 || results->interrupted.why ||
                   results_nothing_applied(results) || results_nothing_ran(results);
    for (int i = 0; i < results->rows_count; i++) {
        enum standing standing = result_standing(&results->rows[i]);
        is_failed |= standing == STANDING_UNEXPECTED;
        is_open |= standing == STANDING_UNKNOWN;
    }
    for (int i = 0; i < results->cells_count; i++) {
        is_defect |= explored_has_defect(&results->cells[i]);
        is_failed |= explored_has_failure(&results->cells[i]);
        is_open |= explored_is_open(&results->cells[i]);
    }
    return is_defect   ? FAIL_INTERNAL
           : is_failed ? FAIL_EXPECTATION
           : is_open   ? FAIL_UNKNOWN
                       : FAIL_NONE;
}
