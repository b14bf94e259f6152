/* explore_frontier.c - see explore_frontier.h. */
#include "cmd/explore_frontier.h"

#include "base/memory.h"
#include "cmd/explore_crew.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the walks --- */

enum fail explore_frontier_run(struct frontier *frontiers, int count, int jobs,
                               struct failure *failure)
{
    struct cell **todo = NULL;
    enum fail fail = FAIL_NONE;
    for (int weight = 0; weight <= FRONTIER_WEIGHT_MAX && !fail; weight++) {
        int todo_count = 0;
        for (int i = 0; i < count; i++) {
            struct frontier *frontier = &frontiers[i];
            if (!frontier_widen(frontier))
                continue;
            todo = memory_resize(todo, (size_t)(todo_count + frontier->count) + 1, sizeof *todo);
            for (int k = frontier->first; k < frontier->count; k++) {
                uint64_t *states_max = &frontier->rows[k].options.states_max;
                if (weight > 1 && *states_max == 0)
                    *states_max = FRONTIER_STATES;
                todo[todo_count++] = &frontier->rows[k];
            }
        }
        fail = explore_crew_run(todo, todo_count, jobs, failure);
    }
    free(todo);
    return fail;
}

/* --- for people --- */

static void print_set(FILE *out, const struct frontier *frontier, int row, enum property property)
{
    const struct cell *cell = &frontier->rows[row];
    for (const char *c = cell->faults; *c; c++)
        if (*c == '+')
            fputs(" + ", out);
        else
            fputc(*c, out);
    fprintf(out, " (%s, %d steps%s)", cause_name(cell->witnesses[property].cause),
            cell->outcome.findings[property].events,
            frontier_is_least(frontier, row, property) ? "" : "; less may do");
}

static void print_broken(FILE *out, const struct frontier *frontier, enum property property)
{
    const char *between = "";
    for (int i = 0; i < frontier->count; i++) {
        if (!frontier_breaks(frontier, i, property))
            continue;
        fputs(between, out);
        print_set(out, frontier, i, property);
        between = "; ";
    }
}

static void print_holds(FILE *out, const struct frontier *frontier)
{
    const char *between = "";
    fputs("holds against any two of: ", out);
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (!(frontier->faults >> i & 1))
            continue;
        fprintf(out, "%s%s", between, fault_name((enum fault)i));
        between = ", ";
    }
}

/* The sets that were not searched to their end: how many, why, and one of them. */
static void print_unknown(FILE *out, const struct frontier *frontier, enum property property)
{
    int unknown = 0, first = 0;
    for (int i = frontier->count - 1; i >= 0; i--) {
        if (!frontier_is_unknown(frontier, i, property))
            continue;
        unknown++;
        first = i;
    }
    if (unknown == 0)
        return;
    const struct cell *cell = &frontier->rows[first];
    if (frontier_judge(frontier, property) == FRONTIER_BROKEN)
        fputs("; ", out);
    fprintf(out, "unknown: %d of %d sets, such as %s (%s)", unknown, frontier->count, cell->faults,
            explore_end_words(cell->outcome.end));
}

static void print_frontier(FILE *out, const struct frontier *frontier)
{
    const struct explore_options *options = &frontier->start.options;
    uint64_t states = 0;
    for (int i = 0; i < frontier->count; i++)
        states += frontier->rows[i].outcome.states;
    text_print(out, TEXT_PLAIN, options->scheme->name);
    fprintf(out, ": clients %d, rounds %d, servers %d; %d sets of faults, %" PRIu64 " states\n",
            options->clients, options->rounds, options->servers,
            frontier->count, states);
    for (int p = 0; p < PROPERTY_COUNT; p++) {
        enum property property = (enum property)p;
        if (!frontier_asks(frontier, property))
            continue;
        fprintf(out, "  %s: ", property_name(property));
        enum frontier_word word = frontier_judge(frontier, property);
        if (word == FRONTIER_BROKEN)
            print_broken(out, frontier, property);
        if (word == FRONTIER_HOLDS)
            print_holds(out, frontier);
        print_unknown(out, frontier, property);
        fputc('\n', out);
    }
}

void explore_frontier_print(FILE *out, const struct frontier *frontiers, int count)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            fputc('\n', out);
        print_frontier(out, &frontiers[i]);
    }
}
