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
};

static const char bold[] = "1", dim[] = "2", red[] = "31", green[] = "32", yellow[] = "33",
                  alarm[] = "1;31";

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

static const char *colour_of(const struct run_result *row)
{
    if (row->verdict == VERDICT_HOLDS)
        return green;
    if (row->verdict == VERDICT_UNKNOWN || row->verdict == VERDICT_NOT_APPLICABLE)
        return dim;
    return view_blame(row) == BLAME_SCHEME ? red : yellow;
}

static const char *colour_of_standing(enum standing standing)
{
    return standing == STANDING_UNEXPECTED ? alarm : standing == STANDING_UNKNOWN ? yellow : dim;
}

/* The column is as wide as the names, up to a limit; a longer name gets a line of its own. */
static void name_scheme(const struct terminal *terminal, const struct run_result *row)
{
    cell(terminal, NULL, row->scheme, terminal->scheme_columns);
    if (text_width(row->scheme) >= terminal->scheme_columns)
        fprintf(terminal->out, "\n%*s", 9 + terminal->scheme_columns, "");
}

static int scheme_columns(const struct view *view)
{
    int columns = 8;
    for (int i = 0; i < view->count; i++) {
        int width = text_width(view->rows[i]->scheme) + 2;
        if (width > columns)
            columns = width;
    }
    return columns < SCHEME_COLUMNS_MAX ? columns : SCHEME_COLUMNS_MAX;
}

/* The reason stands in the columns that such a row has no words for, or below. */
static void print_not_applicable(const struct terminal *terminal, const struct run_result *row)
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

