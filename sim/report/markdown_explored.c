/* markdown_explored.c - the explorer's cells in a comment: what failed or stayed open with its
 * shortest witness, then the matrix, folded. */
#include "report/markdown.h"

#include "base/memory.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* A comment has a largest size: so many witnesses are told. */
enum { WITNESSES_TOLD = 5 };

static void print_bold(FILE *out, const char *text, bool is_bold)
{
    fputs(is_bold ? " **" : " ", out);
    text_print(out, TEXT_MARKDOWN, text);
    fputs(is_bold ? "** |" : " |", out);
}

static void print_rows(FILE *out, const struct results *results, int from, int end)
{
    const struct explored *first = &results->cells[from];
    char *bounds = explored_bounds(first);
    char *scheme = results->origins_count
                       ? memory_format("%s [%d]", first->scheme, first->origin + 1)
                       : memory_text(first->scheme);
    for (int i = from; i < end; i++) {
        const struct explored *cell = &results->cells[i];
        fputs("|", out);
        print_bold(out, i == from ? scheme : "", false);
        print_bold(out, i == from ? bounds : "", false);
        print_bold(out, cell->faults, false);
        print_bold(out, cell->words, explored_has_failure(cell));
        char *sureness = view_sureness(cell);
        fprintf(out, " %" PRId64 " | %" PRId64 " | %s |\n", cell->states, cell->transitions,
                sureness);
        free(sureness);
    }
    free(bounds);
    free(scheme);
}

static void print_witness(FILE *out, const struct explored *cell,
                          const struct explored_property *property, const char *run_folder)
{
    char *words = view_property_words(property),
         *replay = view_replay_command(cell, property, run_folder);
    fputs("\n### ", out);
    text_print(out, TEXT_MARKDOWN, cell->scheme);
    fputs(", ", out);
    text_print(out, TEXT_MARKDOWN, cell->faults);
    fputs("\n\n", out);
    text_print(out, TEXT_MARKDOWN, words);
    fputs("\n\n", out);
    for (int i = 0; i < property->witness_lines; i++) {
        fprintf(out, "%d. ", i + 1);
        text_print(out, TEXT_MARKDOWN, property->witness[i]);
        fputc('\n', out);
    }
    if (replay) {
        fputs("\nAgain: ", out);
        text_print(out, TEXT_MARKDOWN, replay);
        fputc('\n', out);
    }
    free(words);
    free(replay);
}

/* The failures, or the first cell that is broken. */
static void print_witnesses(FILE *out, const struct results *results, bool has_failures,
                            const char *run_folder)
{
    int told = 0, most = has_failures ? WITNESSES_TOLD : 1;
    for (int i = 0; i < results->cells_count && told < most; i++) {
        const struct explored *cell = &results->cells[i];
        const struct explored_property *headline = explored_headline(cell);
        bool is_told =
            has_failures ? explored_has_failure(cell) : explored_word(cell) == CELL_BROKEN;
        if (!is_told || !headline)
            continue;
        print_witness(out, cell, headline, run_folder);
        told++;
    }
}

/* Behind the limits that were reached. */
static void print_tried(FILE *out, const struct results *results)
{
    for (int i = 0; i < results->cells_count; i++) {
        const struct explored *cell = &results->cells[i];
        if (!*cell->tried)
            continue;
        char *words = memory_format("%s, %s: %s; then tried: %s", cell->scheme, cell->faults,
                                    cell->end, cell->tried);
        fputs("\n", out);
        text_print(out, TEXT_MARKDOWN, words);
        fputc('\n', out);
        free(words);
    }
}

void markdown_explored(FILE *out, const struct results *results, const char *run_folder)
{
    struct view_explored counts = view_count_explored(results);
    if (!counts.cells)
        return;
    print_witnesses(out, results, counts.failed > 0, run_folder);
    fputs("\n<details><summary>Every interleaving:", out);
    for (int i = CELL_SAFE; i <= CELL_UNKNOWN; i++)
        fprintf(out, "%s %d %s", i ? "," : "", counts.words[i], view_cell_words[i]);
    fputs("</summary>\n\n| scheme | up to | faults | | states | transitions | omitted |\n"
          "|---|---|---|---|--:|--:|--:|\n",
          out);
    for (int from = 0, end; from < results->cells_count; from = end) {
        end = view_cells_end(results, from);
        print_rows(out, results, from, end);
    }
    print_tried(out, results);
    fputs("\n</details>\n", out);
}
