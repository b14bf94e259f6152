/* view.c - see view.h: order, what stands for a row, counts. */
#include "report/view.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- order --- */

/* Rows that stand beside one another: of a scenario, of stress, of one search; made by the same. */
static bool is_same_group(const struct result_row *a, const struct result_row *b)
{
    enum result_kind kind = result_kind(a);
    if (kind != result_kind(b) || a->origin != b->origin)
        return false;
    if (kind == KIND_CELL)
        return !strcmp(result_lock(a), result_lock(b)) && search_is_same(a->search, b->search);
    return kind == KIND_STRESS || !strcmp(a->subject, b->subject);
}

static bool is_first_of_group(const struct results *results, int at)
{
    for (int i = 0; i < at; i++)
        if (is_same_group(&results->rows[i], &results->rows[at]))
            return false;
    return true;
}

/* Adds the rows of the group of the row at `first`: of a scenario and of stress the naive ones
 * first, cells as they came. */
static void take_group(struct view *view, int first)
{
    const struct result_row *rows = view->results->rows;
    for (int side = 0; side < 2; side++)
        for (int i = first; i < view->results->rows_count; i++)
            if (is_same_group(&rows[i], &rows[first]) &&
                (rows[i].search ? side == 0 : rows[i].is_naive == (side == 0)))
                view->rows[view->count++] = &rows[i];
}

void view_init(struct view *view, const struct results *results)
{
    *view = (struct view){.results = results};
    view->rows = memory_new((size_t)results->rows_count, sizeof(void *));
    for (enum result_kind kind = KIND_RUN; kind <= KIND_CELL; kind++)
        for (int i = 0; i < results->rows_count; i++)
            if (result_kind(&results->rows[i]) == kind && is_first_of_group(results, i))
                take_group(view, i);
}

void view_close(struct view *view)
{
    free(view->rows);
    *view = (struct view){0};
}

int view_group_end(const struct view *view, int from)
{
    int end = from + 1;
    while (end < view->count && is_same_group(view->rows[end], view->rows[from]))
        end++;
    return end;
}

int view_first(const struct view *view, enum result_kind kind)
{
    int at = 0;
    while (at < view->count && result_kind(view->rows[at]) != kind)
        at++;
    return at;
}

/* --- what stands for a row --- */

/* By cause; among equals "two hold at once" says less than the property that says how it came to
 * that. */
static int severity_of_cause(const struct result_property *property)
{
    const int gravity = property->cause == CAUSE_NONE ? 0 : CAUSE_COUNT - (int)property->cause;
    return 2 * gravity + (property->property != PROPERTY_MUTUAL_EXCLUSION);
}

static int severity(const struct result_row *row, const struct result_property *property)
{
    bool is_stated = property->expected != EXPECTED_NOTHING;
    bool differs = is_stated ? property->expected != (int)property->verdict
                             : property->verdict == VERDICT_VIOLATED;
    int grave = 0;
    bool is_undecided =
        property->verdict == VERDICT_UNKNOWN || property->verdict == VERDICT_NOT_APPLICABLE;
    bool is_known = property->verdict == VERDICT_VIOLATED && property->known >> property->cause & 1;
    if (row->as_expected == AS_EXPECTED_NO && differs)
        grave += is_known ? 5000 : 10000; /* what is accepted is not what is wrong */
    if (row->as_expected == AS_EXPECTED_NONE && is_stated && differs && is_undecided)
        grave += 10000; /* why it is open */
    if (result_is_vacuous(row) ? property_is_exclusion(property->property)
                               : property->verdict == row->verdict)
        grave += 1000;
    if (is_stated)
        grave += 100;
    return grave + severity_of_cause(property);
}

/* Of those with that verdict; -1: of all. */
static const struct result_property *gravest(const struct result_row *row, int verdict)
{
    const struct result_property *worst = NULL;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        if ((verdict < 0 || (int)property->verdict == verdict) &&
            (!worst || severity(row, property) > severity(row, worst)))
            worst = property;
    }
    return worst;
}

const struct result_property *view_headline(const struct result_row *row)
{
    return row->search ? result_cell_headline(row) : gravest(row, -1);
}

const struct result_property *view_violation(const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    if (row->verdict != VERDICT_VIOLATED || !headline)
        return NULL;
    return row->search ? headline : gravest(row, VERDICT_VIOLATED);
}

static const struct result_property *first_with(const struct result_row *row, enum cause cause)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].verdict == VERDICT_VIOLATED && row->properties[i].cause == cause)
            return &row->properties[i];
    return NULL;
}

int view_more_causes(const struct result_row *row, const struct result_property **more)
{
    const struct result_property *headline = view_headline(row);
    int count = 0;
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT && headline; i++) {
        const enum blame blame = cause_blame((enum cause)i);
        const bool is_own = (blame == BLAME_SCHEME || blame == BLAME_EITHER) &&
                            (row->is_unrated || cause_harm((enum cause)i) == HARM_LOCK);
        const struct result_property *property = first_with(row, (enum cause)i);
        if (property && is_own && i != (int)headline->cause)
            more[count++] = property;
    }
    return count;
}

