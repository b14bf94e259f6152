/* terminal.c - the summary on a terminal: at most 100 columns, colours only when asked for. */
#include "report/report.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/text.h"
#include "report/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 100, SCHEME_COLUMNS_MAX = 30 };

/* A run of the terminal printer. */
struct terminal {
    FILE *out;
    int colours;
    int scheme_columns;
    bool is_brief;
};

static const char bold[] = "1", dim[] = "2", red[] = "31", green[] = "32", yellow[] = "33",
                  loud[] = "1;31";

/* Prints text in a column of its width (0: as wide as it is), in a colour or none (NULL). */
static void cell(const struct terminal *terminal, const char *colour, const char *text, int width)
{
    bool is_coloured = terminal->colours && colour && *text;
    if (is_coloured)
        fprintf(terminal->out, "\033[%sm", colour);
    text_print(terminal->out, TEXT_PLAIN, text);
    if (is_coloured)
        fputs("\033[0m", terminal->out);
    int pad = width - text_width(text);
    if (pad > 0)
        fprintf(terminal->out, "%*s", pad, "");
}

static const char *colour_of(const struct result_row *row)
{
    static const char *const by_word[] = {[CELL_SAFE] = green,
                                          [CELL_INHERENT] = yellow,
                                          [CELL_BROKEN] = red,
                                          [CELL_STUCK] = red,
                                          [CELL_UNKNOWN] = dim};
    if (row->search)
        return by_word[result_cell_word(row)];
    if (row->verdict == VERDICT_HOLDS)
        return green;
    if (row->verdict == VERDICT_UNKNOWN || row->verdict == VERDICT_NOT_APPLICABLE)
        return dim;
    return view_blame(row) == BLAME_SCHEME ? red : yellow;
}

static const char *colour_of_standing(enum standing standing)
{
    return standing == STANDING_UNEXPECTED ? loud : standing == STANDING_UNKNOWN ? yellow : dim;
}

/* The column is as wide as the names, up to a limit; a longer name gets a line of its own. */
static void name_scheme(const struct terminal *terminal, const struct result_row *row)
{
    cell(terminal, NULL, result_lock(row), terminal->scheme_columns);
    if (text_width(result_lock(row)) >= terminal->scheme_columns)
        fprintf(terminal->out, "\n%*s", 9 + terminal->scheme_columns, "");
}

static int scheme_columns(const struct view *view)
{
    int columns = 8, end = view_first(view, KIND_CELL);
    for (int i = 0; i < end; i++) {
        int width = text_width(result_lock(view->rows[i])) + 2;
        if (width > columns && width <= SCHEME_COLUMNS_MAX)
            columns = width;
    }
    return columns;
}

/* The reason stands in the columns that such a row has no words for, or below. */
static void print_not_applicable(const struct terminal *terminal, const struct result_row *row)
{
    int indent = 9 + terminal->scheme_columns;
    char *words = memory_format("%s: %s", view_verdict(row), row->not_applicable);
    if (indent + text_width(words) <= COLUMNS) {
        cell(terminal, dim, words, 0);
        fputc('\n', terminal->out);
    } else {
        cell(terminal, dim, view_verdict(row), 0);
        fputs(":\n", terminal->out);
        text_print_wrapped(terminal->out, row->not_applicable, 9, COLUMNS);
    }
    free(words);
}

static void print_row(const struct terminal *terminal, const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    bool is_violated = row->verdict == VERDICT_VIOLATED && headline;
    enum standing standing = result_standing(row);
    fputs("  ", terminal->out);
    cell(terminal, dim, view_side(row), 7);
    name_scheme(terminal, row);
    if (row->not_applicable) {
        print_not_applicable(terminal, row);
        return;
    }
    cell(terminal, colour_of(row), view_verdict(row), 13);
    cell(terminal, NULL, is_violated ? property_name(headline->property) : "", 18);
    cell(terminal, NULL, is_violated ? cause_name(headline->cause) : "", 18);
    cell(terminal, colour_of_standing(standing), view_standing_words(standing), 0);
    fputc('\n', terminal->out);
}

