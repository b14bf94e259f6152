/* cell_causes.c - which causes a cell names, in how many steps each, and in what words: the one
 * rule that every report reads. See result.h. Judges nothing: the causes are the checks'. */
#include "run/result.h"

#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

bool result_is_shorter(const struct result_property *property, const struct result_property *than)
{
    return property->faults != than->faults ? property->faults < than->faults
                                            : property->steps < than->steps;
}

/* Of the properties that the cause explains. NULL: none is. */
static const struct result_property *shortest(const struct result_row *row, enum cause cause)
{
    const struct result_property *best = NULL;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        if (property->verdict == VERDICT_VIOLATED && property->cause == cause &&
            (!best || result_is_shorter(property, best)))
            best = property;
    }
    return best;
}

/* Whose faults fail the row, and *found all that there are; bits enum blame. */
static unsigned failing_blames(const struct result_row *row, unsigned *found)
{
    unsigned failing = 0;
    *found = 0;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        if (property->verdict != VERDICT_VIOLATED)
            continue;
        *found |= 1u << cause_blame(property->cause);
        failing |= property->is_failure ? 1u << cause_blame(property->cause) : 0;
    }
    return failing;
}

int result_cell_causes(const struct result_row *row, const struct result_property **told)
{
    unsigned found;
    const unsigned failing = failing_blames(row, &found);
    const unsigned named = failing ? failing : found & ~(1u << BLAME_NOBODY);
    int count = 0;
    if (!named && !row->search->is_complete)
        return 0; /* what is nobody's fault says nothing of what was not searched */
    for (int i = CAUSE_NONE; i < CAUSE_COUNT; i++) {
        const struct result_property *property = shortest(row, (enum cause)i);
        if (property && (named ? named >> cause_blame((enum cause)i) & 1 : !count))
            told[count++] = property;
    }
    return count;
}

const struct result_property *result_cell_headline(const struct result_row *row)
{
    const struct result_property *told[CAUSE_COUNT];
    return result_cell_causes(row, told) ? told[0] : NULL;
}

enum cell_word result_cell_word(const struct result_row *row)
{
    const struct result_property *first = result_cell_headline(row);
    if (!first)
        return row->search->is_complete  ? CELL_SAFE
               : row->search->is_sampled ? CELL_NOT_FOUND
                                         : CELL_UNKNOWN;
    if (cause_blame(first->cause) == BLAME_NOBODY)
        return CELL_INHERENT;
    return first->property == PROPERTY_PROGRESS ? CELL_STUCK : CELL_BROKEN;
}

/* --- words --- */

struct cause_words {
    char *text;
    size_t used;
};

static void add(struct cause_words *words, const char *text)
{
    const int length =
        snprintf(words->text + words->used, CELL_WORDS_MAX - words->used, "%s", text);
    assert(length >= 0 && words->used + (size_t)length < CELL_WORDS_MAX);
    words->used += (size_t)length;
}

/* "unlock-bug, at most 14 steps"; `stuck` is not named where the cell's word is that already. */
static void add_cause(struct cause_words *words, const struct result_property *property,
                      bool is_named)
{
    char steps[48];
    if (property->steps || property->property != PROPERTY_PROGRESS)
        (void)snprintf(steps, sizeof steps, "%s%" PRId64 " step%s",
                       property->is_shortest ? "" : "at most ", property->steps,
                       units_plural(property->steps));
    else
        (void)snprintf(steps, sizeof steps, "from the start on");
    add(words, is_named ? cause_name(property->cause) : "");
    add(words, is_named ? ", " : "");
    add(words, steps);
}

void result_name_causes(struct result_row *row)
{
    static const char *const begin[] = {
        [CELL_INHERENT] = "nobody's fault (", [CELL_BROKEN] = "broken (", [CELL_STUCK] = "stuck ("};
    const struct result_property *told[CAUSE_COUNT];
    const int count = result_cell_causes(row, told);
    const enum cell_word word = result_cell_word(row);
    struct cause_words words = {.text = row->search->words};
    if (!count)
        return;
    if (word == CELL_INHERENT && count == 1 && row->search->is_complete) {
        add(&words, cause_name(told[0]->cause));
        add(&words, " only");
        return;
    }
    add(&words, begin[word]);
    for (int i = 0; i < count; i++) {
        add(&words, i ? "; " : "");
        add_cause(&words, told[i], i || word != CELL_STUCK || told[i]->cause != CAUSE_STUCK);
    }
    add(&words, ")");
}
