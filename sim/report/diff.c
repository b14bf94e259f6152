/* diff.c - see diff.h. */
#include "report/diff.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const titles[DIFF_COUNT] = {
    [DIFF_NEW] = "New violations",
    [DIFF_GONE] = "Gone",
    [DIFF_UNSEEN] = "Not seen this time, which proves nothing of a sample",
    [DIFF_OPEN] = "Not decided any more",
    [DIFF_DECIDED] = "Decided now",
    [DIFF_OTHER] = "Violated as before, but otherwise",
    [DIFF_ONLY_THEN] = "Not there any more",
    [DIFF_ONLY_NOW] = "Not there before",
};

const char *diff_title(enum diff_kind kind)
{
    return titles[kind];
}

/* Takes the texts of change. */
static void add(struct diff *diff, struct diff_change change)
{
    diff->changes = memory_resize(diff->changes, (size_t)diff->count + 1, sizeof *diff->changes);
    diff->changes[diff->count++] = change;
    diff->of_kind[change.kind]++;
}

/* Stress runs are samples, and never the same; here the same lock under load is compared. */
static bool is_counterpart(const struct result_row *a, const struct result_row *b)
{
    if (a->stress && b->stress)
        return !strcmp(a->subject, b->subject) && !strcmp(result_lock(a), result_lock(b));
    return result_is_same(a, b);
}

/* The n-th row like that one (--repeat makes several), or NULL. */
static const struct result_row *counterpart(const struct results *results,
                                            const struct result_row *row, int nth)
{
    for (int i = 0; i < results->rows_count; i++)
        if (is_counterpart(&results->rows[i], row) && nth-- == 0)
            return &results->rows[i];
    return NULL;
}

static int place_among(const struct results *results, int at)
{
    int nth = 0;
    for (int i = 0; i < at; i++)
        nth += is_counterpart(&results->rows[i], &results->rows[at]);
    return nth;
}

static const struct result_property *property_of(const struct result_row *row,
                                                 enum property property)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].property == property)
            return &row->properties[i];
    return NULL;
}

static enum verdict verdict_of(const struct result_property *property)
{
    return property ? property->verdict : VERDICT_NOT_APPLICABLE;
}

char *diff_name(const struct result_row *row)
{
    const char *kind = row->search ? " (cell)" : row->story && !row->stress ? " (scenario)" : "";
    return memory_format("%s, %s%s", result_lock(row), row->subject, kind);
}

char *diff_title_words(const struct diff *diff)
{
    static const char *const words[DIFF_COUNT] = {
        [DIFF_GONE] = "gone",
        [DIFF_UNSEEN] = "not seen this time",
        [DIFF_OPEN] = "not decided any more",
        [DIFF_DECIDED] = "decided now",
        [DIFF_OTHER] = "violated as before, but otherwise",
        [DIFF_ONLY_THEN] = "not there any more",
        [DIFF_ONLY_NOW] = "not there before",
    };
    if (!diff->compared)
        return memory_format("Nothing is both here and in %s, so what is new is not known.",
                             diff->name);
    if (!diff->count)
        return memory_format("Nothing has changed since %s.", diff->name);
    char *all = memory_format("%d new violation%s", diff->of_kind[DIFF_NEW],
                              units_plural(diff->of_kind[DIFF_NEW]));
    for (int kind = DIFF_GONE; kind < DIFF_COUNT; kind++) {
        if (!diff->of_kind[kind] && kind != DIFF_GONE)
            continue;
        char *longer = memory_format("%s, %d %s", all, diff->of_kind[kind], words[kind]);
        free(all);
        all = longer;
    }
    char *title = memory_format("%s since %s.", all, diff->name);
    free(all);
    return title;
}