static void print_row(const struct terminal *terminal, const struct run_result *row)
{
    const struct property_result *headline = view_headline(row);
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

static void print_groups(const struct terminal *terminal, const struct view *view)
{
    for (int from = 0; from < view->count && !view->rows[from]->is_stress;) {
        int end = view_group_end(view, from);
        cell(terminal, bold, view->rows[from]->scenario, 0);
        if (view->results->origins_count)
            fprintf(terminal->out, "  [%d]", view->rows[from]->origin + 1);
        fputc('\n', terminal->out);
        for (int i = from; i < end; i++)
            print_row(terminal, view->rows[i]);
        from = end;
    }
}

static void print_figures(const struct terminal *terminal, const struct run_result *row)
{
    const struct stress_figures *figures = &row->stress;
    char p50[UNITS_TEXT_MAX], p99[UNITS_TEXT_MAX];
    cell(terminal, NULL, row->scheme, terminal->scheme_columns - 1);
    if (text_width(row->scheme) >= terminal->scheme_columns)
        fprintf(terminal->out, "\n%*s", terminal->scheme_columns - 1, "");
    fprintf(terminal->out, " %8" PRId64 " %7" PRId64 " %8" PRId64 " %8" PRId64 " %7" PRId64,
            figures->operations, figures->grants, figures->overruns, figures->foreign_releases,
            figures->lost_updates);
    fprintf(terminal->out, " %9s %9s  ", units_print_duration(figures->latency_us.p50, p50),
            units_print_duration(figures->latency_us.p99, p99));
    const struct property_result *headline = view_headline(row);
    bool is_violated = headline && headline->verdict == VERDICT_VIOLATED;
    cell(terminal, colour_of(row), is_violated ? cause_name(headline->cause) : view_verdict(row),
         0);
    fputc('\n', terminal->out);
}

static void print_struck(const struct terminal *terminal, const struct run_result *row,
                         const char *before)
{
    const struct stress_figures *figures = &row->stress;
    fprintf(terminal->out, "%s%s: %d client%s, ", before, row->scheme, figures->clients,
            units_plural(figures->clients));
    if (figures->faults > 0)
        fprintf(terminal->out, "%" PRId64 " faults, %" PRId64 " of them inside a hold",
                figures->faults, figures->faults_in_hold);
    else
        fputs("without any fault", terminal->out);
    fprintf(terminal->out, "; %" PRId64 " contended attempts\n", figures->contended);
}

static void print_stress(const struct terminal *terminal, const struct view *view)
{
    int first = 0;
    while (first < view->count && !view->rows[first]->is_stress)
        first++;
    if (first == view->count)
        return;
    int width = terminal->scheme_columns - 1;
    fprintf(terminal->out, "%s%*s%9s%8s%9s%9s%8s%10s%10s\n", first ? "\n" : "", width, "", "", "",
            "", "foreign", "lost", "acquire", "acquire");
    fprintf(terminal->out, "%-*s%9s%8s%9s%9s%8s%10s%10s  %s\n", width, "stress", "ops", "grants",
            "overruns", "releases", "updates", "p50", "p99", "verdict");
    for (int i = first; i < view->count; i++)
        print_figures(terminal, view->rows[i]);
    for (int i = first; i < view->count; i++)
        print_struck(terminal, view->rows[i], i == first ? "\n" : "");
}

static void print_sentences(const struct terminal *terminal, const char *words,
                            const struct run_result *row)
{
    const struct property_result *headline = view_headline(row);
    char *why = view_row_words(row);
    fputc('\n', terminal->out);
    cell(terminal, bold, words, 0);
    cell(terminal, bold, row->scenario, 0);
    fputs(", ", terminal->out);
    cell(terminal, bold, row->scheme, 0);
    fputc('\n', terminal->out);
    text_print_wrapped(terminal->out, why, 2, COLUMNS);
    for (int i = 0; headline && !row->trouble && i < headline->witness_lines; i++)
        text_print_wrapped(terminal->out, headline->witness[i], 4, COLUMNS);
    free(why);
}

static void print_totals(const struct terminal *terminal, const struct view *view)
{
    struct view_counts counts = view_count(view);
    char text[80];
    fprintf(terminal->out, "\n%d run%s: %d as expected, ", counts.rows, units_plural(counts.rows),
            counts.standing[STANDING_EXPECTED]);
    snprintf(text, sizeof text, "%d not", counts.standing[STANDING_UNEXPECTED]);
    cell(terminal, counts.standing[STANDING_UNEXPECTED] ? alarm : NULL, text, 0);
    snprintf(text, sizeof text, ", %d unknown", counts.standing[STANDING_UNKNOWN]);
    cell(terminal, counts.standing[STANDING_UNKNOWN] ? yellow : NULL, text, 0);
    if (counts.standing[STANDING_UNSTATED])
        fprintf(terminal->out, ", %d without expectation", counts.standing[STANDING_UNSTATED]);
    if (counts.standing[STANDING_NOT_APPLICABLE])
        fprintf(terminal->out, ", %d not applicable", counts.standing[STANDING_NOT_APPLICABLE]);
    if (results_nothing_applied(view->results))
        cell(terminal, yellow, ": nothing was concluded", 0);
    if (results_nothing_ran(view->results))
        cell(terminal, yellow, ": unknown, for nothing was run", 0);
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
static void print_runs(const struct terminal *terminal, const struct view *view)
{
    print_groups(terminal, view);
    print_stress(terminal, view);
    bool has_trouble = false;
    for (int i = 0; i < view->count; i++) {
        enum standing standing = result_standing(view->rows[i]);
        if (!view_is_trouble(standing))
            continue;
        has_trouble = true;
        print_sentences(
            terminal, standing == STANDING_UNKNOWN ? "unknown: " : "NOT expected: ", view->rows[i]);
    }
    const struct run_result *bug = has_trouble ? NULL : view_first_bug(view);
    if (bug)
        print_sentences(
            terminal,
            view_blame(bug) == BLAME_NOBODY ? "nobody's fault: " : "the first bug: ", bug);
    print_totals(terminal, view);
}

void report_terminal(FILE *out, const struct results *results, int colours)
{
    struct view view;
    view_init(&view, results);
    struct terminal terminal = {
        .out = out, .colours = colours, .scheme_columns = scheme_columns(&view)};
    if (results->rows_count || !results->cells_count)
        print_runs(&terminal, &view);
    if (results->rows_count && results->cells_count)
        fputc('\n', out);
    report_terminal_explored(out, results, colours);
    char *policy = view_policy_words(results);
    if (policy)
        fprintf(out, "%s\n", policy);
    free(policy);
    for (int i = 0; i < results->origins_count; i++) {
        char *words = view_origin_words(results, i);
        fprintf(out, "%s[%d] ", i ? "" : "\n", i + 1);
        cell(&terminal, NULL, words, 0);
        fputc('\n', out);
        free(words);
    }
    print_all("note: ", &terminal, results->notes, results->notes_count, dim);
    char *interrupted = view_interrupted_words(results);
    print_all("INTERRUPTED: ", &terminal, &interrupted, interrupted ? 1 : 0, alarm);
    free(interrupted);
    print_all("MISSING: ", &terminal, results->missing, results->missing_count, alarm);
    view_close(&view);
}
