/* view_sides.c - naive schemes beside safe ones, in a sentence: the first thing that a report says.
 * See view.h. */
#include "report/view.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 3 }; /* more of one kind are counted only */

/* Of all rows of a lock together. */
enum fate { FATE_KEPT, FATE_OPEN, FATE_BROKEN, FATE_COUNT };

struct lock_fate {
    const char *lock; /* borrowed */
    enum fate fate;
    unsigned causes;  /* bit enum cause: its own doing, or perhaps its server's (bug-or-loss) */
    unsigned counted; /* those of them that are not accepted everywhere */
    bool is_open;     /* something of it is not decided */
    bool is_naive, is_unrated;
    bool is_sample; /* all that is known of it comes from stress runs */
};

struct lock_side {
    const char *adjective; /* "naive ", or "" where nobody said which */
    const struct lock_fate *locks;
    int locks_count;
    bool is_naive, is_unrated; /* which locks are of this side */
    int count, by_fate[FATE_COUNT];
};

/* A scenario states it, or a baseline accepts it. */
static bool is_accepted(const struct result_row *row, const struct result_property *property)
{
    const bool is_stated =
        row->as_expected == AS_EXPECTED_YES && row->fail_on == FAIL_ON_UNSAID && !row->search;
    return is_stated || property->known >> property->cause & 1;
}

/* The lock's own; accepts: also those that are accepted. */
static unsigned own_causes(const struct result_row *row, bool accepts)
{
    unsigned causes = 0;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        const enum blame blame = cause_blame(property->cause);
        if (property->verdict == VERDICT_VIOLATED &&
            (blame == BLAME_SCHEME || blame == BLAME_EITHER) &&
            (accepts || !is_accepted(row, property)))
            causes |= 1u << property->cause;
    }
    return causes;
}

/* Those of them with that harm to the lock, or all but those. */
static unsigned breaking(unsigned causes, bool wants_breaking)
{
    unsigned some = 0;
    for (int i = 0; i < CAUSE_COUNT; i++)
        if (causes >> i & 1 && (cause_harm((enum cause)i) == HARM_LOCK) == wants_breaking)
            some |= 1u << i;
    return some;
}

static bool is_open(const struct result_row *row)
{
    return row->search ? search_is_open(row->search) : result_standing(row) == STANDING_UNKNOWN;
}

static bool is_judged(const struct result_row *row)
{
    return !row->is_unsupported && !row->not_applicable &&
           (row->search || result_standing(row) != STANDING_NOT_APPLICABLE);
}

static void note_row(struct lock_fate *fate, const struct result_row *row)
{
    const unsigned counted = own_causes(row, false);
    fate->causes |= own_causes(row, true);
    fate->counted |= counted;
    /* What a scenario states of a naive scheme is what it shows. */
    const enum fate now = breaking(row->is_unrated ? counted : own_causes(row, true), true)
                              ? FATE_BROKEN
                          : is_open(row) ? FATE_OPEN
                                         : FATE_KEPT;
    fate->fate = now > fate->fate ? now : fate->fate;
    fate->is_open |= is_open(row);
    fate->is_sample &= row->stress != NULL;
}

/* Of each lock that was judged one; returns how many. */
static int fates_of(const struct view *view, struct lock_fate *fates)
{
    int count = 0;
    for (int i = 0; i < view->count; i++) {
        const struct result_row *row = view->rows[i];
        int at = 0;
        if (!is_judged(row))
            continue;
        while (at < count && strcmp(fates[at].lock, result_lock(row)) != 0)
            at++;
        if (at == count)
            fates[count++] = (struct lock_fate){.lock = result_lock(row),
                                                .is_naive = row->is_naive,
                                                .is_unrated = row->is_unrated,
                                                .is_sample = true};
        note_row(&fates[at], row);
    }
    return count;
}

static bool is_of_side(const struct lock_side *side, const struct lock_fate *lock)
{
    return lock->is_naive == side->is_naive && lock->is_unrated == side->is_unrated;
}

static void side_init(struct lock_side *side, const struct lock_fate *locks, int count)
{
    side->locks = locks;
    side->locks_count = count;
    for (int i = 0; i < count; i++)
        if (is_of_side(side, &locks[i])) {
            side->count++;
            side->by_fate[locks[i].fate]++;
        }
}

/* "unlock-bug, stuck"; NULL: none. The caller frees. */
static char *names_of_causes(unsigned causes)
{
    char *names = NULL;
    for (int i = 0; i < CAUSE_COUNT; i++) {
        if (!(causes >> i & 1))
            continue;
        char *longer = memory_format("%s%s%s", names ? names : "", names ? ", " : "",
                                     cause_name((enum cause)i));
        free(names);
        names = longer;
    }
    return names;
}

/* Those of that fate: "a (unlock-bug, stuck), b (stuck)"; of many their number, or NULL where that
 * is said already. The caller frees. */
static char *names_of(const struct lock_side *side, enum fate fate)
{
    char *names = NULL;
    if (side->by_fate[fate] > NAMED_MAX)
        return fate == FATE_BROKEN ? NULL : memory_format("%d", side->by_fate[fate]);
    for (int i = 0; i < side->locks_count; i++) {
        const struct lock_fate *lock = &side->locks[i];
        if (!is_of_side(side, lock) || lock->fate != fate)
            continue;
        char *why = fate == FATE_BROKEN ? names_of_causes(breaking(lock->causes, true)) : NULL;
        char *longer = memory_format("%s%s%s%s%s%s", names ? names : "", names ? ", " : "",
                                     lock->lock, why ? " (" : "", why ? why : "", why ? ")" : "");
        free(names);
        free(why);
        names = longer;
    }
    return names;
}

