/* markdown.c - the results as a comment on a pull request: the verdict, what is not as expected
 * with its sentences, the tables. */
#include "report/report.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/conclusion.h"
#include "report/text.h"
#include "report/view.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

/* A comment on a pull request has a largest size. */
enum { TOLD_MAX = 10, WITNESSES_TOLD = 5, LINE_MAX = 150 };

/* Takes a paragraph. It goes on in another line at a blank before a letter, which begins no list
 * and no heading. */
static void print_paragraph(FILE *out, char *text)
{
    char *line = text, *blank = NULL;
    for (char *at = text; *at; at++) {
        const bool is_letter = (at[1] >= 'a' && at[1] <= 'z') || (at[1] >= 'A' && at[1] <= 'Z');
        if (blank && at - line >= LINE_MAX) {
            *blank = '\0';
            fprintf(out, "%s\n", line);
            line = blank + 1;
            blank = NULL;
        }
        if (*at == ' ' && is_letter)
            blank = at;
    }
    fprintf(out, "%s\n", line);
    free(text);
}

/* Takes a command: as somebody copies it, the file that it is about in a line of its own. */
static void print_command(FILE *out, char *text)
{
    char *last = NULL;
    bool is_quoted = false;
    for (char *at = text; *at; at++) {
        if (!is_quoted && *at == '\\' && at[1])
            at++; /* a quote that is meant */
        else if (*at == '\'')
            is_quoted = !is_quoted;
        else if (*at == ' ' && !is_quoted)
            last = at;
    }
    if (last)
        *last = '\0';
    fprintf(out, last ? "\nAgain:\n\n    %s \\\n      %s\n" : "\nAgain:\n\n    %s%s\n", text,
            last ? last + 1 : "");
    free(text);
}

/* What text_format() makes of it; the caller frees. */
static char *format_text(enum text_for use, const char *format, ...)
{
    char *text = NULL;
    size_t length;
    va_list values;
    FILE *made = open_memstream(&text, &length);
    va_start(values, format);
    text_format_list(made, use, format, &values);
    va_end(values);
    (void)fclose(made);
    return text;
}

static const char *mark_of(const struct result_row *row)
{
    if (row->verdict == VERDICT_HOLDS)
        return "✓ holds";
    if (row->is_unsupported)
        return "– unsupported";
    if (row->verdict == VERDICT_NOT_APPLICABLE)
        return "– not applicable";
    return row->verdict == VERDICT_UNKNOWN ? "? unknown" : "✗ violated";
}

static void text_cell(FILE *out, const char *text, bool is_bold)
{
    text_format(out, TEXT_MARKDOWN, is_bold ? " **%s** |" : " %s |", text);
}

static void print_row(FILE *out, const struct view *view, const struct result_row *row,
                      bool is_first)
{
    const struct result_property *violated = view_violation(row);
    enum standing standing = result_standing(row);
    char *scenario = view_with_origin(view->results, row->subject, row->origin);
    fputs("|", out);
    text_cell(out, is_first ? scenario : "", false);
    text_cell(out, view_side(row), false);
    text_cell(out, result_lock(row), false);
    text_cell(out, mark_of(row), false);
    text_cell(out, violated ? property_name(violated->property) : "", false);
    text_cell(out, violated ? cause_name(violated->cause) : "", false);
    text_cell(out, view_standing_words(standing), standing == STANDING_UNEXPECTED);
    fputc('\n', out);
    free(scenario);
}

static void print_table(FILE *out, const struct view *view)
{
    if (!view->count || result_kind(view->rows[0]) != KIND_RUN)
        return;
    fputs("\n| scenario | | scheme | verdict | property | cause | expectation |\n"
          "|---|---|---|---|---|---|---|\n",
          out);
    for (int from = 0, end; from < view->count && result_kind(view->rows[from]) == KIND_RUN;
         from = end) {
        end = view_group_end(view, from);
        for (int i = from; i < end; i++)
            print_row(out, view, view->rows[i], i == from);
    }
}

static void print_stress(FILE *out, const struct view *view)
{
    char p50[UNITS_TEXT_MAX], p99[UNITS_TEXT_MAX];
    int first = view_first(view, KIND_STRESS), end = view_first(view, KIND_CELL);
    if (first < end)
        fputs("\n| scheme | clients | operations | per second | grants | overruns | foreign "
              "releases | lost updates | p50 | p99 | verdict |\n"
              "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
              out);
    for (int i = first; i < end; i++) {
        const struct stress_figures *figures = view->rows[i]->stress;
        fputs("|", out);
        text_cell(out, result_lock(view->rows[i]), false);
        fprintf(out,
                " %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64
                " | %" PRId64 " | %s | %s | %s |\n",
                figures->clients, figures->operations, figures->operations_per_second,
                figures->grants, figures->overruns, figures->foreign_releases,
                figures->lost_updates, units_print_rounded(figures->latency_us.p50, p50),
                units_print_rounded(figures->latency_us.p99, p99), mark_of(view->rows[i]));
    }
}

