/* minimal_faults.c - see minimal_faults.h. */
#include "explore/result/minimal_faults.h"

#include "base/memory.h"

#include <assert.h>

void minimal_faults_init(struct minimal_faults *minimal, const struct cell *start, unsigned faults)
{
    *minimal = (struct minimal_faults){.start = *start, .faults = faults, .weight = -1};
}

bool minimal_faults_asks(const struct minimal_faults *minimal, enum property property)
{
    enum section section;
    return !(minimal->start.ignored >> property & 1) &&
           cell_asks(&minimal->start, property, &section);
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
static unsigned decided(const struct minimal_faults *minimal, const struct cell *set)
{
    unsigned ignored = 0;
    for (int p = 0; p < PROPERTY_COUNT; p++) {
        if (!minimal_faults_asks(minimal, (enum property)p))
            ignored |= 1u << p;
        for (int i = 0; i < minimal->count; i++)
            if (is_part(&minimal->rows[i], set) &&
                verdict_of(&minimal->rows[i], (enum property)p) == VERDICT_VIOLATED)
                ignored |= 1u << p;
    }
    return ignored;
}

/* Adds a set of faults; FAULT_COUNT stands for no member. */
static void add_set(struct minimal_faults *minimal, int one, int other)
{
    struct cell set = minimal->start;
    struct failure failure = {0};
    const int members[FAULT_SET_MAX] = {one, other};
    for (int i = 0; i < FAULT_SET_MAX; i++) {
        enum fail fail = members[i] == FAULT_COUNT
                             ? FAIL_NONE
                             : cell_add_faults(&set, fault_name((enum fault)members[i]), &failure);
        assert(fail == FAIL_NONE);
    }
    set.ignored = decided(minimal, &set);
    if (set.ignored == (1u << PROPERTY_COUNT) - 1)
        return;
    /* The edges are kept for the sake of progress alone. */
    set.options.skips_progress |= !has_asked(&set, PROPERTY_PROGRESS);
    minimal->rows = memory_resize(minimal->rows, (size_t)minimal->count + 1, sizeof *minimal->rows);
    minimal->rows[minimal->count++] = set;
}

static bool is_chosen(const struct minimal_faults *minimal, int fault)
{
    return minimal->faults >> fault & 1;
}

/* In company it would only repeat the search of the other fault. */
static bool is_idle(const struct minimal_faults *minimal, int fault)
{
    return !minimal->is_unread &&
           !fault_is_applicable((enum fault)fault, minimal->start.options.scheme);
}

static void add_pairs(struct minimal_faults *minimal)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (!is_chosen(minimal, i) || is_idle(minimal, i))
            continue;
        for (int k = i; k < FAULT_COUNT; k++) {
            bool is_twice_at_once = k == i && fault_blame((enum fault)i) == FAULT_OF_RUN;
            if (is_chosen(minimal, k) && !is_idle(minimal, k) && !is_twice_at_once)
                add_set(minimal, i, k);
        }
    }
}

bool minimal_faults_widen(struct minimal_faults *minimal)
{
    if (minimal->weight == FAULT_SET_MAX)
        return false;
    minimal->first = minimal->count;
    minimal->weight++;
    if (minimal->weight == 0)
        add_set(minimal, FAULT_COUNT, FAULT_COUNT);
    for (int i = 0; i < FAULT_COUNT && minimal->weight == 1; i++)
        if (is_chosen(minimal, i))
            add_set(minimal, i, FAULT_COUNT);
    if (minimal->weight == 2)
        add_pairs(minimal);
    return true;
}

void minimal_faults_settle(struct minimal_faults *minimal)
{
    for (int i = 0; i < minimal->count; i++)
        minimal->rows[i].ignored |= decided(minimal, &minimal->rows[i]);
}

/* --- what it came to --- */

bool minimal_faults_breaks(const struct minimal_faults *minimal, int row, enum property property)
{
    const struct cell *cell = &minimal->rows[row];
    return has_asked(cell, property) && verdict_of(cell, property) == VERDICT_VIOLATED;
}

bool minimal_faults_is_unknown(const struct minimal_faults *minimal, int row,
                               enum property property)
{
    const struct cell *cell = &minimal->rows[row];
    return has_asked(cell, property) && verdict_of(cell, property) == VERDICT_UNKNOWN;
}

bool minimal_faults_is_least(const struct minimal_faults *minimal, int row, enum property property)
{
    for (int i = 0; i < minimal->count; i++)
        if (is_part(&minimal->rows[i], &minimal->rows[row]) &&
            minimal_faults_is_unknown(minimal, i, property))
            return false;
    return true;
}

enum minimal_faults_word minimal_faults_judge(const struct minimal_faults *minimal,
                                              enum property property)
{
    enum minimal_faults_word word =
        minimal_faults_asks(minimal, property) ? MINIMAL_HOLDS : MINIMAL_UNKNOWN;
    for (int i = 0; i < minimal->count; i++) {
        if (minimal_faults_breaks(minimal, i, property))
            return MINIMAL_BROKEN;
        if (minimal_faults_is_unknown(minimal, i, property))
            word = MINIMAL_UNKNOWN;
    }
    return word;
}