/* "; redlock is not decided", or ""; the caller frees. */
static char *open_part(const struct lock_side *side)
{
    if (!side->by_fate[FATE_OPEN])
        return memory_text("");
    char *names = names_of(side, FATE_OPEN);
    char *words =
        memory_format("; %s %s not decided", names, side->by_fate[FATE_OPEN] == 1 ? "is" : "are");
    free(names);
    return words;
}

/* ", but 2 of them fail in other ways (late-grant)", of those that did not break the lock; or "".
 * The caller frees. */
static char *but_part(const struct lock_side *side)
{
    unsigned causes = 0;
    int count = 0;
    for (int i = 0; i < side->locks_count; i++) {
        const struct lock_fate *lock = &side->locks[i];
        const bool counts = is_of_side(side, lock) && lock->fate != FATE_BROKEN && lock->causes;
        count += counts;
        causes |= counts ? lock->causes : 0;
    }
    if (!count)
        return memory_text("");
    char *names = names_of_causes(causes);
    char *words = side->count == 1 ? memory_format(", but fails in other ways (%s)", names)
                  : side->by_fate[FATE_BROKEN]
                      ? memory_format("; %d other%s in other ways (%s)", count,
                                      count == 1 ? " fails" : "s fail", names)
                      : memory_format(", but %d of them fail%s in other ways (%s)", count,
                                      count == 1 ? "s" : "", names);
    free(names);
    return words;
}

/* One of nobody's side, of which all that was found is accepted. */
static char *words_of_accepted(const struct lock_fate *lock)
{
    char *names = names_of_causes(lock->causes);
    char *words =
        memory_format("%s %s; stated by the scenario, or known: %s", lock->lock,
                      lock->is_open ? "is not decided" : "passes: nothing new was found", names);
    free(names);
    return words;
}

/* One lock that failed: "my_lock.py fails: late-grant, endless-wait"; of a naive or safe scheme
 * "The naive set-nx-ex-del broke the lock by its own doing (unlock-bug)". */
static char *words_of_failed(const struct lock_side *side, const struct lock_fate *lock)
{
    const bool is_rated = *side->adjective;
    const unsigned told = is_rated ? breaking(lock->causes, true) : lock->counted;
    bool is_either = true;
    if (!told)
        return words_of_accepted(lock);
    for (int i = 0; i < CAUSE_COUNT; i++)
        is_either &= !(told >> i & 1) || cause_blame((enum cause)i) == BLAME_EITHER;
    char *names = names_of_causes(told);
    char *words =
        !is_rated && !is_either
            ? memory_format("%s fails: %s", lock->lock, names)
            : memory_format("%s%s%s broke the lock%s (%s)", is_rated ? "The " : "", side->adjective,
                            lock->lock,
                            is_either ? ", or its server or network did" : " by its own doing",
                            names);
    free(names);
    return words;
}

/* One lock. is_short: the sentence before has said what is asked. The caller frees. */
static char *words_of_one(const struct lock_side *side, bool is_short)
{
    const struct lock_fate *lock = side->locks;
    while (!is_of_side(side, lock))
        lock++;
    if (lock->fate == FATE_BROKEN || (!*side->adjective && lock->causes))
        return words_of_failed(side, lock);
    char *but = but_part(side);
    char *words =
        memory_format("%s%s%s %s%s%s", *side->adjective ? "The " : "", side->adjective, lock->lock,
                      lock->fate == FATE_OPEN ? "is not decided"
                      : is_short              ? "did not"
                                              : "did not break the lock by its own doing",
                      lock->is_sample && lock->fate == FATE_KEPT ? " in this run" : "", but);
    free(but);
    return words;
}

/* "14 of 15 naive schemes broke the lock by their own doing"; of the others, which. */
static char *words_of_many(const struct lock_side *side, bool is_short)
{
    char *open = open_part(side), *but = side->is_naive ? memory_text("") : but_part(side);
    char *names =
        side->by_fate[FATE_BROKEN] && !side->is_naive ? names_of(side, FATE_BROKEN) : NULL;
    char *words =
        memory_format("%d of %d %sschemes %s%s%s%s%s", side->by_fate[FATE_BROKEN], side->count,
                      side->adjective, is_short ? "did" : "broke the lock by their own doing",
                      names ? ": " : "", names ? names : "", but, open);
    free(names);
    free(but);
    free(open);
    return words;
}

/* A side's sentence behind the others; takes before (may be NULL). */
static char *with_side(char *before, const struct lock_side *side, bool is_short)
{
    if (!side->count)
        return before;
    char *words = side->count == 1 ? words_of_one(side, is_short) : words_of_many(side, is_short);
    char *longer = memory_format("%s%s%s.", before ? before : "", before ? " " : "", words);
    free(before);
    free(words);
    return longer;
}

char *view_sides_words(const struct view *view)
{
    struct lock_fate *fates = memory_new((size_t)view->count, sizeof *fates);
    const int count = fates_of(view, fates);
    struct lock_side sides[] = {{.adjective = "naive ", .is_naive = true},
                                {.adjective = "safe "},
                                {.adjective = "", .is_unrated = true}};
    char *words = NULL;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        side_init(&sides[i], fates, count);
        words = with_side(words, &sides[i], i > 0 && sides[0].by_fate[FATE_BROKEN] > 0);
    }
    free(fates);
    return words;
}
