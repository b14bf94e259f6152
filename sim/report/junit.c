/* junit.c - JUnit XML, as CI servers read it: a test case a run, in a suite a scenario; of the
 * explorer a case a cell, in a suite a lock.
 *
 * Not as expected is a failure, what could not be judged an error, what the server cannot do or
 * what does not apply is skipped, and so is a sample that found nothing. A violation that nobody
 * calls a failure, or that a baseline accepts, passes, as the exit status says, and is told in the
 * case's output. */
#include "report/report.h"

#include "base/memory.h"
#include "report/text.h"
#include "report/view.h"

#include <stdlib.h>
#include <string.h>

enum junit_outcome { PASSED, FAILED, ERRORED, SKIPPED, OUTCOMES };

static const char *const elements[OUTCOMES] = {NULL, "failure", "error", "skipped"};

static enum junit_outcome outcome_of(const struct result_row *row)
{
    static const enum junit_outcome by_standing[STANDING_COUNT] = {
        [STANDING_EXPECTED] = PASSED,       [STANDING_UNEXPECTED] = FAILED,
        [STANDING_KNOWN] = PASSED,          [STANDING_UNKNOWN] = ERRORED,
        [STANDING_UNSTATED] = PASSED,       [STANDING_UNSUPPORTED] = SKIPPED,
        [STANDING_NOT_APPLICABLE] = SKIPPED};
    if (result_has_defect(row))
        return ERRORED;
    const enum standing standing = result_standing(row);
    const bool is_vain =
        standing == STANDING_UNSTATED && row->search && result_cell_word(row) == CELL_NOT_FOUND;
    return row->is_unsupported || is_vain ? SKIPPED : by_standing[standing];
}

/* --- a case --- */

/* How often a lock came before in its group: names of test cases are told apart by it. */
static int copies_before(const struct view *view, int from, int at)
{
    int copies = 0;
    for (int i = from; i < at && !view->rows[at]->search; i++)
        copies += !strcmp(result_lock(view->rows[i]), result_lock(view->rows[at]));
    return copies;
}

static void print_sentences(FILE *out, const struct result_property *property)
{
    for (int i = 0; i < property->witness_lines; i++)
        text_format(out, TEXT_MARKUP, "%s\n", property->witness[i]);
}

/* The sentences, and of a cell the steps of the witness. */
static void print_told(FILE *out, const struct result_property *property)
{
    print_sentences(out, property);
    for (int i = 0; i < property->choices_count; i++)
        text_format(out, TEXT_MARKUP, "%3d %s\n", i + 1, property->choices[i]);
    char *unlisted = property->choices_count ? view_unlisted_words(property) : NULL;
    if (unlisted)
        text_format(out, TEXT_MARKUP, "    %s\n", unlisted);
    free(unlisted);
}

/* The other causes of a run, each with its sentences. */
static void print_more_causes(FILE *out, const struct result_row *row)
{
    const struct result_property *more[CAUSE_COUNT];
    const int count = view_more_causes(row, more);
    for (int i = 0; i < count; i++) {
        char *words = view_finding_words(more[i]);
        text_format(out, TEXT_MARKUP, "\n%s\n", words);
        print_sentences(out, more[i]);
        free(words);
    }
}

/* The other properties of a cell that are violated, unknown, or whose witness did not replay: a
 * line each, and below what is violated its sentences. */
static void print_others(FILE *out, const struct result_row *row,
                         const struct result_property *first)
{
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        bool is_told = property->verdict == VERDICT_VIOLATED ||
                       property->verdict == VERDICT_UNKNOWN || property->error;
        if (property == first || !is_told)
            continue;
        char *words = view_property_words(property);
        const char *why = property->error ? property->error : property->why;
        text_format(out, TEXT_MARKUP, "%s%s%s%s\n", property->witness_lines ? "\n" : "", words,
                    why ? ": " : "", why ? why : "");
        print_sentences(out, property);
        free(words);
    }
}

static const char *type_of(const struct result_row *row, enum junit_outcome outcome,
                           const struct result_property *first)
{
    return outcome == FAILED && first ? cause_name(first->cause) : verdict_name(row->verdict);
}

