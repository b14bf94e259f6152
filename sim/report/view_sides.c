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
    enum cause cause; /* of FATE_BROKEN: the first one in the order of their table */
    bool is_naive, is_unrated;
};

struct lock_side {
    const char *adjective; /* "naive ", or "" where nobody said which */
    const struct lock_fate *locks;
    int locks_count;
    bool is_naive, is_unrated; /* which locks are of this side */
    int count, by_fate[FATE_COUNT];
};

/* CAUSE_NONE: the lock was not lost by the scheme's own doing. */
static enum cause broken_by(const struct result_row *row)
{
    enum cause first = CAUSE_NONE;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        const enum cause cause = property->cause;
        if (property->verdict == VERDICT_VIOLATED && cause_blame(cause) == BLAME_SCHEME &&
            cause_harm(cause) == HARM_LOCK && (first == CAUSE_NONE || cause < first))
            first = cause;
    }
    return first;
}

/* It was lost, and nobody saw whether by its own doing. */
static bool is_lost_unseen(const struct result_row *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].verdict == VERDICT_VIOLATED &&
            cause_blame(row->properties[i].cause) == BLAME_EITHER &&
            cause_harm(row->properties[i].cause) == HARM_LOCK)
            return true;
    return false;
}

static bool is_open(const struct result_row *row)
{
    if (is_lost_unseen(row))
        return true;
    return row->search ? !row->search->is_complete : result_standing(row) == STANDING_UNKNOWN;
}

static bool is_judged(const struct result_row *row)
{
    return !row->is_unsupported && !row->not_applicable &&
           (row->search || result_standing(row) != STANDING_NOT_APPLICABLE);
}

static void note_row(struct lock_fate *fate, const struct result_row *row)
{
    const enum cause cause = broken_by(row);
    if (cause != CAUSE_NONE && (fate->fate != FATE_BROKEN || cause < fate->cause))
        fate->cause = cause;
    const enum fate now = cause != CAUSE_NONE ? FATE_BROKEN : is_open(row) ? FATE_OPEN : FATE_KEPT;
    fate->fate = now > fate->fate ? now : fate->fate;
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
            fates[count++] = (struct lock_fate){
                .lock = result_lock(row), .is_naive = row->is_naive, .is_unrated = row->is_unrated};
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

/* Those of that fate: "a (unlock-bug), b (stuck)", or their number; the caller frees. */
static char *names_of(const struct lock_side *side, enum fate fate)
{
    char *names = NULL;
    if (side->by_fate[fate] > NAMED_MAX)
        return memory_format("%d", side->by_fate[fate]);
    for (int i = 0; i < side->locks_count; i++) {
        const struct lock_fate *lock = &side->locks[i];
        if (!is_of_side(side, lock) || lock->fate != fate)
            continue;
        const bool is_broken = fate == FATE_BROKEN;
        char *longer = memory_format(
            "%s%s%s%s%s%s", names ? names : "", names ? ", " : "", lock->lock,
            is_broken ? " (" : "", is_broken ? cause_name(lock->cause) : "", is_broken ? ")" : "");
        free(names);
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

/* One lock: "The naive set-nx-ex-del broke the lock (unlock-bug)"; the caller frees. */
static char *words_of_one(const struct lock_side *side)
{
    const struct lock_fate *lock = side->locks;
    while (!is_of_side(side, lock))
        lock++;
    const char *the = *side->adjective ? "The " : "";
    if (lock->fate == FATE_BROKEN)
        return memory_format("%s%s%s broke the lock (%s)", the, side->adjective, lock->lock,
                             cause_name(lock->cause));
    return memory_format("%s%s%s %s", the, side->adjective, lock->lock,
                         lock->fate == FATE_KEPT ? "kept the lock within its lease"
                                                 : "is not decided");
}

/* "14 of 15 naive schemes broke the lock", or what was kept, where that is told; and the rest by
 * name. */
static char *words_of_many(const struct lock_side *side, bool tells_kept)
{
    const enum fate told = tells_kept ? FATE_KEPT : FATE_BROKEN;
    char *open = open_part(side), *rest = NULL;
    if (tells_kept && side->by_fate[FATE_BROKEN]) {
        char *names = names_of(side, FATE_BROKEN);
        rest = memory_format("; %s did not", names);
        free(names);
    }
    char *words = memory_format(
        "%d of %d %sschemes %s%s%s", side->by_fate[told], side->count, side->adjective,
        tells_kept ? "kept the lock within its lease" : "broke the lock by their own doing",
        rest ? rest : "", open);
    free(rest);
    free(open);
    return words;
}

/* A side's sentence behind the others; takes before (may be NULL). */
static char *with_side(char *before, const struct lock_side *side)
{
    if (!side->count)
        return before;
    char *words = side->count == 1 ? words_of_one(side) : words_of_many(side, !side->is_naive);
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
        words = with_side(words, &sides[i]);
    }
    free(fates);
    return words;
}
