/* junit.c - JUnit XML, as CI servers read it: a test suite a scenario, a test case a scheme; of the
 * explorer a suite a scheme, a case a set of faults and a property.
 *
 * Not as expected is a failure, what could not be judged an error, what the server cannot do or
 * what does not apply is skipped. A violation that nobody calls a failure passes, as the exit
 * status says, and is told in the case's output. */
#include "report/report.h"

#include "base/memory.h"
#include "base/outfile.h"
#include "report/text.h"
#include "report/view.h"

#include <stdlib.h>
#include <string.h>

enum junit_outcome { PASSED, FAILED, ERRORED, SKIPPED, OUTCOMES };

static enum junit_outcome outcome_of(const struct run_result *row)
{
    if (row->is_unsupported)
        return SKIPPED;
    switch (result_standing(row)) {
    case STANDING_UNEXPECTED:
        return FAILED;
    case STANDING_UNKNOWN:
        return ERRORED;
    case STANDING_NOT_APPLICABLE:
        return SKIPPED;
    default:
        return PASSED;
    }
}

static const char *const elements[OUTCOMES] = {NULL, "failure", "error", "skipped"};

/* How often a scheme came before in its group: names of test cases are told apart by it. */
static int copies_before(const struct view *view, int from, int at)
{
    int copies = 0;
    for (int i = from; i < at; i++)
        copies += !strcmp(view->rows[i]->scheme, view->rows[at]->scheme);
    return copies;
}

static void print_case(FILE *out, const struct run_result *row, int copies)
{
    enum junit_outcome outcome = outcome_of(row);
    const struct property_result *headline = view_headline(row);
    fputs("    <testcase classname=\"", out);
    text_print(out, TEXT_MARKUP, row->scenario);
    fputs("\" name=\"", out);
    text_print(out, TEXT_MARKUP, row->scheme);
    if (copies)
        fprintf(out, " #%d", copies + 1);
    fprintf(out, "\" time=\"%.6f\"", (double)row->elapsed_us / 1e6);
    if (outcome == PASSED) {
        fputs("/>\n", out);
        return;
    }
    char *why = view_row_words(row);
    const char *type =
        outcome == FAILED && headline ? cause_name(headline->cause) : verdict_name(row->verdict);
    fprintf(out, ">\n      <%s message=\"", elements[outcome]);
    text_print(out, TEXT_MARKUP, why);
    if (outcome != SKIPPED)
        fprintf(out, "\" type=\"%s", type);
    fputs("\">", out);
    for (int i = 0; headline && !row->trouble && i < headline->witness_lines; i++) {
        text_print(out, TEXT_MARKUP, headline->witness[i]);
        fputc('\n', out);
    }
    fprintf(out, "</%s>\n    </testcase>\n", elements[outcome]);
    free(why);
}

struct case_counts {
    int cases, of[OUTCOMES];
    int64_t elapsed_us;
};

static void count(struct case_counts *counts, enum junit_outcome outcome, int64_t elapsed_us)
{
    counts->cases++;
    counts->of[outcome]++;
    counts->elapsed_us += elapsed_us;
}

static void count_rows(struct case_counts *counts, const struct view *view, int from, int end)
{
    for (int i = from; i < end; i++)
        count(counts, outcome_of(view->rows[i]), view->rows[i]->elapsed_us);
}

static void print_counts(FILE *out, const struct case_counts *counts)
{
    fprintf(out, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.6f\"",
            counts->cases, counts->of[FAILED], counts->of[ERRORED], counts->of[SKIPPED],
            (double)counts->elapsed_us / 1e6);
}

/* The format's timestamp has no zone. */
static void print_started(FILE *out, const struct results *results, int origin)
{
    const struct results *of = results_origin(results, origin);
    char started[sizeof of->started];
    memcpy(started, of->started, sizeof started);
    started[strcspn(started, "Z")] = 0;
    if (!*started)
        return;
    fputs(" timestamp=\"", out);
    text_print(out, TEXT_MARKUP, started);
    fputs("\"", out);
}

/* Tells suites of one name apart. */
static void print_origin(FILE *out, const struct results *results, int origin)
{
    if (results->origins_count)
        fprintf(out, " [%d]", origin + 1);
}

static void print_suite(FILE *out, const struct view *view, int from, int end)
{
    fputs("  <testsuite name=\"", out);
    text_print(out, TEXT_MARKUP, view->rows[from]->scenario);
    print_origin(out, view->results, view->rows[from]->origin);
    fputs("\"", out);
    struct case_counts counts = {0};
    count_rows(&counts, view, from, end);
    print_counts(out, &counts);
    print_started(out, view->results, view->rows[from]->origin);
    fputs(">\n", out);
    for (int i = from; i < end; i++)
        print_case(out, view->rows[i], copies_before(view, from, i));
    fputs("  </testsuite>\n", out);
}

/* --- the explorer --- */

static enum junit_outcome outcome_of_property(const struct explored *cell,
                                              const struct explored_property *property)
{
    if (property->trouble || property->confirmed == CONFIRMED_NO)
        return ERRORED;
    if (property->verdict == VERDICT_NOT_APPLICABLE)
        return SKIPPED;
    if (property->verdict == VERDICT_UNKNOWN)
        return explored_is_open(cell) ? ERRORED : SKIPPED;
    return property->is_failure ? FAILED : PASSED;
}

static void count_cells(struct case_counts *counts, const struct results *results, int from,
                        int end)
{
    for (int i = from; i < end; i++) {
        const struct explored *cell = &results->cells[i];
        for (int p = 0; p < cell->properties_count; p++)
            count(counts, outcome_of_property(cell, &cell->properties[p]),
                  p ? 0 : cell->elapsed_us);
    }
}

