/* frontier.c - see frontier.h. */
#include "explore/frontier.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void frontier_init(struct frontier *frontier, const struct cell *start, unsigned faults)
{
    *frontier = (struct frontier){.start = *start, .faults = faults, .weight = -1};
}

void frontier_close(struct frontier *frontier)
{
    for (int i = 0; i < frontier->count; i++)
        cell_close(&frontier->rows[i]);
    free(frontier->rows);
    memset(frontier, 0, sizeof *frontier);
}

bool frontier_asks(const struct frontier *frontier, enum property property)
{
    enum section section;
    return cell_asks(&frontier->start, property, &section);
}

/* --- sets and their parts --- */

static int weight_of(const struct cell *cell)
{
    int weight = 0;
    for (int i = 0; i < FAULT_COUNT; i++)
        weight += cell->options.budget[i];
    return weight;
}

/* Less than the whole, and nothing besides it. */
static bool is_part(const struct cell *part, const struct cell *whole)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (part->options.budget[i] > whole->options.budget[i])
            return false;
    return weight_of(part) < weight_of(whole);
}

static bool has_asked(const struct cell *cell, enum property property)
{
    return !(cell->ignored >> property & 1);
}

static enum verdict verdict_of(const struct cell *cell, enum property property)
{
    return cell->outcome.findings[property].verdict;
}

/* --- the walk --- */

/* Properties that are not to be asked of this set. */
static unsigned decided(const struct frontier *frontier, const struct cell *set)
{
    unsigned ignored = 0;
    for (int p = 0; p < PROPERTY_COUNT; p++) {
        if (!frontier_asks(frontier, (enum property)p))
            ignored |= 1u << p;
        for (int i = 0; i < frontier->count; i++)
            if (is_part(&frontier->rows[i], set) &&
                verdict_of(&frontier->rows[i], (enum property)p) == VERDICT_VIOLATED)
                ignored |= 1u << p;
    }
    return ignored;
}

/* Adds a set of faults; FAULT_COUNT stands for no member. */
static void add_set(struct frontier *frontier, int one, int other)
{
    struct cell set = frontier->start;
    struct failure failure = {0};
    const int members[FRONTIER_WEIGHT_MAX] = {one, other};
    for (int i = 0; i < FRONTIER_WEIGHT_MAX; i++) {
        enum fail fail = members[i] == FAULT_COUNT
                             ? FAIL_NONE
                             : cell_add_faults(&set, fault_name((enum fault)members[i]), &failure);
        assert(fail == FAIL_NONE);
    }
    set.ignored = decided(frontier, &set);
    if (set.ignored == (1u << PROPERTY_COUNT) - 1)
        return;
    /* The edges are kept for the sake of progress alone. */
    set.options.skips_progress |= !has_asked(&set, PROPERTY_PROGRESS);
    frontier->rows =
        memory_resize(frontier->rows, (size_t)frontier->count + 1, sizeof *frontier->rows);
    frontier->rows[frontier->count++] = set;
}

static bool is_chosen(const struct frontier *frontier, int fault)
{
    return frontier->faults >> fault & 1;
}

/* In company it would only repeat the search of the other fault. */
static bool is_idle(const struct frontier *frontier, int fault)
{
    return !fault_can_strike((enum fault)fault, frontier->start.options.scheme);
}

static void add_pairs(struct frontier *frontier)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (!is_chosen(frontier, i) || is_idle(frontier, i))
            continue;
        for (int k = i; k < FAULT_COUNT; k++) {
            bool is_twice_at_once = k == i && fault_blame((enum fault)i) == FAULT_OF_RUN;
            if (is_chosen(frontier, k) && !is_idle(frontier, k) && !is_twice_at_once)
                add_set(frontier, i, k);
        }
    }
}

bool frontier_widen(struct frontier *frontier)
{
    if (frontier->weight == FRONTIER_WEIGHT_MAX)
        return false;
    frontier->first = frontier->count;
    frontier->weight++;
    if (frontier->weight == 0)
        add_set(frontier, FAULT_COUNT, FAULT_COUNT);
    for (int i = 0; i < FAULT_COUNT && frontier->weight == 1; i++)
        if (is_chosen(frontier, i))
            add_set(frontier, i, FAULT_COUNT);
    if (frontier->weight == 2)
        add_pairs(frontier);
    return true;
}

/* --- what it came to --- */

bool frontier_breaks(const struct frontier *frontier, int row, enum property property)
{
    const struct cell *cell = &frontier->rows[row];
    return has_asked(cell, property) && verdict_of(cell, property) == VERDICT_VIOLATED;
}

bool frontier_is_unknown(const struct frontier *frontier, int row, enum property property)
{
    const struct cell *cell = &frontier->rows[row];
    return has_asked(cell, property) && verdict_of(cell, property) == VERDICT_UNKNOWN;
}

bool frontier_is_least(const struct frontier *frontier, int row, enum property property)
{
    for (int i = 0; i < frontier->count; i++)
        if (is_part(&frontier->rows[i], &frontier->rows[row]) &&
            frontier_is_unknown(frontier, i, property))
            return false;
    return true;
}

enum frontier_word frontier_judge(const struct frontier *frontier, enum property property)
{
    enum frontier_word word = frontier_asks(frontier, property) ? FRONTIER_HOLDS : FRONTIER_UNKNOWN;
    for (int i = 0; i < frontier->count; i++) {
        if (frontier_breaks(frontier, i, property))
            return FRONTIER_BROKEN;
        if (frontier_is_unknown(frontier, i, property))
            word = FRONTIER_UNKNOWN;
    }
    return word;
}