static void print_case(FILE *out, const struct result_row *row, const char *suite, int copies)
{
    const struct result_property *first = view_headline(row);
    enum junit_outcome outcome = outcome_of(row);
    bool is_passed = outcome == PASSED;
    text_format(out, TEXT_MARKUP, "    <testcase classname=\"%s\" name=\"%s", suite,
                view_names(row).second);
    if (copies)
        fprintf(out, " #%d", copies + 1);
    fprintf(out, "\" time=\"%.6f\"", (double)row->elapsed_us / 1e6);
    if (is_passed && !(row->search && first)) {
        fputs("/>\n", out);
        return;
    }
    char *why = row->search && first ? view_property_words(first) : view_row_words(row);
    fputs(is_passed ? ">\n      <system-out>" : ">\n      <", out);
    if (!is_passed)
        fprintf(out, "%s message=\"", elements[outcome]);
    text_print(out, TEXT_MARKUP, why);
    if (!is_passed && outcome != SKIPPED)
        fprintf(out, "\" type=\"%s", type_of(row, outcome, first));
    fputs(is_passed ? "\n" : "\">", out);
    if (first && !row->error)
        print_told(out, first);
    if (row->search)
        print_others(out, row, first);
    else if (!row->error)
        print_more_causes(out, row);
    char *others = view_more_differences(row);
    if (others)
        text_format(out, TEXT_MARKUP, "\n%s\n", others);
    free(others);
    fprintf(out, "</%s>\n    </testcase>\n", is_passed ? "system-out" : elements[outcome]);
    free(why);
}

/* --- suites --- */

struct case_counts {
    int cases, of[OUTCOMES];
    int64_t elapsed_us;
};

static void count_rows(struct case_counts *counts, const struct view *view, int from, int end)
{
    for (int i = from; i < end; i++) {
        counts->cases++;
        counts->of[outcome_of(view->rows[i])]++;
        counts->elapsed_us += view->rows[i]->elapsed_us;
    }
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
    if (*started)
        text_format(out, TEXT_MARKUP, " timestamp=\"%s\"", started);
}

/* Its scenario; of cells the scheme with its bounds: names that last. */
static char *class_of_suite(const struct result_row *first)
{
    if (!first->search)
        return memory_text(first->subject);
    char *bounds = search_bounds(first->search);
    char *name = memory_format("explore %s: %s", result_lock(first), bounds);
    free(bounds);
    return name;
}

static void print_suite(FILE *out, const struct view *view, int from, int end)
{
    const struct result_row *first = view->rows[from];
    char *class = class_of_suite(first);
    char *name = view_with_origin(view->results, class, first->origin);
    struct case_counts counts = {0};
    count_rows(&counts, view, from, end);
    text_format(out, TEXT_MARKUP, "  <testsuite name=\"%s\"", name);
    print_counts(out, &counts);
    print_started(out, view->results, first->origin);
    fputs(">\n", out);
    for (int i = from; i < end; i++)
        print_case(out, view->rows[i], first->search ? name : class, copies_before(view, from, i));
    fputs("  </testsuite>\n", out);
    free(name);
    free(class);
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
    for (int i = 0; i < count; i++)
        text_format(out, TEXT_MARKUP,
                    "    <testcase classname=\"%s\" name=\"%d\" time=\"0\">\n"
                    "      <error message=\"%s\" type=\"unknown\"></error>\n    </testcase>\n",
                    suite, i + 1, texts[i]);
    fputs("  </testsuite>\n", out);
}

enum fail report_junit(const struct report *report, struct failure *failure)
{
    const struct results *results = report->results;
    FILE *out = report->out;
    struct view view;
    (void)failure; /* whatever there is can be printed */
    view_init(&view, results);
    char *interrupted = view_interrupted_words(results);
    const char *vain = results_nothing_judged(results);
    char *empty = vain ? memory_text(vain) : NULL;
    int gaps = results->missing_count + (interrupted != NULL) + (empty != NULL);
    struct case_counts counts = {.cases = gaps, .of = {[ERRORED] = gaps}};
    count_rows(&counts, &view, 0, view.count);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"picklock\"", out);
    print_counts(out, &counts);
    fputs(">\n", out);
    for (int from = 0, end; from < view.count; from = end) {
        end = view_group_end(&view, from);
        print_suite(out, &view, from, end);
    }
    print_gaps(out, "interrupted", &interrupted, interrupted ? 1 : 0);
    print_gaps(out, "missing", results->missing, results->missing_count);
    print_gaps(out, "nothing", &empty, empty ? 1 : 0);
    fputs("</testsuites>\n", out);
    free(empty);
    free(interrupted);
    view_close(&view);
    return FAIL_NONE;
}