static void print_told(FILE *out, const struct explored_property *property)
{
    for (int i = 0; i < property->witness_lines; i++) {
        text_print(out, TEXT_MARKUP, property->witness[i]);
        fputc('\n', out);
    }
    for (int i = 0; i < property->choices_count; i++) {
        fprintf(out, "%3d ", i + 1);
        text_print(out, TEXT_MARKUP, property->choices[i]);
        fputc('\n', out);
    }
}

static void print_property(FILE *out, const struct explored *cell,
                           const struct explored_property *property, const char *suite,
                           bool is_first)
{
    enum junit_outcome outcome = outcome_of_property(cell, property);
    bool is_violated = property->verdict == VERDICT_VIOLATED;
    fputs("    <testcase classname=\"", out);
    text_print(out, TEXT_MARKUP, suite);
    fputs("\" name=\"", out);
    text_print(out, TEXT_MARKUP, cell->faults);
    fprintf(out, ": %s\" time=\"%.6f\"", property_name(property->property),
            is_first ? (double)cell->elapsed_us / 1e6 : 0.0);
    if (outcome == PASSED && !is_violated) {
        fputs("/>\n", out);
        return;
    }
    char *words = view_property_words(property);
    const char *why = property->trouble ? property->trouble
                      : *property->why  ? property->why
                                        : words;
    fputs(">\n      ", out);
    if (outcome == PASSED) {
        fprintf(out, "<system-out>%s\n", words);
        print_told(out, property);
        fputs("</system-out>", out);
    } else {
        fprintf(out, "<%s message=\"", elements[outcome]);
        text_print(out, TEXT_MARKUP, why);
        if (outcome != SKIPPED)
            fprintf(out, "\" type=\"%s",
                    is_violated ? cause_name(property->cause) : verdict_name(property->verdict));
        fputs("\">", out);
        print_told(out, property);
        fprintf(out, "</%s>", elements[outcome]);
    }
    fputs("\n    </testcase>\n", out);
    free(words);
}

/* The scheme with its bounds, and with its origin where there are several: names that last. */
static char *name_of_suite(const struct results *results, const struct explored *first)
{
    char *bounds = explored_bounds(first);
    char *origin =
        results->origins_count ? memory_format(" [%d]", first->origin + 1) : memory_text("");
    char *name = memory_format("explore %s: %s%s", first->scheme, bounds, origin);
    free(bounds);
    free(origin);
    return name;
}

static void print_cells(FILE *out, const struct results *results, int from, int end)
{
    char *name = name_of_suite(results, &results->cells[from]);
    struct case_counts counts = {0};
    count_cells(&counts, results, from, end);
    fputs("  <testsuite name=\"", out);
    text_print(out, TEXT_MARKUP, name);
    fputs("\"", out);
    print_counts(out, &counts);
    print_started(out, results, results->cells[from].origin);
    fputs(">\n", out);
    for (int i = from; i < end; i++)
        for (int p = 0; p < results->cells[i].properties_count; p++)
            print_property(out, &results->cells[i], &results->cells[i].properties[p], name, p == 0);
    fputs("  </testsuite>\n", out);
    free(name);
}

/* --- what is missing --- */

/* A case of its own each: what is not the whole must not look green. */
static void print_gaps(FILE *out, const char *suite, char *const *texts, int count)
{
    if (!count)
        return;
    fprintf(out,
            "  <testsuite name=\"%s\" tests=\"%d\" failures=\"0\" errors=\"%d\" skipped=\"0\" "
            "time=\"0\">\n",
            suite, count, count);
    for (int i = 0; i < count; i++) {
        fprintf(out,
                "    <testcase classname=\"%s\" name=\"%d\" time=\"0\">\n      <error message=\"",
                suite, i + 1);
        text_print(out, TEXT_MARKUP, texts[i]);
        fputs("\" type=\"unknown\"></error>\n    </testcase>\n", out);
    }
    fputs("  </testsuite>\n", out);
}

enum fail report_junit(const char *path, const struct results *results, struct failure *failure)
{
    struct outfile file;
    struct view view;
    enum fail fail = outfile_open(&file, path, failure);
    if (fail)
        return fail;
    view_init(&view, results);
    char *interrupted = view_interrupted_words(results);
    bool is_empty = results_nothing_ran(results);
    char *empty = memory_text("nothing was run, so that nothing is known");
    int gaps = results->missing_count + (interrupted != NULL) + is_empty;
    struct case_counts counts = {.cases = gaps, .of = {[ERRORED] = gaps}};
    count_rows(&counts, &view, 0, view.count);
    count_cells(&counts, results, 0, results->cells_count);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"picklock\"", file.stream);
    print_counts(file.stream, &counts);
    fputs(">\n", file.stream);
    for (int from = 0, end; from < view.count; from = end) {
        end = view_group_end(&view, from);
        print_suite(file.stream, &view, from, end);
    }
    for (int from = 0, end; from < results->cells_count; from = end) {
        end = view_cells_end(results, from);
        print_cells(file.stream, results, from, end);
    }
    print_gaps(file.stream, "interrupted", &interrupted, interrupted ? 1 : 0);
    print_gaps(file.stream, "missing", results->missing, results->missing_count);
    print_gaps(file.stream, "nothing", &empty, is_empty);
    free(empty);
    free(interrupted);
    fputs("</testsuites>\n", file.stream);
    view_close(&view);
    return outfile_shut(&file, failure);
}
