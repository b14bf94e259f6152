/* terminal_cells.c - the explorer's part of the summary; see terminal_parts.h. */
#include "report/terminal_parts.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/conclusion.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* Of a cell, behind its words; of a random search there is more to say. */
enum { STATES_COLUMNS = 50, RANDOM_COLUMNS = 86 };

/* What --confirm found for all the witnesses of a cell; nothing where there is none, or nobody
 * asked. */
static void print_confirmed(const struct terminal *terminal, const struct result_row *row)
{
    const char *why = NULL;
    /* These words speak of no witness; what is nobody's fault has one all the same. */
    const enum cell_word word = result_cell_word(row);
    const bool is_told = word != CELL_NOT_FOUND && word != CELL_UNKNOWN;
    bool has_seen = false;
    for (int i = 0; i < row->properties_count; i++) {
        has_seen |= row->properties[i].confirmed == CONFIRMED_YES && is_told;
        why = why ? why : result_unconfirmed(row->properties[i].confirmed);
    }
    if (result_has_defect(row))
        fputs("  NOT CONFIRMED", terminal->out);
    else if (why)
        fprintf(terminal->out, "  %s: %s", has_seen ? "confirmed in part" : "not confirmed", why);
    else if (has_seen)
        fputs("  confirmed", terminal->out);
    fputc('\n', terminal->out);
}

/* A rate over 1000 runs is told of a search that has made some thousands. */
static void print_runs(FILE *out, const struct search_figures *search, bool fits)
{
    enum { RUNS_FEW = 2000 };
    fprintf(out, "%6" PRId64 " runs%s", search->runs, fits ? " " : "\n    ");
    if (search->runs < RUNS_FEW)
        fprintf(out, "%7.2f new states a run at the end", (double)search->new_per_1000 / 1000);
    else
        fprintf(out, "%7" PRId64 " new states in 1000 runs at the end", search->new_per_1000);
}

/* Behind the verdict, or in lines below. */
static void print_figures(const struct terminal *terminal, const struct search_figures *search,
                          bool fits)
{
    fprintf(terminal->out, "%s %9" PRId64 " states ", fits ? "" : "   ", search->states);
    if (search_is_random(search))
        print_runs(terminal->out, search, fits);
    else
        fprintf(terminal->out, "%10" PRId64 " transitions", search->transitions);
}

static void print_cell(const struct terminal *terminal, const struct result_row *row,
                       const int *widths)
{
    const struct search_figures *search = row->search;
    /* A file has a cell in one line, however wide that is. */
    const bool fits = !text_columns(terminal->out) ||
                      2 + widths[0] + 2 + widths[1] +
                              (search_is_random(search) ? RANDOM_COLUMNS : STATES_COLUMNS) <=
                          terminal->columns;
    const char *line = search->words;
    const bool is_beside = fits || 2 + widths[0] + 2 + text_width(line) <= terminal->columns;
    fputs("  ", terminal->out);
    terminal_cell(terminal, NULL, row->subject, is_beside ? widths[0] + 2 : 0);
    if (is_beside)
        terminal_cell(terminal, terminal_colour(row), line, fits ? widths[1] : 0);
    if (!fits)
        fputc('\n', terminal->out);
    if (!is_beside)
        text_print_wrapped(terminal->out, line, 4, terminal->columns);
    print_figures(terminal, search, fits);
    print_confirmed(terminal, row);
    if (*search->tried) {
        char *words = memory_format("then tried: %s", search->tried);
        text_print_wrapped(terminal->out, words, 4, terminal->columns);
        free(words);
    }
}

/* What "safe" rests on: of fingerprints, on the search that risks most. */
static void print_reliance(const struct terminal *terminal, const struct view *view)
{
    double most = -1;
    bool is_random = false;
    for (int i = view_first(view, KIND_CELL); i < view->count; i++) {
        const struct search_figures *search = view->rows[i]->search;
        is_random |= search_is_random(search);
        if (!search_is_random(search) && search->omissions > most)
            most = search->omissions;
    }
    if (most >= 0) {
        char *words =
            memory_format("States are told apart by a fingerprint of 64 bits: in the largest "
                          "search %.0e are expected to be missed for that.",
                          most);
        text_print_wrapped(terminal->out, words, 0, terminal->columns);
        free(words);
    }
    if (is_random)
        text_print_wrapped(
            terminal->out,
            "A random search never proves that a property holds: what it does not "
            "find is unknown. Whether somebody waits for ever it judges only of a program.",
            0, terminal->columns);
}

/* What is searched, and how far: in one line where there is room. */
static void print_head(const struct terminal *terminal, const struct view *view, int at,
                       const char *bounds)
{
    const char *lock = result_lock(view->rows[at]);
    const int width = text_width(bounds) + 4;
    terminal_cell(terminal, NULL, lock, 0);
    if (width > terminal->columns) {
        char *whole = memory_format("(%s)", bounds);
        terminal_origin(terminal, view, at);
        text_print_wrapped(terminal->out, whole, 2, terminal->columns);
        free(whole);
        return;
    }
    fputs(text_width(lock) + width <= terminal->columns ? "  (" : "\n  (", terminal->out);
    terminal_cell(terminal, NULL, bounds, 0);
    fputs(")", terminal->out);
    terminal_origin(terminal, view, at);
}

/* What is broken or stuck may be the deployment's fault, and no failure of the lock's. */
static void print_counted(const struct terminal *terminal, const struct view *view,
                          const struct view_counts *counts, const char *words)
{
    const int broken = counts->words[CELL_BROKEN] + counts->words[CELL_STUCK];
    const bool is_told = (counts->failed || conclusion_is_told(view)) && counts->failed != broken;
    char *line = is_told ? memory_format("%s (%d of the %d broken or stuck count as failures)",
                                         words, counts->failed, broken)
                         : memory_text(words);
    text_print_wrapped(terminal->out, line, 0, terminal->columns);
    free(line);
}

void terminal_cells(const struct terminal *terminal, const struct view *view,
                    const struct view_counts *counts)
{
    int first = view_first(view, KIND_CELL), widths[2] = {0, 0};
    for (int i = first; i < view->count; i++) {
        int faults = text_width(view->rows[i]->subject);
        int words = text_width(view->rows[i]->search->words);
        widths[0] = faults > widths[0] ? faults : widths[0];
        widths[1] = words > widths[1] ? words : widths[1];
    }
    for (int from = first, end; from < view->count; from = end) {
        char *bounds = search_bounds(view->rows[from]->search);
        end = view_group_end(view, from);
        fputs(from > first ? "\n" : "", terminal->out);
        print_head(terminal, view, from, bounds);
        for (int i = from; i < end; i++)
            print_cell(terminal, view->rows[i], widths);
        free(bounds);
    }
    char *words = memory_format("%d cell%s: ", counts->cells, units_plural(counts->cells));
    for (int i = CELL_SAFE; i <= CELL_UNKNOWN; i++) {
        if (i == CELL_NOT_FOUND && !counts->words[i])
            continue;
        char *longer =
            memory_format("%s%s%d %s", words, i ? ", " : "", counts->words[i], view_cell_words[i]);
        free(words);
        words = longer;
    }
    fputc('\n', terminal->out);
    print_counted(terminal, view, counts, words);
    free(words);
    text_print_wrapped(
        terminal->out,
        "\"safe\" means: up to these bounds, with each fault at most as often as it is named.", 0,
        terminal->columns);
    print_reliance(terminal, view);
}
