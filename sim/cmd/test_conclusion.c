/* test_conclusion.c - see test_conclusion.h. */
#include "cmd/test_conclusion.h"

#include "base/memory.h"
#include "cmd/explore_print.h"
#include "cmd/output.h"
#include "report/conclusion.h"
#include "report/report.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>

/* Takes words; NULL: nothing. */
static void print_words(char *words, int indent)
{
    if (words)
        text_print_wrapped(stdout, words, indent, text_room(stdout));
    free(words);
}

static void print_causes(const struct conclusion *conclusion)
{
    for (int i = 0; i < conclusion->failures; i++) {
        const struct concluded_cause *cause = &conclusion->causes[i];
        print_words(memory_format("%s: %s", cause_name(cause->cause), cause_words(cause->cause)),
                    2);
        print_words(conclusion_where(cause), 4);
        print_words(memory_format("What to do: %s.", cause_advice(cause->cause)), 4);
    }
}

/* Of a scenario: its diagram, from its history. */
static enum fail print_run(const struct concluded_cause *cause, const char *folder,
                           struct failure *failure)
{
    const struct result_property *property = cause->property;
    if (!cause->row->history || !folder)
        return FAIL_NONE;
    enum fail fail = output_timeline(folder, cause->row->history, property->first_index, failure);
    for (int i = 0; !fail && i < property->witness_lines; i++)
        text_print_wrapped(stdout, property->witness[i], 2, text_room(stdout));
    return fail;
}

static enum fail print_counterexample(const struct results *results,
                                      const struct concluded_cause *cause, const char *folder,
                                      struct failure *failure)
{
    const struct result_row *row = cause->row;
    /* Where no report could be written, nobody knows whether its schedule could. */
    char *again = !row->search ? view_command(results, row)
                  : folder     ? view_replay_command(row, cause->property, folder)
                               : NULL;
    char *title = conclusion_example(cause);
    printf("\n%s:\n", title);
    free(title);
    enum fail fail = row->search ? explore_print_witness(row, cause->property, folder, failure)
                                 : print_run(cause, folder, failure);
    if (again)
        text_format(stdout, TEXT_PLAIN, "\nreplay it: %s\n", again);
    free(again);
    return fail;
}

enum fail test_conclusion_print(const struct results *results, const char *folder,
                                struct failure *failure)
{
    struct view view;
    view_init(&view, results);
    const struct conclusion conclusion = conclusion_of(&view);
    enum fail fail = FAIL_NONE;
    putchar('\n');
    report_terminal_brief(stdout, results, output_has_colours());
    putchar('\n');
    char *whole = conclusion_whole(&view, &conclusion);
    char *played = conclusion_played(&view);
    print_words(memory_format("Verdict: %s%s%s", whole, played ? " " : "", played ? played : ""),
                0);
    free(played);
    free(whole);
    print_causes(&conclusion);
    print_words(conclusion_known(&conclusion), 0);
    print_words(conclusion_held(&view), 0);
    print_words(conclusion_others(&conclusion), 0);
    print_words(conclusion_run(&view), 0);
    print_words(conclusion_open(&view, &conclusion), 0);
    if (conclusion.failures)
        fail = print_counterexample(results, &conclusion.causes[0], folder, failure);
    if (folder)
        output_print_place("report: ", folder);
    view_close(&view);
    return fail;
}
