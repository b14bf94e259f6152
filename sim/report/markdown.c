/* markdown.c - the results as a comment on a pull request: the verdict, what is not as expected
 * with its sentences, the tables. */
#include "report/report.h"

#include "base/memory.h"
#include "base/outfile.h"
#include "base/units.h"
#include "report/markdown.h"
#include "report/text.h"
#include "report/view.h"

#include <inttypes.h>
#include <stdlib.h>

/* A comment on a pull request has a largest size. */
enum { TOLD_MAX = 10 };

static const char *mark_of(const struct run_result *row)
{
    if (row->verdict == VERDICT_HOLDS)
        return "✓ holds";
    if (row->is_unsupported)
        return "– unsupported";
    if (row->verdict == VERDICT_NOT_APPLICABLE)
        return "– not applicable";
    return row->verdict == VERDICT_UNKNOWN ? "? unknown" : "✗ violated";
}

static void text_cell(FILE *out, const char *text)
{
    fputs(" ", out);
    text_print(out, TEXT_MARKDOWN, text);
    fputs(" |", out);
}

/* "late-grant [2]" on the first row of a group. */
static void scenario_cell(FILE *out, const struct view *view, const struct run_result *row,
                          bool is_first)
{
    char *origin =
        view->results->origins_count ? memory_format(" [%d]", row->origin + 1) : memory_text("");
    char *words = memory_format("%s%s", row->scenario, origin);
    text_cell(out, is_first ? words : "");
    free(words);
    free(origin);
}

static void print_row(FILE *out, const struct view *view, const struct run_result *row,
                      bool is_first)
{
    const struct property_result *headline = view_headline(row);
    bool is_violated = row->verdict == VERDICT_VIOLATED && headline;
    enum standing standing = result_standing(row);
    fputs("|", out);
    scenario_cell(out, view, row, is_first);
    text_cell(out, view_side(row));
    text_cell(out, row->scheme);
    text_cell(out, mark_of(row));
    text_cell(out, is_violated ? property_name(headline->property) : "");
    text_cell(out, is_violated ? cause_name(headline->cause) : "");
    fprintf(out, standing == STANDING_UNEXPECTED ? " **%s** |\n" : " %s |\n",
            view_standing_words(standing));
}

static void print_table(FILE *out, const struct view *view)
{
    int end = 0;
    if (!view->count || view->rows[0]->is_stress)
        return;
    fputs("\n| scenario | | scheme | verdict | property | cause | expectation |\n"
          "|---|---|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < view->count && !view->rows[i]->is_stress; i++) {
        print_row(out, view, view->rows[i], i == end);
        if (i == end)
            end = view_group_end(view, i);
    }
}

static void print_stress(FILE *out, const struct view *view)
{
    char p50[UNITS_TEXT_MAX], p99[UNITS_TEXT_MAX];
    bool has_head = false;
    for (int i = 0; i < view->count; i++) {
        const struct stress_figures *figures = &view->rows[i]->stress;
        if (!view->rows[i]->is_stress)
            continue;
        if (!has_head)
            fputs("\n| scheme | clients | operations | per second | grants | overruns | foreign "
                  "releases | lost updates | p50 | p99 | verdict |\n"
                  "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
                  out);
        has_head = true;
        fputs("|", out);
        text_cell(out, view->rows[i]->scheme);
        fprintf(out,
                " %d | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64
                " | %" PRId64 " | %s | %s | %s |\n",
                figures->clients, figures->operations, figures->operations_per_second,
                figures->grants, figures->overruns, figures->foreign_releases,
                figures->lost_updates, units_print_ms(figures->latency_us.p50, p50),
                units_print_ms(figures->latency_us.p99, p99), mark_of(view->rows[i]));
    }
}

static void print_sentences(FILE *out, const char *title, const struct view *view,
                            const struct run_result *row)
{
    const struct property_result *headline = view_headline(row);
    char *why = view_row_words(row), *command = view_command(view->results, row);
    fprintf(out, "\n### %s", title);
    text_print(out, TEXT_MARKDOWN, row->scenario);
    fputs(", ", out);
    text_print(out, TEXT_MARKDOWN, row->scheme);
    fputs("\n\n", out);
    text_print(out, TEXT_MARKDOWN, why);
    fputs("\n\n", out);
    for (int i = 0; headline && !row->trouble && i < headline->witness_lines; i++) {
        fprintf(out, "%d. ", i + 1);
        text_print(out, TEXT_MARKDOWN, headline->witness[i]);
        fputc('\n', out);
    }
    if (command) {
        fputs("\nAgain: ", out);
        text_print(out, TEXT_MARKDOWN, command);
        fputc('\n', out);
    }
    free(why);
    free(command);
}

static void print_line(FILE *out, const char *head, const char *text)
{
    fprintf(out, "\n%s", head);
    text_print(out, TEXT_MARKDOWN, text);
    fputc('\n', out);
}

/* Where merged rows come from; the tables name them by these numbers. */
static void print_origins(FILE *out, const struct results *results)
{
    char head[32];
    for (int i = 0; i < results->origins_count; i++) {
        char *words = view_origin_words(results, i);
        snprintf(head, sizeof head, "\\[%d\\] ", i + 1);
        print_line(out, head, words);
        free(words);
    }
    for (int i = 0; i < results->notes_count; i++)
        print_line(out, "Note: ", results->notes[i]);
}

static void print_all(FILE *out, const struct view *view, const char *run_folder)
{
    char *verdict = view_verdict_words(view), *scope = view_scope_words(view),
         *sides = view_sides_words(view), *policy = view_policy_words(view->results),
         *interrupted = view_interrupted_words(view->results);
    bool has_trouble = false;
    int told = 0;
    fputs("## picklock: ", out);
    text_print(out, TEXT_MARKDOWN, verdict);
    fputs("\n\n", out);
    text_print(out, TEXT_MARKDOWN, scope);
    fputs(sides ? " " : "", out);
    text_print(out, TEXT_MARKDOWN, sides);
    fputs(policy ? " " : "", out);
    text_print(out, TEXT_MARKDOWN, policy);
    fputc('\n', out);
    if (interrupted)
        print_line(out, "**Interrupted:** ", interrupted);
    for (int i = 0; i < view->results->missing_count; i++)
        print_line(out, "**Missing:** ", view->results->missing[i]);
    for (int i = 0; i < view->count; i++) {
        enum standing standing = result_standing(view->rows[i]);
        if (!view_is_trouble(standing))
            continue;
        has_trouble = true;
        if (told++ == TOLD_MAX)
            fputs("\nThere are more; the table marks them.\n", out);
        if (told > TOLD_MAX)
            continue;
        print_sentences(out, standing == STANDING_UNKNOWN ? "Unknown: " : "Not as expected: ", view,
                        view->rows[i]);
    }
    const struct run_result *bug = has_trouble ? NULL : view_first_bug(view);
    if (bug)
        print_sentences(
            out, view_blame(bug) == BLAME_NOBODY ? "Nobody's fault: " : "The first bug: ", view,
            bug);
    print_stress(out, view);
    print_table(out, view);
    markdown_explored(out, view->results, run_folder);
    print_origins(out, view->results);
    free(interrupted);
    free(verdict);
    free(scope);
    free(sides);
    free(policy);
}

enum fail report_markdown(const char *path, const struct results *results, const char *run_folder,
                          struct failure *failure)
{
    struct outfile file;
    struct view view;
    enum fail fail = outfile_open(&file, path, failure);
    if (fail)
        return fail;
    view_init(&view, results);
    print_all(file.stream, &view, run_folder);
    view_close(&view);
    return outfile_shut(&file, failure);
}