/* What a scenario lists differs from what came; what it does not list is to hold. */
static bool is_other_than_listed(const struct result_property *property)
{
    return property->expected != EXPECTED_NOTHING && property->expected != (int)property->verdict;
}

static bool is_not_listed(const struct result_row *row, const struct result_property *property)
{
    bool is_any_listed = false;
    for (int i = 0; i < row->properties_count; i++)
        is_any_listed |= row->properties[i].expected != EXPECTED_NOTHING;
    return is_any_listed && property->expected == EXPECTED_NOTHING &&
           property->verdict == VERDICT_VIOLATED;
}

char *view_told_words(const struct result_row *row, const struct result_property *property)
{
    char *words = view_finding_words(property);
    char *more =
        is_other_than_listed(property)
            ? memory_format("%s, expected %s", words,
                            verdict_words((enum verdict)property->expected))
        : is_not_listed(row, property)
            ? memory_format("%s, expected holds, since the scenario does not list it", words)
            : memory_text(words);
    free(words);
    return more;
}

char *view_more_differences(const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    char *all = NULL;
    for (int i = 0; i < row->properties_count && row->as_expected == AS_EXPECTED_NO; i++) {
        const struct result_property *property = &row->properties[i];
        if (property == headline || row->search ||
            !(is_other_than_listed(property) || is_not_listed(row, property)))
            continue;
        char *words = view_told_words(row, property);
        char *longer = memory_format(
            "%s%s%s", all ? all : "Other than expected, too: ", all ? "; " : "", words);
        free(words);
        free(all);
        all = longer;
    }
    return all;
}

char *view_unlisted_words(const struct result_property *property)
{
    const int64_t unlisted = property->steps - property->choices_count;
    if (unlisted <= 0)
        return NULL;
    return memory_format("and %" PRId64
                         " step%s without a line: the fault itself, that somebody is slow",
                         unlisted, units_plural(unlisted));
}

const char *view_side(const struct result_row *row)
{
    if (row->is_unrated)
        return "";
    return row->is_naive ? "naive" : "safe";
}

enum blame view_blame(const struct result_row *row)
{
    enum blame worst = BLAME_NOBODY;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        if (property->verdict != VERDICT_VIOLATED)
            continue;
        enum blame blame = cause_blame(property->cause);
        worst = blame > worst ? blame : worst;
    }
    return worst;
}

const struct result_row *view_first_bug(const struct view *view)
{
    const struct result_row *first = NULL;
    int end = view_first(view, KIND_CELL);
    for (int i = 0; i < end; i++) {
        if (view->rows[i]->verdict != VERDICT_VIOLATED)
            continue;
        if (view_blame(view->rows[i]) == BLAME_SCHEME)
            return view->rows[i];
        if (!first)
            first = view->rows[i];
    }
    return first;
}

const char *view_bug_title(const struct result_row *row)
{
    static const char *const titles[] = {
        [BLAME_NOBODY] = "nobody's fault",
        [BLAME_DEPLOYMENT] = "the deployment's fault",
        [BLAME_EITHER] = "a bug, or a loss",
        [BLAME_SCHEME] = "the first bug",
    };
    return titles[view_blame(row)];
}

bool view_is_problem(const struct result_row *row)
{
    enum standing standing = result_standing(row);
    return standing == STANDING_UNEXPECTED || standing == STANDING_UNKNOWN ||
           result_has_defect(row);
}

/* --- counts --- */

/* Is it the first one of its scenario, or of its lock? Cells and others are counted apart. */
static bool is_first_with(const struct results *results, int at, bool is_lock)
{
    const struct result_row *row = &results->rows[at];
    for (int i = 0; i < at; i++) {
        const struct result_row *other = &results->rows[i];
        if (!other->search != !row->search || (!is_lock && other->stress))
            continue;
        if (is_lock ? !strcmp(result_lock(other), result_lock(row))
                    : !strcmp(other->subject, row->subject))
            return false;
    }
    return true;
}

static void count_run(struct view_counts *counts, const struct results *results, int at)
{
    const struct result_row *row = &results->rows[at];
    counts->rows++;
    counts->standing[result_standing(row)]++;
    counts->stress += row->stress != NULL;
    counts->scenarios += !row->stress && is_first_with(results, at, false);
    counts->schemes += is_first_with(results, at, true);
}

static void count_cell(struct view_counts *counts, const struct results *results, int at)
{
    const struct result_row *row = &results->rows[at];
    counts->cells++;
    counts->cell_schemes += is_first_with(results, at, true);
    counts->words[result_cell_word(row)]++;
    counts->failed += row->as_expected == AS_EXPECTED_NO && !row->is_known;
    counts->open += search_is_open(row->search) && !row->is_unsupported;
    counts->defects += result_has_defect(row);
}

struct view_counts view_count(const struct view *view)
{
    struct view_counts counts = {0};
    for (int i = 0; i < view->results->rows_count; i++)
        if (view->results->rows[i].search)
            count_cell(&counts, view->results, i);
        else
            count_run(&counts, view->results, i);
    return counts;
}

const char *view_faults(const char *faults)
{
    return strcmp(faults, "none") == 0 ? "no fault" : faults;
}
