/* terminal.c - the summary, as wide as its terminal, colours only when asked for. Where a row does
 * not fit, what stands right goes below. */
#include "report/report.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/terminal_parts.h"
#include "report/text.h"
#include "report/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCHEME_COLUMNS_MAX = 30,
    /* A row behind its scheme: verdict, property, cause, standing. */
    VERDICT_COLUMNS = 13,
    PROPERTY_COLUMNS = 18,
    CAUSE_COLUMNS = 18,
    STANDING_COLUMNS = 12,
    BESIDE_SCHEME = 9 + VERDICT_COLUMNS + PROPERTY_COLUMNS + CAUSE_COLUMNS + STANDING_COLUMNS,
    FIGURES_COLUMNS = 79, /* of a stress run, behind its scheme */
};

void terminal_cell(const struct terminal *terminal, const char *colour, const char *text, int width)
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

const char *terminal_colour(const struct result_row *row)
{
    static const char *const by_word[] = {
        [CELL_SAFE] = green, [CELL_INHERENT] = yellow, [CELL_BROKEN] = red,
        [CELL_STUCK] = red,  [CELL_NOT_FOUND] = dim,   [CELL_UNKNOWN] = dim};
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
    terminal_cell(terminal, NULL, result_lock(row), terminal->scheme_columns);
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
    if (indent + text_width(words) <= terminal->columns) {
        terminal_cell(terminal, dim, words, 0);
        fputc('\n', terminal->out);
    } else {
        terminal_cell(terminal, dim, view_verdict(row), 0);
        fputs(":\n", terminal->out);
        text_print_wrapped(terminal->out, row->not_applicable, 9, terminal->columns);
    }
    free(words);
}

/* The property (NULL: none) and its cause, in columns of so many characters. */
static void print_what(const struct terminal *terminal, const struct result_property *violated,
                       int property_columns, int cause_columns)
{
    terminal_cell(terminal, NULL, violated ? property_name(violated->property) : "",
                  property_columns);
    terminal_cell(terminal, NULL, violated ? cause_name(violated->cause) : "", cause_columns);
}

static void print_row(const struct terminal *terminal, const struct result_row *row)
{
    const struct result_property *violated = view_violation(row);
    enum standing standing = result_standing(row);
    fputs("  ", terminal->out);
    terminal_cell(terminal, dim, view_side(row), 7);
    name_scheme(terminal, row);
    if (row->not_applicable) {
        print_not_applicable(terminal, row);
        return;
    }
    bool fits = terminal->scheme_columns + BESIDE_SCHEME <= terminal->columns;
    /* What stands last in its line has no blanks behind it. */
    const char *words = view_standing_words(standing);
    const bool has_what = fits && violated;
    terminal_cell(terminal, terminal_colour(row), view_verdict(row),
                  has_what || *words ? VERDICT_COLUMNS : 0);
    if (has_what || (fits && *words))
        print_what(terminal, violated, PROPERTY_COLUMNS, *words ? CAUSE_COLUMNS : 0);
    terminal_cell(terminal, colour_of_standing(standing), words, 0);
    fputc('\n', terminal->out);
    if (!fits && violated) {
        fprintf(terminal->out, "%9s", "");
        print_what(terminal, violated, PROPERTY_COLUMNS, 0);
        fputc('\n', terminal->out);
    }
}

void terminal_origin(const struct terminal *terminal, const struct view *view, int at)
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
        terminal_cell(terminal, bold, view->rows[from]->subject, 0);
        terminal_origin(terminal, view, from);
        for (int i = from; i < end; i++)
            print_row(terminal, view->rows[i]);
    }
}

/* Of a stress run, at the end of its line. */
static void print_outcome(const struct terminal *terminal, const struct result_row *row)
{
    const struct result_property *violated = view_violation(row);
    terminal_cell(terminal, terminal_colour(row),
                  violated ? cause_name(violated->cause) : view_verdict(row), 0);
    fputc('\n', terminal->out);
}

