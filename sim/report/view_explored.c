/* view_explored.c - what every format says of the explorer's cells in the same way. See view.h. */
#include "report/view.h"

#include "base/memory.h"
#include "base/shell.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const view_cell_words[] = {[CELL_SAFE] = "safe",
                                       [CELL_INHERENT] = "nobody's fault",
                                       [CELL_BROKEN] = "broken",
                                       [CELL_STUCK] = "stuck",
                                       [CELL_UNKNOWN] = "unknown"};

int view_cells_end(const struct results *results, int from)
{
    const struct explored *first = &results->cells[from];
    char *bounds = explored_bounds(first);
    int end = from + 1;
    for (; end < results->cells_count; end++) {
        const struct explored *cell = &results->cells[end];
        char *others = explored_bounds(cell);
        bool is_same = cell->origin == first->origin && !strcmp(cell->scheme, first->scheme) &&
                       !strcmp(bounds, others);
        free(others);
        if (!is_same)
            break;
    }
    free(bounds);
    return end;
}

struct view_explored view_count_explored(const struct results *results)
{
    struct view_explored counts = {.cells = results->cells_count};
    for (int i = 0; i < results->cells_count; i++) {
        const struct explored *cell = &results->cells[i];
        int before = 0;
        while (before < i && strcmp(results->cells[before].scheme, cell->scheme) != 0)
            before++;
        counts.schemes += before == i;
        counts.words[explored_word(cell)]++;
        counts.failed += explored_has_failure(cell);
        counts.open += explored_is_open(cell);
        counts.defects += explored_has_defect(cell);
    }
    return counts;
}

char *view_explored_words(const struct results *results)
{
    struct view_explored counts = view_count_explored(results);
    const char *s = units_plural(counts.cells);
    if (!counts.cells)
        return memory_text("");
    if (counts.defects)
        return memory_format("A witness of %d of %d cells did not reproduce: a defect of picklock.",
                             counts.defects, counts.cells);
    if (counts.failed)
        return memory_format("%d of %d cell%s came to a failure.", counts.failed, counts.cells, s);
    if (counts.open)
        return memory_format("%d of %d cell%s could not be searched to the end.", counts.open,
                             counts.cells, s);
    return memory_format("%d cell%s: %d safe up to %s bounds, %d not.", counts.cells, s,
                         counts.words[CELL_SAFE], counts.cells == 1 ? "its" : "their",
                         counts.cells - counts.words[CELL_SAFE]);
}

const char *view_cell_side(const struct explored *cell)
{
    if (cell->is_unrated)
        return "-";
    return cell->is_naive ? "naive" : "safe";
}

char *view_sureness(const struct explored *cell)
{
    return explored_is_random(cell) ? memory_format("%" PRId64 " runs", cell->runs)
                                    : memory_format("%.0e omitted", cell->lost);
}

/* " --NAME VALUE", or nothing where it is the default; the caller frees. */
static char *option_if(bool is_given, const char *name, const char *value)
{
    return is_given ? memory_format(" --%s %s", name, value) : memory_text("");
}

char *view_explore_command(const struct explored *cell)
{
    bool is_random = explored_is_random(cell);
    char *section = option_if(cell->has_one_section, "section", explored_section(cell));
    char *search = option_if(is_random, "search", cell->search);
    char *seed = is_random ? memory_format(" --seed %" PRId64, cell->seed) : memory_text("");
    char *scheme = view_scheme_argument(cell->scheme, cell->scheme_file);
    char *command = memory_format("picklock explore --scheme %s --fault %s --clients %" PRId64
                                  " --rounds %" PRId64 " --servers %" PRId64
                                  " --lease-ticks %" PRId64 "%s%s%s --witness",
                                  scheme, cell->faults, cell->clients, cell->rounds, cell->servers,
                                  cell->lease_ticks, section, search, seed);
    free(scheme);
    free(section);
    free(search);
    free(seed);
    return command;
}

char *view_replay_command(const struct explored *cell, const struct explored_property *property,
                          const char *run_folder)
{
    const char *folder = cell->folder ? cell->folder : run_folder;
    if (!property->schedule)
        return NULL;
    char *named = folder ? memory_format("%s/%s", folder, property->schedule)
                         : memory_text(property->schedule);
    char *path = shell_word(named);
    char *scheme = cell->scheme_file ? shell_word(cell->scheme_file) : NULL;
    char *command = memory_format("picklock replay %s%s%s%s", scheme ? "--scheme " : "",
                                  scheme ? scheme : "", scheme ? " " : "", path);
    free(named);
    free(path);
    free(scheme);
    return command;
}

char *view_property_words(const struct explored_property *property)
{
    if (property->verdict != VERDICT_VIOLATED)
        return memory_format("%s %s%s", property_name(property->property),
                             property->verdict == VERDICT_HOLDS ? "" : "is ",
                             verdict_words(property->verdict));
    return memory_format("%s is violated (%s) in %" PRId64 " steps",
                         property_name(property->property), cause_name(property->cause),
                         property->steps);
}

const char *view_confirmed_words(const struct explored_property *property)
{
    if (property->verdict != VERDICT_VIOLATED)
        return "";
    if (property->trouble || property->confirmed == CONFIRMED_NO)
        return "NOT CONFIRMED";
    if (!property->is_replayed)
        return "no single way shows it, there is nothing to replay";
    if (property->confirmed == CONFIRMED_LACKS)
        return "replayed; this server does not know DELEX";
    return property->confirmed == CONFIRMED_YES ? "confirmed on real Redis" : "replayed";
}
