/* explore.c - `picklock explore`: every interleaving up to a bound, the matrix scheme x faults, the
 * shortest witnesses. */
#include "cmd/cmd.h"
#include "cmd/explore_args.h"
#include "cmd/explore_cells.h"
#include "cmd/explore_frontier.h"
#include "cmd/explore_print.h"
#include "cmd/explore_witness.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A witness that does not replay is a defect of picklock; what was not finished is unknown. */
static enum fail sum_up(const struct cells *cells, int unconfirmed, struct failure *failure)
{
    bool is_unknown = false;
    for (int i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->rows[i];
        is_unknown |= cell->outcome.end != END_COMPLETE && cell->outcome.end != END_UNSUPPORTED;
        for (int p = 0; p < PROPERTY_COUNT; p++)
            unconfirmed += cell->witnesses[p].trouble != NULL;
    }
    if (unconfirmed)
        return failure_set(failure, FAIL_INTERNAL,
                           "%d witnesses did not reproduce: a defect of picklock", unconfirmed);
    return is_unknown ? failure_set(failure, FAIL_UNKNOWN, "not every cell was searched to its end")
                      : FAIL_NONE;
}

static enum fail show(const struct cells *cells, const struct explore_args *args,
                      struct failure *failure)
{
    bool is_json_alone = args->json && strcmp(args->json, "-") == 0;
    if (!is_json_alone && args->frontier)
        explore_frontier_print(stdout, cells->frontiers, cells->frontiers_count);
    else if (!is_json_alone)
        explore_print_matrix(stdout, cells);
    if (!is_json_alone && args->witness)
        explore_print_witnesses(stdout, cells);
    return args->json ? explore_print_json(args->json, cells, failure) : FAIL_NONE;
}

static enum fail explore_and_print(const struct scheme_list *wanted,
                                   const struct explore_args *args, struct failure *failure)
{
    struct cells cells;
    int unconfirmed = 0;
    enum fail fail = cells_fill(&cells, args, wanted, failure);
    if (!fail && args->out)
        fail = explore_witness_write(&cells, args->out, failure);
    if (!fail && args->confirm)
        fail = explore_witness_confirm(&cells, args, &unconfirmed, failure);
    if (!fail)
        fail = show(&cells, args, failure);
    if (!fail)
        fail = sum_up(&cells, unconfirmed, failure);
    cells_close(&cells);
    return fail;
}

/* Those that were named, or every scheme of the table. */
static enum fail read_schemes(const char *text, struct scheme_list *wanted, struct failure *failure)
{
    enum fail fail = scheme_list_read(text, wanted, failure);
    if (fail || wanted->count > 0)
        return fail;
    wanted->rows = memory_resize(wanted->rows, (size_t)schemes_count, sizeof *wanted->rows);
    for (int i = 0; i < schemes_count; i++)
        wanted->rows[wanted->count++] = schemes[i];
    return FAIL_NONE;
}

int cmd_explore(int argc, char **argv)
{
    struct failure failure = {0};
    struct scheme_list wanted = {0};
    struct explore_args args;
    if (explore_args_parse(argc, argv, &args, &failure))
        return cmd_failed(&failure);
    if (args.wants_help)
        return cmd_help("explore", explore_help);
    cmd_catch_signals();
    enum fail fail = read_schemes(args.scheme, &wanted, &failure);
    if (!fail)
        fail = explore_and_print(&wanted, &args, &failure);
    free(wanted.rows);
    return fail ? cmd_failed(&failure) : FAIL_NONE;
}