/* "violated (unlock-bug, 14 steps)" */
static char *verdict_told(const struct result_property *property, bool is_sample)
{
    enum verdict verdict = verdict_of(property);
    if (verdict == VERDICT_HOLDS && is_sample)
        return memory_text("not seen violated");
    if (verdict != VERDICT_VIOLATED || property->cause == CAUSE_NONE)
        return memory_text(verdict_words(verdict));
    char *steps = property->steps ? memory_format(", %" PRId64 " step%s", property->steps,
                                                  units_plural(property->steps))
                                  : memory_text("");
    char *words = memory_format("violated (%s%s)", cause_name(property->cause), steps);
    free(steps);
    return words;
}

/* Fills in the texts. */
static void add_property(struct diff *diff, struct diff_change change,
                         const struct result_property *then, const struct result_property *now)
{
    const bool is_sample = change.now->stress != NULL;
    change.was = verdict_told(then, is_sample);
    change.is = verdict_told(now, is_sample);
    change.bounds = is_sample ? stress_difference(change.now, change.then) : NULL;
    char *name = diff_name(change.now);
    change.words =
        memory_format("%s: %s: %s, was %s%s%s", name, property_name(change.property), change.is,
                      change.was, change.bounds ? "; " : "", change.bounds ? change.bounds : "");
    free(name);
    add(diff, change);
}

/* What became of a property; DIFF_COUNT: nothing to tell. */
static enum diff_kind kind_of(const struct result_property *then, const struct result_property *now,
                              bool is_sample)
{
    enum verdict was = verdict_of(then), is = verdict_of(now);
    bool was_decided = was == VERDICT_HOLDS || was == VERDICT_VIOLATED;
    if (is == VERDICT_VIOLATED && was != VERDICT_VIOLATED)
        return DIFF_NEW;
    if (is == VERDICT_VIOLATED)
        return then->cause == now->cause && then->causes == now->causes &&
                       then->faults == now->faults && then->steps == now->steps
                   ? DIFF_COUNT
                   : DIFF_OTHER;
    if (is == VERDICT_UNKNOWN && was_decided)
        return DIFF_OPEN;
    if (is == VERDICT_HOLDS && was == VERDICT_VIOLATED)
        return is_sample ? DIFF_UNSEEN : DIFF_GONE;
    if (is == VERDICT_HOLDS && was == VERDICT_UNKNOWN)
        return is_sample ? DIFF_UNSEEN : DIFF_DECIDED;
    return DIFF_COUNT;
}

static void compare_rows(struct diff *diff, const struct result_row *then,
                         const struct result_row *now)
{
    diff->compared++;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        enum property property = (enum property)i;
        const struct result_property *was = property_of(then, property);
        const struct result_property *is = property_of(now, property);
        enum diff_kind kind = kind_of(was, is, now->stress != NULL);
        if (kind == DIFF_COUNT)
            continue;
        struct diff_change change = {.kind = kind, .then = then, .now = now, .property = property};
        add_property(diff, change, was, is);
        diff->failures += kind == DIFF_NEW && result_standing(now) == STANDING_UNEXPECTED;
    }
    /* A whole row may be undecided without a word on its properties: it was not run to its end. */
    if (result_standing(now) != STANDING_UNKNOWN || result_standing(then) == STANDING_UNKNOWN)
        return;
    char *name = diff_name(now);
    add(diff, (struct diff_change){.kind = DIFF_OPEN,
                                   .then = then,
                                   .now = now,
                                   .property = PROPERTY_COUNT,
                                   .was = memory_text(view_verdict(then)),
                                   .is = memory_text(view_verdict(now)),
                                   .words = memory_format("%s: the verdict as a whole", name)});
    free(name);
}

/* Why no cell of the others is the same as this one, where one has its lock and faults: what was
 * looked through otherwise. NULL: there is none, or it is no cell. The caller frees. */
