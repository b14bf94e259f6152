/* junit.c - JUnit XML, as CI servers read it: a test suite a scenario, a test case a scheme.
 *
 * Not as expected is a failure, what could not be judged an error, what the server cannot do is
 * skipped. */
#include "report/report.h"

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

static void print_counts(FILE *out, const struct view *view, int from, int end)
{
    int counts[OUTCOMES] = {0};
    int64_t elapsed_us = 0;
    for (int i = from; i < end; i++) {
        counts[outcome_of(view->rows[i])]++;
        elapsed_us += view->rows[i]->elapsed_us;
    }
    fprintf(out, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.6f\"",
            end - from, counts[FAILED], counts[ERRORED], counts[SKIPPED], (double)elapsed_us / 1e6);
}

static void print_suite(FILE *out, const struct view *view, int from, int end)
{
    fputs("  <testsuite name=\"", out);
    text_print(out, TEXT_MARKUP, view->rows[from]->scenario);
    fputs("\"", out);
    print_counts(out, view, from, end);
    /* the format's timestamp has no zone */
    char started[sizeof view->results->started];
    memcpy(started, view->results->started, sizeof started);
    started[strcspn(started, "Z")] = 0;
    if (*started) {
        fputs(" timestamp=\"", out);
        text_print(out, TEXT_MARKUP, started);
        fputs("\"", out);
    }
    fputs(">\n", out);
    for (int i = from; i < end; i++)
        print_case(out, view->rows[i], copies_before(view, from, i));
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
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"picklock\"", file.stream);
    print_counts(file.stream, &view, 0, view.count);
    fputs(">\n", file.stream);
    for (int from = 0; from < view.count;) {
        int end = view_group_end(&view, from);
        print_suite(file.stream, &view, from, end);
        from = end;
    }
    fputs("</testsuites>\n", file.stream);
    view_close(&view);
    return outfile_shut(&file, failure);
}