static void print_figures(const struct terminal *terminal, const struct result_row *row)
{
    const struct stress_figures *figures = row->stress;
    char p50[UNITS_TEXT_MAX], p99[UNITS_TEXT_MAX];
    terminal_cell(terminal, NULL, result_lock(row), terminal->scheme_columns - 1);
    if (text_width(result_lock(row)) >= terminal->scheme_columns)
        fprintf(terminal->out, "\n%*s", terminal->scheme_columns - 1, "");
    fprintf(terminal->out, " %8" PRId64 " %7" PRId64 " %8" PRId64 " %8" PRId64 " %7" PRId64,
            figures->operations, figures->grants, figures->overruns, figures->foreign_releases,
            figures->lost_updates);
    fprintf(terminal->out, " %9s %9s  ", units_print_duration(figures->latency_us.p50, p50),
            units_print_duration(figures->latency_us.p99, p99));
    print_outcome(terminal, row);
}

static void print_faults(const struct terminal *terminal, const struct result_row *row,
                         const char *before)
{
    const struct stress_figures *figures = row->stress;
    char *faults = view_struck(figures), *waiting = view_kept_waiting(row);
    char *words =
        memory_format("%s: %" PRId64 " connected client%s, %s%s%s; %" PRId64 " contended attempt%s",
                      result_lock(row), figures->clients, units_plural(figures->clients), faults,
                      waiting ? "; " : "", waiting ? waiting : "", figures->contended,
                      units_plural(figures->contended));
    fputs(before, terminal->out);
    text_print_wrapped(terminal->out, words, 0, terminal->columns);
    free(words);
    free(waiting);
    free(faults);
}

/* A paragraph a run, where the table does not fit. */
static void print_stress_narrow(const struct terminal *terminal, const struct view *view, int first,
                                int end)
{
    for (int i = first; i < end; i++) {
        const struct result_row *row = view->rows[i];
        const struct stress_figures *figures = row->stress;
        char p50[UNITS_TEXT_MAX], p99[UNITS_TEXT_MAX];
        fputs(i ? "\n" : "", terminal->out);
        terminal_cell(terminal, bold, result_lock(row), 0);
        fputs(": ", terminal->out);
        print_outcome(terminal, row);
        char *words = memory_format(
            "%" PRId64 " operation%s, %" PRId64 " grant%s, %" PRId64 " overrun%s, %" PRId64
            " foreign release%s, %" PRId64 " lost update%s; an acquire takes %s (p50) to %s (p99)",
            figures->operations, units_plural(figures->operations), figures->grants,
            units_plural(figures->grants), figures->overruns, units_plural(figures->overruns),
            figures->foreign_releases, units_plural(figures->foreign_releases),
            figures->lost_updates, units_plural(figures->lost_updates),
            units_print_duration(figures->latency_us.p50, p50),
            units_print_duration(figures->latency_us.p99, p99));
        text_print_wrapped(terminal->out, words, 2, terminal->columns);
        free(words);
    }
    for (int i = first; i < end; i++)
        print_faults(terminal, view->rows[i], i == first ? "\n" : "");
}

static void print_stress(const struct terminal *terminal, const struct view *view)
{
    int first = view_first(view, KIND_STRESS), end = view_first(view, KIND_CELL);
    if (first >= end)
        return;
    int width = terminal->scheme_columns - 1;
    if (width + FIGURES_COLUMNS > terminal->columns) {
        print_stress_narrow(terminal, view, first, end);
        return;
    }
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
    terminal_cell(terminal, bold, words, 0);
    terminal_cell(terminal, bold, ": ", 0);
    terminal_cell(terminal, bold, row->subject, 0);
    fputs(", ", terminal->out);
    terminal_cell(terminal, bold, result_lock(row), 0);
    fputc('\n', terminal->out);
    text_print_wrapped(terminal->out, why, 2, terminal->columns);
    for (int i = 0; headline && !row->error && i < headline->witness_lines; i++)
        text_print_wrapped(terminal->out, headline->witness[i], 4, terminal->columns);
    free(why);
    const struct result_property *more[CAUSE_COUNT];
    const int count = row->error ? 0 : view_more_causes(row, more);
    for (int i = 0; i < count; i++) {
        char *found = view_finding_words(more[i]);
        text_print_wrapped(terminal->out, found, 2, terminal->columns);
        for (int k = 0; k < more[i]->witness_lines; k++)
            text_print_wrapped(terminal->out, more[i]->witness[k], 4, terminal->columns);
        free(found);
    }
    char *others = view_more_differences(row);
    if (others)
        text_print_wrapped(terminal->out, others, 2, terminal->columns);
    free(others);
}