static char *otherwise(const struct result_row *row, const struct results *others, bool is_now)
{
    for (int i = 0; row->search && i < others->rows_count; i++) {
        const struct result_row *other = &others->rows[i];
        if (other->search && !strcmp(row->subject, other->subject) &&
            !strcmp(result_lock(row), result_lock(other)))
            return is_now ? search_difference(row->search, other->search)
                          : search_difference(other->search, row->search);
    }
    return NULL;
}

/* One that has no counterpart among the others. */
static void add_single(struct diff *diff, enum diff_kind kind, const struct result_row *row,
                       const struct results *others)
{
    const bool is_now = kind == DIFF_ONLY_NOW;
    char *name = diff_name(row), *bounds = otherwise(row, others, is_now);
    add(diff, (struct diff_change){.kind = kind,
                                   .then = is_now ? NULL : row,
                                   .now = is_now ? row : NULL,
                                   .property = PROPERTY_COUNT,
                                   .was = memory_text(is_now ? "–" : view_verdict(row)),
                                   .is = memory_text(is_now ? view_verdict(row) : "–"),
                                   .bounds = bounds,
                                   .words = memory_format("%s%s%s", name, bounds ? ": " : "",
                                                          bounds ? bounds : "")});
    free(name);
}

static int compare_changes(const void *a, const void *b)
{
    const struct diff_change *one = a, *other = b;
    int by_kind = (int)one->kind - (int)other->kind;
    return by_kind ? by_kind : strcmp(one->words, other->words);
}

struct diff diff_results(const char *name, const struct results *then, const struct results *now)
{
    struct diff diff = {.name = name};
    for (int i = 0; i < now->rows_count; i++) {
        const struct result_row *row = &now->rows[i];
        const struct result_row *was = counterpart(then, row, place_among(now, i));
        if (was) {
            compare_rows(&diff, was, row);
            continue;
        }
        add_single(&diff, DIFF_ONLY_NOW, row, then);
        diff.failures += result_standing(row) == STANDING_UNEXPECTED;
    }
    for (int i = 0; i < then->rows_count; i++)
        if (!counterpart(now, &then->rows[i], place_among(then, i)))
            add_single(&diff, DIFF_ONLY_THEN, &then->rows[i], now);
    if (diff.count)
        qsort(diff.changes, (size_t)diff.count, sizeof *diff.changes, compare_changes);
    return diff;
}

void diff_free(struct diff *diff)
{
    for (int i = 0; i < diff->count; i++) {
        free(diff->changes[i].was);
        free(diff->changes[i].is);
        free(diff->changes[i].bounds);
        free(diff->changes[i].words);
    }
    free(diff->changes);
    *diff = (struct diff){0};
}

void diff_note(struct diff *diff, struct results *now)
{
    const int before = now->notes_count;
    results_note(now, memory_format("Compared with %s: %d run%s or cell%s, %s.", diff->name,
                                    diff->compared, units_plural(diff->compared),
                                    units_plural(diff->compared),
                                    diff->compared == 0 ? "since they share none"
                                    : diff->count       ? "of which this is different"
                                                        : "all the same"));
    for (int kind = 0; kind < DIFF_COUNT; kind++) {
        char *all = NULL;
        for (int i = 0; i < diff->count; i++) {
            if ((int)diff->changes[i].kind != kind)
                continue;
            char *longer =
                memory_format("%s%s%s", all ? all : "", all ? "; " : "", diff->changes[i].words);
            free(all);
            all = longer;
        }
        if (all)
            results_note(now, memory_format("%s: %s.", titles[kind], all));
        free(all);
    }
    diff->notes = now->notes_count - before;
}

enum fail diff_status(const struct diff *diff, const struct results *now)
{
    bool is_open =
        diff->of_kind[DIFF_OPEN] > 0 || now->missing_count > 0 || now->interrupted.why != NULL;
    if (diff->compared == 0)
        return FAIL_UNKNOWN; /* what is there now may have been there before */
    return diff->failures ? FAIL_EXPECTATION : is_open ? FAIL_UNKNOWN : FAIL_NONE;
}
