/* junit.c - JUnit XML, as CI servers read it: a test suite a scenario, a test case a scheme; of the
 * explorer a suite a scheme, a case a set of faults and a property.
 *
 * Not as expected is a failure, what could not be judged an error, what the server cannot do or
 * what does not apply is skipped. A violation that nobody calls a failure passes, as the exit
 * status says, and is told in the case's output. */
#include "report/report.h"

#include "base/memory.h"
#include "report/text.h"
#include "report/view.h"

#include <stdlib.h>
#include <string.h>

enum junit_outcome { PASSED, FAILED, ERRORED, SKIPPED, OUTCOMES };

static const char *const elements[OUTCOMES] = {NULL, "failure", "error", "skipped"};

/* A test case: a run, or a property of a cell. */
struct junit_case {
    const struct result_row *row;
    const struct result_property *property; /* of a run what stands for it, or NULL */
    enum junit_outcome outcome;
    int64_t elapsed_us;
};

static enum junit_outcome outcome_of_run(const struct result_row *row)
{
    static const enum junit_outcome by_standing[STANDING_COUNT] = {
        [STANDING_EXPECTED] = PASSED, [STANDING_UNEXPECTED] = FAILED,
        [STANDING_KNOWN] = PASSED,    [STANDING_UNKNOWN] = ERRORED,
        [STANDING_UNSTATED] = PASSED, [STANDING_NOT_APPLICABLE] = SKIPPED};
    return row->is_unsupported ? SKIPPED : by_standing[result_standing(row)];
}

static enum junit_outcome outcome_of_property(const struct result_row *cell,
                                              const struct result_property *property)
{
    bool is_open = !cell->search->is_complete && !cell->is_unsupported;
    if (result_property_is_defect(property))
        return ERRORED;
    if (property->verdict == VERDICT_NOT_APPLICABLE)
        return SKIPPED;
    if (property->verdict == VERDICT_UNKNOWN)
        return is_open ? ERRORED : SKIPPED;
    return property->is_failure && !cell->is_known ? FAILED : PASSED;
}

static int cases_of(const struct result_row *row)
{
    return row->search ? row->properties_count : 1;
}

/* The row's case at that place. */
static struct junit_case case_of(const struct result_row *row, int at)
{
    if (!row->search)
        return (struct junit_case){row, view_headline(row), outcome_of_run(row), row->elapsed_us};
    return (struct junit_case){row, &row->properties[at],
                               outcome_of_property(row, &row->properties[at]),
                               at ? 0 : row->elapsed_us};
}

/* --- a case --- */

/* How often a scheme came before in its group: names of test cases are told apart by it. */
static int copies_before(const struct view *view, int from, int at)
{
    int copies = 0;
    for (int i = from; i < at; i++)
        copies += !strcmp(result_lock(view->rows[i]), result_lock(view->rows[at]));
    return copies;
}

static void print_name(FILE *out, const struct junit_case *one, int copies)
{
    text_print(out, TEXT_MARKUP, view_names(one->row).second);
    if (one->row->search)
        fprintf(out, ": %s", property_name(one->property->property));
    else if (copies)
        fprintf(out, " #%d", copies + 1);
}

/* The sentences, and of a cell the steps of the witness. */
static void print_told(FILE *out, const struct result_property *property)
{
    for (int i = 0; i < property->witness_lines; i++)
        text_format(out, TEXT_MARKUP, "%s\n", property->witness[i]);
    for (int i = 0; i < property->choices_count; i++)
        text_format(out, TEXT_MARKUP, "%3d %s\n", i + 1, property->choices[i]);
}

static char *why_of(const struct junit_case *one)
{
    const struct result_property *property = one->property;
    if (!one->row->search)
        return view_row_words(one->row);
    if (property->error || property->why)
        return memory_text(property->error ? property->error : property->why);
    return view_property_words(property);
}

static const char *type_of(const struct junit_case *one)
{
    const struct result_row *row = one->row;
    bool has_cause = row->search ? one->property->verdict == VERDICT_VIOLATED
                                 : one->outcome == FAILED && one->property;
    if (has_cause)
        return cause_name(one->property->cause);
    return verdict_name(row->search ? one->property->verdict : row->verdict);
}

static void print_case(FILE *out, const struct junit_case *one, const char *suite, int copies)
{
    const struct result_row *row = one->row;
    bool is_passed = one->outcome == PASSED;
    text_format(out, TEXT_MARKUP, "    <testcase classname=\"%s\" name=\"", suite);
    print_name(out, one, copies);
    fprintf(out, "\" time=\"%.6f\"", (double)one->elapsed_us / 1e6);
    if (is_passed && !(row->search && one->property->verdict == VERDICT_VIOLATED)) {
        fputs("/>\n", out);
        return;
    }
    char *why = why_of(one);
    fputs(is_passed ? ">\n      <system-out>" : ">\n      <", out);
    if (!is_passed)
        fprintf(out, "%s message=\"", elements[one->outcome]);
    text_print(out, TEXT_MARKUP, why);
    if (!is_passed && one->outcome != SKIPPED)
        fprintf(out, "\" type=\"%s", type_of(one));
    fputs(is_passed ? "\n" : "\">", out);
    if (one->property && !row->error)
        print_told(out, one->property);
    fprintf(out, "</%s>\n    </testcase>\n", is_passed ? "system-out" : elements[one->outcome]);
    free(why);
}

/* --- suites --- */

struct case_counts {
    int cases, of[OUTCOMES];
    int64_t elapsed_us;
};

static void count_rows(struct case_counts *counts, const struct view *view, int from, int end)
{
    for (int i = from; i < end; i++)
        for (int k = 0; k < cases_of(view->rows[i]); k++) {
            struct junit_case one = case_of(view->rows[i], k);
            counts->cases++;
            counts->of[one.outcome]++;
            counts->elapsed_us += one.elapsed_us;
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
        for (int k = 0; k < cases_of(view->rows[i]); k++) {
            struct junit_case one = case_of(view->rows[i], k);
            print_case(out, &one, first->search ? name : class, copies_before(view, from, i));
        }
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
    bool is_empty = results_nothing_ran(results);
    char *empty = memory_text("nothing was run, so nothing is known");
    int gaps = results->missing_count + (interrupted != NULL) + is_empty;
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
    print_gaps(out, "nothing", &empty, is_empty);
    fputs("</testsuites>\n", out);
    free(empty);
    free(interrupted);
    view_close(&view);
    return FAIL_NONE;
}