/* The other causes of a run, each with its sentences. */
static void print_more_causes(FILE *out, const struct result_row *row)
{
    const struct result_property *more[CAUSE_COUNT];
    const int count = row->search || row->error ? 0 : view_more_causes(row, more);
    for (int i = 0; i < count; i++) {
        char *found = view_finding_words(more[i]);
        text_format(out, TEXT_MARKDOWN, "\n%s\n\n", found);
        for (int k = 0; k < more[i]->witness_lines; k++)
            text_format(out, TEXT_MARKDOWN, "%d. %s\n", k + 1, more[i]->witness[k]);
        free(found);
    }
}

/* A row under its name: what it came to, its sentences, and the command that shows it again. */
static void print_sentences(FILE *out, const char *title, const struct view *view,
                            const struct result_row *row, const char *run_folder)
{
    const struct result_property *headline = view_headline(row);
    struct view_names names = view_names(row);
    char *why = row->search ? view_property_words(headline) : view_row_words(row);
    char *command = row->search ? view_replay_command(row, headline, run_folder)
                                : view_command(view->results, row);
    text_format(out, TEXT_MARKDOWN, "\n### %s%s, %s\n\n%s\n\n", title, names.first, names.second,
                why);
    for (int i = 0; headline && !row->error && i < headline->witness_lines; i++)
        text_format(out, TEXT_MARKDOWN, "%d. %s\n", i + 1, headline->witness[i]);
    print_more_causes(out, row);
    char *others = view_more_differences(row);
    if (others)
        text_format(out, TEXT_MARKDOWN, "\n%s\n", others);
    free(others);
    if (command)
        print_command(out, format_text(TEXT_PLAIN, "%s", command));
    free(why);
    free(command);
}

/* --- cells --- */

static void print_cells(FILE *out, const struct view *view, int from, int end)
{
    const struct result_row *first = view->rows[from];
    char *bounds = search_bounds(first->search);
    char *scheme = view_with_origin(view->results, result_lock(first), first->origin);
    for (int i = from; i < end; i++) {
        const struct result_row *row = view->rows[i];
        char *sureness = view_sureness(row->search);
        fputs("|", out);
        text_cell(out, i == from ? scheme : "", false);
        text_cell(out, i == from ? bounds : "", false);
        text_cell(out, row->subject, false);
        text_cell(out, row->search->words, row->as_expected == AS_EXPECTED_NO);
        fprintf(out, " %" PRId64 " | %" PRId64 " | %s |\n", row->search->states,
                row->search->transitions, sureness);
        free(sureness);
    }
    free(bounds);
    free(scheme);
}

/* The failures, or the first cell that is broken. */
static void print_witnesses(FILE *out, const struct view *view, bool has_failures,
                            const char *run_folder)
{
    int told = 0, most = has_failures ? WITNESSES_TOLD : 1;
    for (int i = view_first(view, KIND_CELL); i < view->count && told < most; i++) {
        const struct result_row *row = view->rows[i];
        bool is_told = has_failures ? row->as_expected == AS_EXPECTED_NO
                                    : result_cell_word(row) == CELL_BROKEN;
        if (!is_told || !view_headline(row))
            continue;
        print_sentences(out, "", view, row, run_folder);
        told++;
    }
}

/* Behind the limits that were reached. */
static void print_tried(FILE *out, const struct result_row *row)
{
    if (*row->search->tried)
        text_format(out, TEXT_MARKDOWN, "\n%s, %s: %s; then tried: %s\n", result_lock(row),
                    row->subject, row->search->end, row->search->tried);
}

/* What failed with its shortest witness, then the matrix, folded. */
static void print_explored(FILE *out, const struct view *view, const char *run_folder)
{
    struct view_counts counts = view_count(view);
    int first = view_first(view, KIND_CELL);
    if (!counts.cells)
        return;
    print_witnesses(out, view, counts.failed > 0, run_folder);
    fputs("\n<details><summary>Every interleaving:", out);
    for (int i = CELL_SAFE; i <= CELL_UNKNOWN; i++)
        if (i != CELL_NOT_FOUND || counts.words[i])
            fprintf(out, "%s %d %s", i ? "," : "", counts.words[i], view_cell_words[i]);
    fputs("</summary>\n\n| scheme | up to | faults | | states | transitions | omitted |\n"
          "|---|---|---|---|--:|--:|--:|\n",
          out);
    for (int from = first, end; from < view->count; from = end) {
        end = view_group_end(view, from);
        print_cells(out, view, from, end);
    }
    for (int i = first; i < view->count; i++)
        print_tried(out, view->rows[i]);
    fputs("\n</details>\n", out);
}

/* --- all --- */

