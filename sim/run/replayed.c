/* replayed.c - see replayed.h. */
#include "run/replayed.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { TOLD_MAX = 6 };

/* Takes both; gives one. */
static char *joined(char *words, char *more)
{
    char *both = memory_format("%s%s", words, more);
    free(words);
    free(more);
    return both;
}

/* "release-own (unlock-bug), lease-exclusion (overrun)": what is violated. */
static char *violated_words(const struct result_row *row)
{
    char *words = memory_text("");
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        if (property->verdict == VERDICT_VIOLATED)
            words = joined(words, memory_format("%s%s (%s)", *words ? ", " : "",
                                                property_name(property->property),
                                                cause_name(property->cause)));
    }
    return words;
}

static char *difference_words(const struct followed *followed)
{
    char *words = memory_text("");
    const int told = followed->count < TOLD_MAX ? followed->count : TOLD_MAX;
    for (int i = 0; i < told; i++)
        words = joined(words, memory_format("%s%s", i ? "; " : "", followed->differences[i]));
    if (told < followed->count)
        words = joined(words, memory_format("; and %d more", followed->count - told));
    return words;
}

static enum verdict verdict_of(const struct result_row *row, enum property kept)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].property == kept)
            return row->properties[i].verdict;
    return VERDICT_NOT_APPLICABLE;
}

/* A lock in which no two clients meet breaks nothing between them, whatever is wrong with it. What
 * is violated and does not count (an overrun) is told as it stands. */
void replayed_judge(struct result_row *row, const struct schedule *schedule)
{
    if (!schedule->has_property || row->as_expected != AS_EXPECTED_NONE || row->error ||
        row->not_applicable)
        return;
    const enum property kept = schedule->property;
    const enum verdict verdict = verdict_of(row, kept);
    const bool nobody_meets = property_needs_two(kept) && result_is_vacuous(row);
    if (verdict == VERDICT_VIOLATED)
        return;
    if (verdict == VERDICT_HOLDS && !nobody_meets)
        row->as_expected = AS_EXPECTED_YES;
    else
        row->error =
            memory_format("the schedule was kept for %s: %s", property_name(kept),
                          nobody_meets ? "no two clients met at the lock" : "it was not judged");
}

/* What is held, and what is found and does not count. NULL: nothing is held. */
static char *held_words(enum standing standing, const struct schedule *schedule, bool is_changed,
                        const char *violated)
{
    const char *found = *violated ? "; found, and not counted: " : "";
    const char *more = is_changed ? " any more" : "";
    if (standing == STANDING_EXPECTED)
        return memory_format("held: %s is not violated%s%s%s.", property_name(schedule->property),
                             more, found, violated);
    return standing == STANDING_UNSTATED
               ? memory_format("held: nothing that counts as a failure occurs%s%s%s.", more, found,
                               violated)
               : NULL;
}

char *replayed_again(const struct result_row *row, const struct schedule *schedule,
                     const char *path)
{
    if (!schedule->has_property || row->error ||
        verdict_of(row, schedule->property) != VERDICT_VIOLATED ||
        result_standing(row) != STANDING_UNEXPECTED)
        return NULL;
    return memory_format("%s: reproduced: %s is violated again, as the schedule was kept for. It "
                         "counts as a failure (--fail-on %s), so the status is 1.",
                         path ? path : "schedule", property_name(schedule->property),
                         fail_on_name(row->fail_on));
}

char *replayed_words(const struct result_row *row, const struct schedule *schedule,
                     const char *path, const struct followed *followed)
{
    const char *name = path ? path : "schedule";
    const enum standing standing = result_standing(row);
    char *violated = violated_words(row);
    char *held = held_words(standing, schedule, followed->count > 0, violated);
    char *words = NULL;
    if (held)
        words = memory_format("%s: %s", name, held);
    else if (standing == STANDING_UNEXPECTED && followed->count)
        words = memory_format("%s: violated: %s.", name, violated);
    else if (followed->count)
        words = memory_format("%s: not decided.", name);
    const bool is_held = held != NULL;
    free(held);
    free(violated);
    if (words && followed->count) {
        char *differences = difference_words(followed);
        words =
            joined(words, memory_format(" The lock is another one than that of the schedule: %s.",
                                        differences));
        free(differences);
    }
    if (words && strcmp(schedule->named, row->scheme) != 0)
        words = joined(words, memory_format(" It was kept of %s.", schedule->named));
    if (is_held && followed->count)
        words = joined(words, memory_text(" Only this schedule was replayed: `picklock test` looks "
                                          "for others."));
    return words;
}
