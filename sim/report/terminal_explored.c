/* terminal_explored.c - the explorer's matrix on a terminal: a paragraph a scheme, with its bounds,
 * and a line a set of faults. */
#include "report/report.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/text.h"
#include "report/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 100 };

/* What --confirm found for all the witnesses of a cell; nothing where there is none, or nobody
 * asked. */
static void print_confirmed(FILE *out, const struct explored *cell)
{
    const char *why = NULL;
    bool has_seen = false, is_wrong = false;
    for (int i = 0; i < cell->properties_count; i++) {
        const struct explored_property *property = &cell->properties[i];
        is_wrong |= property->confirmed == CONFIRMED_NO || property->trouble;
        has_seen |= property->confirmed == CONFIRMED_YES;
        why = why ? why : explored_unconfirmed(property);
    }
    if (is_wrong)
        fputs("  NOT CONFIRMED", out);
    else if (why)
        fprintf(out, "  %s: %s", has_seen ? "confirmed in part" : "not confirmed", why);
    else if (has_seen)
        fputs("  confirmed", out);
    fputc('\n', out);
}

static int widest(const struct results *results, bool is_words)
{
    int widest = 0;
    for (int i = 0; i < results->cells_count; i++) {
        const struct explored *cell = &results->cells[i];
        int width = text_width(is_words ? cell->words : cell->faults);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_heading(FILE *out, const struct results *results, const struct explored *first,
                          bool is_top)
{
    char *bounds = explored_bounds(first);
    fputs(is_top ? "" : "\n", out);
    text_print(out, TEXT_PLAIN, first->scheme);
    fprintf(out, "  (%s)", bounds);
    if (results->origins_count)
        fprintf(out, "  [%d]", first->origin + 1);
    fputc('\n', out);
    free(bounds);
}

static void print_words(FILE *out, const struct explored *cell, int width, int colours)
{
    static const char *const colour_of[] = {[CELL_SAFE] = "32",
                                            [CELL_INHERENT] = "33",
                                            [CELL_BROKEN] = "31",
                                            [CELL_STUCK] = "31",
                                            [CELL_UNKNOWN] = "2"};
    if (colours)
        fprintf(out, "\033[%sm", colour_of[explored_word(cell)]);
    text_print(out, TEXT_PLAIN, cell->words);
    fputs(colours ? "\033[0m" : "", out);
    fprintf(out, "%*s", width - text_width(cell->words), "");
}

static void print_cell(FILE *out, const struct explored *cell, int faults_width, int words_width,
                       int colours)
{
    fputs("  ", out);
    text_print(out, TEXT_PLAIN, cell->faults);
    fprintf(out, "%*s", faults_width + 2 - text_width(cell->faults), "");
    print_words(out, cell, words_width, colours);
    fprintf(out, " %9" PRId64 " states ", cell->states);
    if (explored_is_random(cell))
        fprintf(out, "%6" PRId64 " runs %7" PRId64 " new in 1000 at the end", cell->runs,
                cell->new_per_1000);
    else
        fprintf(out, "%10" PRId64 " transitions", cell->transitions);
    print_confirmed(out, cell);
    if (*cell->tried) {
        char *words = memory_format("then tried: %s", cell->tried);
        text_print_wrapped(out, words, 4, COLUMNS);
        free(words);
    }
}

/* How far the fingerprints of exhaustive searches can be relied on: of the one that risks most. */
static void print_omissions(FILE *out, const struct results *results)
{
    double most = -1;
    for (int i = 0; i < results->cells_count; i++) {
        const struct explored *cell = &results->cells[i];
        if (!explored_is_random(cell) && cell->lost > most)
            most = cell->lost;
    }
    if (most >= 0)
        fprintf(out,
                "States omitted because two have the same fingerprint: %.0e expected in the "
                "largest search.\n",
                most);
}

static void print_totals(FILE *out, const struct results *results)
{
    struct view_explored counts = view_count_explored(results);
    fprintf(out, "\n%d cell%s: ", counts.cells, units_plural(counts.cells));
    for (int i = CELL_SAFE; i <= CELL_UNKNOWN; i++)
        fprintf(out, "%s%d %s", i ? ", " : "", counts.words[i], view_cell_words[i]);
    fputs(
        "\n\"safe\" means: up to these bounds, with each fault at most as often as it is named.\n",
        out);
    print_omissions(out, results);
    for (int i = 0; i < results->cells_count; i++) {
        if (!explored_is_random(&results->cells[i]))
            continue;
        fputs("A random search never proves that a property holds: what it does not find is "
              "unknown. It "
              "does not judge progress.\n",
              out);
        return;
    }
}

void report_terminal_explored(FILE *out, const struct results *results, int colours)
{
    int faults_width = widest(results, false), words_width = widest(results, true);
    for (int from = 0; from < results->cells_count;) {
        int end = view_cells_end(results, from);
        print_heading(out, results, &results->cells[from], from == 0);
        for (; from < end; from++)
            print_cell(out, &results->cells[from], faults_width, words_width, colours);
    }
    if (results->cells_count)
        print_totals(out, results);
}