/* Where merged rows come from; the tables name them by these numbers. */
static void print_origins(FILE *out, const struct results *results)
{
    for (int i = 0; i < results->origins_count; i++) {
        char *words = view_origin_words(results, i);
        text_format(out, TEXT_MARKDOWN, "\n\\[%d\\] %s\n", i + 1, words);
        free(words);
    }
    for (int i = 0; i < results->notes_count; i++) {
        fputc('\n', out);
        print_paragraph(out, format_text(TEXT_MARKDOWN, "Note: %s", results->notes[i]));
    }
}

static void print_head(FILE *out, const struct view *view)
{
    char *title = view_title_words(view), *scope = view_scope_words(view);
    char *interrupted = view_interrupted_words(view->results);
    char *sides = view_sides_words(view), *verdict = sides ? view_verdict_words(view) : NULL;
    char *policy = view_policy_words(view->results);
    char *inferred = view_inferred_words(view->results);
    text_format(out, TEXT_MARKDOWN, "## picklock: %s\n\n", title);
    print_paragraph(out,
                    format_text(TEXT_MARKDOWN, "%s%s%s%s%s%s%s", verdict, verdict ? " " : "", scope,
                                policy ? " " : "", policy, inferred ? " " : "", inferred));
    free(sides);
    free(policy);
    free(inferred);
    if (interrupted)
        text_format(out, TEXT_MARKDOWN, "\n**Interrupted:** %s\n", interrupted);
    for (int i = 0; i < view->results->missing_count; i++)
        text_format(out, TEXT_MARKDOWN, "\n**Missing:** %s\n", view->results->missing[i]);
    free(interrupted);
    free(title);
    free(verdict);
    free(scope);
}

/* Takes words; NULL: nothing. */
static void print_said(FILE *out, char *words)
{
    if (words) {
        fputc('\n', out);
        print_paragraph(out, format_text(TEXT_MARKDOWN, "%s", words));
    }
    free(words);
}

static void print_counterexample(FILE *out, const struct view *view,
                                 const struct concluded_cause *cause, const char *run_folder)
{
    const struct result_row *row = cause->row;
    char *title = conclusion_example(cause);
    char *command = row->search ? view_replay_command(row, cause->property, run_folder)
                                : view_command(view->results, row);
    text_format(out, TEXT_MARKDOWN, "\n### %s: %s\n\n", title, row->subject);
    for (int i = 0; i < cause->property->witness_lines; i++)
        text_format(out, TEXT_MARKDOWN, "%d. %s\n", i + 1, cause->property->witness[i]);
    if (command)
        print_command(out, format_text(TEXT_PLAIN, "%s", command));
    free(title);
}

/* Of a test: why, what to do, and what else was found; then the counterexample. The title says the
 * whole. */
static void print_conclusion(FILE *out, const struct view *view, const char *run_folder)
{
    if (!conclusion_is_told(view))
        return;
    const struct conclusion conclusion = conclusion_of(view);
    for (int i = 0; i < conclusion.failures; i++) {
        const struct concluded_cause *cause = &conclusion.causes[i];
        char *where = conclusion_where(cause);
        print_said(out,
                   memory_format("%s: %s, %s. What to do: %s.", cause_name(cause->cause),
                                 cause_words(cause->cause), where, cause_advice(cause->cause)));
        free(where);
    }
    print_said(out, conclusion_played(view));
    print_said(out, conclusion_known(&conclusion));
    print_said(out, conclusion_held(view));
    print_said(out, conclusion_others(&conclusion));
    print_said(out, conclusion_run(view));
    print_said(out, conclusion_open(view, &conclusion));
    if (conclusion.failures)
        print_counterexample(out, view, &conclusion.causes[0], run_folder);
}

/* What is not as expected, or else the first bug. */
static void print_runs(FILE *out, const struct view *view)
{
    int told = 0, end = view_first(view, KIND_CELL);
    for (int i = 0; i < end; i++) {
        bool is_unknown = result_standing(view->rows[i]) == STANDING_UNKNOWN;
        if (!view_is_problem(view->rows[i]))
            continue;
        if (told++ == TOLD_MAX)
            fputs("\nThere are more; the table marks them.\n", out);
        if (told <= TOLD_MAX)
            print_sentences(out, is_unknown ? "Unknown: " : "Not as expected: ", view,
                            view->rows[i], NULL);
    }
    const struct result_row *bug = told ? NULL : view_first_bug(view);
    if (bug) {
        char *title = memory_format("%s: ", view_bug_title(bug));
        *title = (char)toupper((unsigned char)*title);
        print_sentences(out, title, view, bug, NULL);
        free(title);
    }
}

static void print_all(FILE *out, const struct view *view, const char *run_folder)
{
    print_head(out, view);
    print_conclusion(out, view, run_folder);
    print_runs(out, view);
    print_stress(out, view);
    print_table(out, view);
    print_explored(out, view, run_folder);
    print_origins(out, view->results);
}

enum fail report_markdown(const struct report *report, struct failure *failure)
{
    struct view view;
    (void)failure; /* whatever there is can be printed */
    view_init(&view, report->results);
    print_all(report->out, &view, report->run_folder);
    view_close(&view);
    return FAIL_NONE;
}
