/* explore_minimal_faults.c - see explore_minimal_faults.h. */
#include "cmd/explore_minimal_faults.h"

#include "base/memory.h"
#include "base/units.h"
#include "cmd/explore_cells.h"
#include "explore/result/worker_pool.h"
#include "report/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- the walks --- */

/* Of the rows that were added last. */
static void limit_states(struct minimal_faults *minimal)
{
    for (int k = minimal->first; k < minimal->count && minimal->weight > 1; k++) {
        uint64_t *states_max = &minimal->rows[k].options.states_max;
        if (*states_max == 0)
            *states_max = FRONTIER_STATES;
    }
}

enum fail explore_minimal_faults_run(struct minimal_faults *minimals, int count, int jobs,
                                     struct failure *failure)
{
    struct cell **todo = NULL;
    enum fail fail = FAIL_NONE;
    for (int weight = 0; weight <= FAULT_SET_MAX && !fail; weight++) {
        int todo_count = 0;
        for (int i = 0; i < count; i++) {
            struct minimal_faults *minimal = &minimals[i];
            if (!minimal_faults_widen(minimal))
                continue;
            todo = memory_resize(todo, (size_t)(todo_count + minimal->count) + 1, sizeof *todo);
            limit_states(minimal);
            for (int k = minimal->first; k < minimal->count; k++)
                todo[todo_count++] = &minimal->rows[k];
        }
        fail = cells_search(todo, todo_count, jobs, 0, failure);
    }
    free(todo);
    return fail;
}

enum fail explore_minimal_faults_ask(struct minimal_faults *minimal, struct explore_asking *asking,
                                     const struct explore_args *args, struct failure *failure)
{
    explore_asking_suit(&minimal->start);
    minimal->is_unread = true;
    while (minimal_faults_widen(minimal))
        limit_states(minimal);
    struct cells cells = {.rows = minimal->rows, .count = minimal->count};
    enum fail fail = explore_asking_run(asking, &cells, args, failure);
    if (cells.count) { /* by now it is known what the worker promises */
        minimal->start.ignored = cells.rows[0].ignored;
        minimal->start.has_one_section = cells.rows[0].has_one_section;
    }
    minimal_faults_settle(minimal);
    return fail;
}

/* --- for people --- */

static void print_set(FILE *out, const struct minimal_faults *minimal, int row,
                      enum property property)
{
    const struct cell *cell = &minimal->rows[row];
    for (const char *c = cell->faults; *c; c++)
        if (*c == '+')
            fputs(" + ", out);
        else
            fputc(*c, out);
    const int steps = cell->outcome.findings[property].events;
    fprintf(out, " (%s, %d step%s%s)", cause_name(cell->witnesses[property].cause), steps,
            units_plural(steps),
            minimal_faults_is_least(minimal, row, property) ? "" : "; less may do");
}

static void print_broken(FILE *out, const struct minimal_faults *minimal, enum property property)
{
    const char *between = "";
    for (int i = 0; i < minimal->count; i++) {
        if (!minimal_faults_breaks(minimal, i, property))
            continue;
        fputs(between, out);
        print_set(out, minimal, i, property);
        between = "; ";
    }
}

static void print_holds(FILE *out, const struct minimal_faults *minimal)
{
    const char *between = "";
    fputs(minimal->faults ? "holds against any two of: " : "holds without faults", out);
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (!(minimal->faults >> i & 1))
            continue;
        fprintf(out, "%s%s", between, fault_name((enum fault)i));
        between = ", ";
    }
}

/* The sets that were not searched to their end: how many, why, and one of them. */
static void print_unknown(FILE *out, const struct minimal_faults *minimal, enum property property)
{
    int unknown = 0, first = 0;
    for (int i = minimal->count - 1; i >= 0; i--) {
        if (!minimal_faults_is_unknown(minimal, i, property))
            continue;
        unknown++;
        first = i;
    }
    if (unknown == 0)
        return;
    const struct cell *cell = &minimal->rows[first];
    if (minimal_faults_judge(minimal, property) == MINIMAL_BROKEN)
        fputs("; ", out);
    fprintf(out, "unknown: %d of %d set%s, such as %s (%s)", unknown, minimal->count,
            units_plural(minimal->count), cell->faults, explore_end_words(cell->outcome.end));
}

/* "mutual-exclusion: stall (late-grant, 9 steps)"; to be freed. */
static char *judged_words(const struct minimal_faults *minimal, enum property property)
{
    char *words;
    size_t size;
    FILE *out = open_memstream(&words, &size);
    if (!out)
        return memory_text("");
    const enum minimal_faults_word word = minimal_faults_judge(minimal, property);
    fprintf(out, "%s: ", property_name(property));
    if (word == MINIMAL_BROKEN)
        print_broken(out, minimal, property);
    if (word == MINIMAL_HOLDS)
        print_holds(out, minimal);
    print_unknown(out, minimal, property);
    fclose(out);
    return words;
}

/* A file has each in one line, however long that is. */
static void print_minimal(FILE *out, const struct minimal_faults *minimal)
{
    const int columns = text_columns(out) ? text_room(out) : INT_MAX;
    const struct explore_options *options = &minimal->start.options;
    uint64_t states = 0;
    for (int i = 0; i < minimal->count; i++)
        states += minimal->rows[i].outcome.states;
    char *head = memory_format(
        "%s: clients %d, rounds %d, servers %d; %d set%s of faults, %" PRId64 " state%s",
        options->scheme->name, options->clients, options->rounds, options->servers, minimal->count,
        units_plural(minimal->count), (int64_t)states, units_plural((int64_t)states));
    text_print_wrapped(out, head, 0, columns);
    free(head);
    for (int p = 0; p < PROPERTY_COUNT; p++) {
        enum property property = (enum property)p;
        if (!minimal_faults_asks(minimal, property))
            continue;
        char *words = judged_words(minimal, property);
        text_print_wrapped(out, words, 2, columns);
        free(words);
    }
}

void explore_minimal_faults_print(FILE *out, const struct minimal_faults *minimals, int count)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            fputc('\n', out);
        print_minimal(out, &minimals[i]);
    }
}