/* Adds words to the totals; a part that is news has a colour. */
static void add_total(const struct terminal *terminal, int *column, bool has_before,
                      const char *colour, const char *words)
{
    int width = text_width(words);
    bool fits = *column + 3 + width <= terminal->columns;
    fputs(!has_before ? "" : fits ? ", " : ",\n  ", terminal->out);
    *column = has_before ? fits ? *column + 2 : 2 : *column;
    terminal_cell(terminal, colour, words, 0);
    *column += width;
}

static void print_totals(const struct terminal *terminal, const struct view_counts *counts)
{
    const int *standing = counts->standing;
    const struct {
        int count;
        bool is_always;
        const char *words, *colour;
    } parts[] = {{standing[STANDING_EXPECTED], true, "as expected", NULL},
                 {standing[STANDING_UNEXPECTED], true, "not", loud},
                 {standing[STANDING_UNKNOWN], true, "unknown", yellow},
                 {standing[STANDING_KNOWN], false, "known", NULL},
                 {standing[STANDING_UNSTATED], false, "without failure", NULL},
                 {standing[STANDING_UNSUPPORTED], false, "not supported", NULL},
                 {standing[STANDING_NOT_APPLICABLE], false, "not applicable", NULL}};
    int column =
        fprintf(terminal->out, "\n%d run%s: ", counts->rows, units_plural(counts->rows)) - 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char words[40];
        snprintf(words, sizeof words, "%d %s", parts[i].count, parts[i].words);
        if (parts[i].count || parts[i].is_always)
            add_total(terminal, &column, i > 0, parts[i].count ? parts[i].colour : NULL, words);
    }
    fputc('\n', terminal->out);
}

static void print_all(const char *title, const struct terminal *terminal, char *const *texts,
                      int count, const char *colour)
{
    for (int i = 0; i < count; i++) {
        fputc('\n', terminal->out);
        terminal_cell(terminal, colour, title, 0);
        text_print_wrapped(terminal->out, texts[i], 0, terminal->columns - text_width(title));
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
        print_sentences(terminal, is_unknown ? "unknown" : "NOT expected", view->rows[i]);
    }
    const struct result_row *bug = has_problem || terminal->is_brief ? NULL : view_first_bug(view);
    if (bug)
        print_sentences(terminal, view_bug_title(bug), bug);
    print_totals(terminal, counts);
}

/* --- all --- */

static void print_sentence(FILE *out, char *words)
{
    if (words)
        text_print_wrapped(out, words, 0, text_room(out));
    free(words);
}

static void print_report(FILE *out, const struct results *results, int colours, bool is_brief)
{
    struct view view;
    view_init(&view, results);
    struct view_counts counts = view_count(&view);
    struct terminal terminal = {.out = out,
                                .colours = colours,
                                .columns = text_room(out),
                                .scheme_columns = scheme_columns(&view),
                                .is_brief = is_brief};
    if (counts.rows || !counts.cells)
        print_runs(&terminal, &view, &counts);
    if (counts.rows && counts.cells)
        fputc('\n', out);
    if (counts.cells)
        terminal_cells(&terminal, &view, &counts);
    if (!is_brief)
        print_sentence(out, view_sides_words(&view));
    print_sentence(out, view_policy_words(results));
    print_sentence(out, view_inferred_words(results));
    for (int i = 0; i < results->origins_count; i++) {
        char *words = view_origin_words(results, i);
        fprintf(out, "%s[%d] ", i ? "" : "\n", i + 1);
        terminal_cell(&terminal, NULL, words, 0);
        fputc('\n', out);
        free(words);
    }
    const char *why = results_nothing_judged(results);
    char *vain = why ? memory_text(why) : NULL;
    print_all("unknown: ", &terminal, &vain, vain ? 1 : 0, yellow);
    free(vain);
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