static void print_origin(const struct terminal *terminal, const struct view *view, int at)
{
    if (view->results->origins_count)
        fprintf(terminal->out, "  [%d]", view->rows[at]->origin + 1);
    fputc('\n', terminal->out);
}

/* Is there something to look at in that group? */
static bool has_news(const struct view *view, int from, int end)
{
    bool has_any = false;
    for (int i = from; i < end; i++)
        has_any |= view->rows[i]->verdict == VERDICT_VIOLATED || view_is_problem(view->rows[i]);
    return has_any;
}

static void print_scenarios(const struct terminal *terminal, const struct view *view)
{
    int last = view_first(view, KIND_STRESS), cells = view_first(view, KIND_CELL);
    last = last < cells ? last : cells;
    for (int from = 0, end; from < last; from = end) {
        end = view_group_end(view, from);
        if (terminal->is_brief && !has_news(view, from, end))
            continue;
        cell(terminal, bold, view->rows[from]->subject, 0);
        print_origin(terminal, view, from);
        for (int i = from; i < end; i++)
            print_row(terminal, view->rows[i]);
    }
}

static void print_figures(const struct terminal *terminal, const struct result_row *row)
{
    const struct stress_figures *figures = row->stress;
    char p50[UNITS_TEXT_MAX], p99[UNITS_TEXT_MAX];
    cell(terminal, NULL, result_lock(row), terminal->scheme_columns - 1);
    if (text_width(result_lock(row)) >= terminal->scheme_columns)
        fprintf(terminal->out, "\n%*s", terminal->scheme_columns - 1, "");
    fprintf(terminal->out, " %8" PRId64 " %7" PRId64 " %8" PRId64 " %8" PRId64 " %7" PRId64,
            figures->operations, figures->grants, figures->overruns, figures->foreign_releases,
            figures->lost_updates);
    fprintf(terminal->out, " %9s %9s  ", units_print_duration(figures->latency_us.p50, p50),
            units_print_duration(figures->latency_us.p99, p99));
    const struct result_property *headline = view_headline(row);
    bool is_violated = headline && headline->verdict == VERDICT_VIOLATED;
    cell(terminal, colour_of(row), is_violated ? cause_name(headline->cause) : view_verdict(row),
         0);
    fputc('\n', terminal->out);
}

static void print_faults(const struct terminal *terminal, const struct result_row *row,
                         const char *before)
{
    const struct stress_figures *figures = row->stress;
    fprintf(terminal->out, "%s%s: %" PRId64 " client%s, ", before, result_lock(row),
            figures->clients, units_plural(figures->clients));
    if (figures->faults > 0)
        fprintf(terminal->out, "%" PRId64 " faults, %" PRId64 " of them inside a hold",
                figures->faults, figures->faults_in_hold);
    else
        fputs("without any fault", terminal->out);
    fprintf(terminal->out, "; %" PRId64 " contended attempts\n", figures->contended);
}

static void print_stress(const struct terminal *terminal, const struct view *view)
{
    int first = view_first(view, KIND_STRESS), end = view_first(view, KIND_CELL);
    if (first >= end)
        return;
    int width = terminal->scheme_columns - 1;
    fprintf(terminal->out, "%s%*s%9s%8s%9s%9s%8s%10s%10s\n", first ? "\n" : "", width, "", "", "",
            "", "foreign", "lost", "acquire", "acquire");
    fprintf(terminal->out, "%-*s%9s%8s%9s%9s%8s%10s%10s  %s\n", width, "stress", "ops", "grants",
            "overruns", "releases", "updates", "p50", "p99", "verdict");
    for (int i = first; i < end; i++)
        print_figures(terminal, view->rows[i]);
    for (int i = first; i < end; i++)
        print_faults(terminal, view->rows[i], i == first ? "\n" : "");
}

static void print_sentences(const struct terminal *terminal, const char *words,
                            const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    char *why = view_row_words(row);
    fputc('\n', terminal->out);
    cell(terminal, bold, words, 0);
    cell(terminal, bold, row->subject, 0);
    fputs(", ", terminal->out);
    cell(terminal, bold, result_lock(row), 0);
    fputc('\n', terminal->out);
    text_print_wrapped(terminal->out, why, 2, COLUMNS);
    for (int i = 0; headline && !row->error && i < headline->witness_lines; i++)
        text_print_wrapped(terminal->out, headline->witness[i], 4, COLUMNS);
    free(why);
}

static void print_totals(const struct terminal *terminal, const struct view *view,
                         const struct view_counts *counts)
{
    const int *standing = counts->standing;
    char text[80];
    fprintf(terminal->out, "\n%d run%s: %d as expected, ", counts->rows, units_plural(counts->rows),
            standing[STANDING_EXPECTED]);
    snprintf(text, sizeof text, "%d not", standing[STANDING_UNEXPECTED]);
    cell(terminal, standing[STANDING_UNEXPECTED] ? loud : NULL, text, 0);
    snprintf(text, sizeof text, ", %d unknown", standing[STANDING_UNKNOWN]);
    cell(terminal, standing[STANDING_UNKNOWN] ? yellow : NULL, text, 0);
    if (standing[STANDING_KNOWN])
        fprintf(terminal->out, ", %d known", standing[STANDING_KNOWN]);
    if (standing[STANDING_UNSTATED])
        fprintf(terminal->out, ", %d without expectation", standing[STANDING_UNSTATED]);
    if (standing[STANDING_NOT_APPLICABLE])
        fprintf(terminal->out, ", %d not applicable", standing[STANDING_NOT_APPLICABLE]);
    if (results_nothing_applied(view->results))
        cell(terminal, yellow, ": nothing was concluded", 0);
    if (results_nothing_ran(view->results))
        cell(terminal, yellow, ": unknown, because nothing was run", 0);
    fputc('\n', terminal->out);
}

static void print_all(const char *title, const struct terminal *terminal, char *const *texts,
                      int count, const char *colour)
{
    for (int i = 0; i < count; i++) {
        fputc('\n', terminal->out);
        cell(terminal, colour, title, 0);
        text_print_wrapped(terminal->out, texts[i], 0, COLUMNS - text_width(title));
    }
}

/* What was run, as far as it was: a matrix alone needs no table of runs. */
static void print_runs(const struct terminal *terminal, const struct view *view,
                       const struct view_counts *counts)
{
    int end = view_first(view, KIND_CELL);
    print_scenarios(terminal, view);
    print_stress(terminal, view);
    bool has_problem = false;
    for (int i = 0; i < end && !terminal->is_brief; i++) {
        if (!view_is_problem(view->rows[i]))
            continue;
        bool is_unknown = result_standing(view->rows[i]) == STANDING_UNKNOWN;
        has_problem = true;
        print_sentences(terminal, is_unknown ? "unknown: " : "NOT expected: ", view->rows[i]);
    }
    const struct result_row *bug = has_problem || terminal->is_brief ? NULL : view_first_bug(view);
    if (bug)
        print_sentences(
            terminal,
            view_blame(bug) == BLAME_NOBODY ? "nobody's fault: " : "the first bug: ", bug);
    print_totals(terminal, view, counts);
}

/* --- cells: a paragraph a scheme, with its bounds, and a line a set of faults --- */

/* What --confirm found for all the witnesses of a cell; nothing where there is none, or nobody
 * asked. */
static void print_confirmed(const struct terminal *terminal, const struct result_row *row)
{
    const char *why = NULL;
    bool has_seen = false;
    for (int i = 0; i < row->properties_count; i++) {
        has_seen |= row->properties[i].confirmed == CONFIRMED_YES;
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

static void print_cell(const struct terminal *terminal, const struct result_row *row,
                       const int *widths)
{
    const struct search_figures *search = row->search;
    fputs("  ", terminal->out);
    cell(terminal, NULL, row->subject, widths[0] + 2);
    cell(terminal, colour_of(row), search->words, widths[1]);
    fprintf(terminal->out, " %9" PRId64 " states ", search->states);
    if (search_is_random(search))
        fprintf(terminal->out, "%6" PRId64 " runs %7" PRId64 " new in 1000 at the end",
                search->runs, search->new_per_1000);
    else
        fprintf(terminal->out, "%10" PRId64 " transitions", search->transitions);
    print_confirmed(terminal, row);
    if (*search->tried) {
        char *words = memory_format("then tried: %s", search->tried);
        text_print_wrapped(terminal->out, words, 4, COLUMNS);
        free(words);
    }
}

/* What "safe" rests on: of fingerprints, on the search that risks most. */
static void print_reliance(FILE *out, const struct view *view)
{
    double most = -1;
    bool is_random = false;
    for (int i = view_first(view, KIND_CELL); i < view->count; i++) {
        const struct search_figures *search = view->rows[i]->search;
        is_random |= search_is_random(search);
        if (!search_is_random(search) && search->omissions > most)
            most = search->omissions;
    }
    if (most >= 0)
        fprintf(out,
                "States omitted because two have the same fingerprint: %.0e expected in the "
                "largest search.\n",
                most);
    if (is_random)
        fputs("A random search never proves that a property holds: what it does not find is "
              "unknown. Only that of a worker judges progress.\n",
              out);
}

static void print_cells(const struct terminal *terminal, const struct view *view,
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
        cell(terminal, NULL, result_lock(view->rows[from]), 0);
        fputs("  (", terminal->out);
        cell(terminal, NULL, bounds, 0);
        fputs(")", terminal->out);
        print_origin(terminal, view, from);
        for (int i = from; i < end; i++)
            print_cell(terminal, view->rows[i], widths);
        free(bounds);
    }
    fprintf(terminal->out, "\n%d cell%s: ", counts->cells, units_plural(counts->cells));
    for (int i = CELL_SAFE; i <= CELL_UNKNOWN; i++)
        fprintf(terminal->out, "%s%d %s", i ? ", " : "", counts->words[i], view_cell_words[i]);
    fputs(
        "\n\"safe\" means: up to these bounds, with each fault at most as often as it is named.\n",
        terminal->out);
    print_reliance(terminal->out, view);
}

/* --- all --- */

static void print_sentence(FILE *out, char *words)
{
    if (words)
        text_print_wrapped(out, words, 0, COLUMNS);
    free(words);
}

static void print_report(FILE *out, const struct results *results, int colours, bool is_brief)
{
    struct view view;
    view_init(&view, results);
    struct view_counts counts = view_count(&view);
    struct terminal terminal = {.out = out,
                                .colours = colours,
                                .scheme_columns = scheme_columns(&view),
                                .is_brief = is_brief};
    if (counts.rows || !counts.cells)
        print_runs(&terminal, &view, &counts);
    if (counts.rows && counts.cells)
        fputc('\n', out);
    if (counts.cells)
        print_cells(&terminal, &view, &counts);
    print_sentence(out, view_policy_words(results));
    print_sentence(out, view_inferred_words(results));
    for (int i = 0; i < results->origins_count; i++) {
        char *words = view_origin_words(results, i);
        fprintf(out, "%s[%d] ", i ? "" : "\n", i + 1);
        cell(&terminal, NULL, words, 0);
        fputc('\n', out);
        free(words);
    }
    print_all("note: ", &terminal, results->notes, results->notes_count, dim);
    char *interrupted = view_interrupted_words(results);
    print_all("INTERRUPTED: ", &terminal, &interrupted, interrupted ? 1 : 0, loud);
    free(interrupted);
    print_all("MISSING: ", &terminal, results->missing, results->missing_count, loud);
    view_close(&view);
}

void report_terminal(FILE *out, const struct results *results, int colours)
{
    print_report(out, results, colours, false);
}

void report_terminal_brief(FILE *out, const struct results *results, int colours)
{
    print_report(out, results, colours, true);
}
