/* view.c - see view.h. */
#include "report/view.h"

#include "base/memory.h"
#include "base/shell.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- order --- */

/* The same scenario, made by the same: rows that stand beside one another. */
static bool is_same_group(const struct run_result *a, const struct run_result *b)
{
    return a->is_stress == b->is_stress && a->origin == b->origin &&
           !strcmp(a->scenario, b->scenario);
}

/* Adds the rows of the group of `first` that are on this side of the table. */
static void take_rows(struct view *view, const struct run_result *first, bool is_naive)
{
    for (int i = 0; i < view->results->rows_count; i++) {
        const struct run_result *row = &view->results->rows[i];
        if (row->is_naive == is_naive && is_same_group(row, first))
            view->rows[view->count++] = row;
    }
}

static bool is_first_of_group(const struct results *results, int at)
{
    for (int i = 0; i < at; i++)
        if (is_same_group(&results->rows[i], &results->rows[at]))
            return false;
    return true;
}

void view_init(struct view *view, const struct results *results)
{
    *view = (struct view){.results = results};
    view->rows = memory_new((size_t)results->rows_count, sizeof(void *));
    for (int stress = 0; stress <= 1; stress++)
        for (int i = 0; i < results->rows_count; i++) {
            const struct run_result *row = &results->rows[i];
            if (row->is_stress != stress || !is_first_of_group(results, i))
                continue;
            take_rows(view, row, true);
            take_rows(view, row, false);
        }
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

/* --- what stands for a row --- */

/* By blame; among equals "two hold at once" says less than the property that says how it came to
 * that. */
static int gravity_of_cause(const struct property_result *property)
{
    return 2 * (int)cause_blame(property->cause) +
           (property->property != PROPERTY_MUTUAL_EXCLUSION);
}

static int gravity(const struct run_result *row, const struct property_result *property)
{
    bool is_stated = property->expected != EXPECTED_NOTHING;
    bool differs = is_stated ? property->expected != (int)property->verdict
                             : property->verdict == VERDICT_VIOLATED;
    int grave = 0;
    if (row->as_expected == AS_EXPECTED_NO && differs)
        grave += 1000;
    if (result_is_vacuous(row) ? property_is_exclusion(property->property)
                               : property->verdict == row->verdict)
        grave += 100;
    if (is_stated)
        grave += 10;
    return grave + gravity_of_cause(property);
}

const struct property_result *view_headline(const struct run_result *row)
{
    const struct property_result *worst = NULL;
    for (int i = 0; i < row->properties_count; i++)
        if (!worst || gravity(row, &row->properties[i]) > gravity(row, worst))
            worst = &row->properties[i];
    return worst;
}

const char *view_side(const struct run_result *row)
{
    if (row->is_unrated)
        return "-";
    return row->is_naive ? "naive" : "safe";
}

enum blame view_blame(const struct run_result *row)
{
    enum blame worst = BLAME_NOBODY;
    for (int i = 0; i < row->properties_count; i++) {
        const struct property_result *property = &row->properties[i];
        if (property->verdict != VERDICT_VIOLATED)
            continue;
        enum blame blame = cause_blame(property->cause);
        worst = blame > worst ? blame : worst;
    }
    return worst;
}

const struct run_result *view_first_bug(const struct view *view)
{
    const struct run_result *first = NULL;
    for (int i = 0; i < view->count; i++) {
        if (view->rows[i]->verdict != VERDICT_VIOLATED)
            continue;
        if (view_blame(view->rows[i]) == BLAME_SCHEME)
            return view->rows[i];
        if (!first)
            first = view->rows[i];
    }
    return first;
}

/* --- counts --- */

static bool is_first_of_scenario(const struct results *results, int at)
{
    for (int i = 0; i < at; i++)
        if (!results->rows[i].is_stress &&
            !strcmp(results->rows[i].scenario, results->rows[at].scenario))
            return false;
    return true;
}

static bool is_first_of_scheme(const struct results *results, int at)
{
    for (int i = 0; i < at; i++)
        if (!strcmp(results->rows[i].scheme, results->rows[at].scheme))
            return false;
    return true;
}

/* Was the lock itself lost, and by the scheme's own doing? A key left behind or an untrue answer is
 * another matter. */
static bool has_lost_lock(const struct run_result *row)
{
    for (int i = 0; i < row->properties_count; i++) {
        const struct property_result *property = &row->properties[i];
        if (property->verdict == VERDICT_VIOLATED && property->property <= PROPERTY_EXTEND_OWN &&
            cause_blame(property->cause) == BLAME_SCHEME)
            return true;
    }
    return false;
}

struct view_counts view_count(const struct view *view)
{
    const struct results *results = view->results;
    struct view_counts counts = {.rows = results->rows_count};
    for (int i = 0; i < results->rows_count; i++) {
        const struct run_result *row = &results->rows[i];
        bool is_broken = has_lost_lock(row);
        enum standing standing = result_standing(row);
        bool is_judged = standing != STANDING_NOT_APPLICABLE;
        counts.standing[standing]++;
        counts.stress += row->is_stress;
        counts.scenarios += !row->is_stress && is_first_of_scenario(results, i);
        counts.schemes += is_first_of_scheme(results, i);
        counts.naive += row->is_naive && is_judged;
        counts.naive_broken += row->is_naive && is_broken;
        bool is_safe = !row->is_naive && !row->is_unrated;
        counts.safe += is_safe && is_judged;
        counts.safe_broken += is_safe && is_broken;
    }
    return counts;
}

/* --- words --- */

const char *view_verdict(const struct run_result *row)
{
    if (row->is_unsupported)
        return "unsupported";
    return verdict_words(result_is_vacuous(row) ? VERDICT_UNKNOWN : row->verdict);
}

bool view_is_trouble(enum standing standing)
{
    return standing == STANDING_UNEXPECTED || standing == STANDING_UNKNOWN;
}

const char *view_standing_words(enum standing standing)
{
    switch (standing) {
    case STANDING_EXPECTED:
        return "as expected";
    case STANDING_UNEXPECTED:
        return "NOT expected";
    case STANDING_UNKNOWN:
        return "unknown";
    case STANDING_UNSTATED:
    case STANDING_NOT_APPLICABLE:
    case STANDING_COUNT:
        break;
    }
    return "";
}

static char *runs_words(const struct view *view)
{
    struct view_counts counts = view_count(view);
    int not = counts.standing[STANDING_UNEXPECTED], open = counts.standing[STANDING_UNKNOWN];
    if (counts.rows == 0)
        return memory_text("Nothing ran.");
    /* Of what did not apply there is no verdict. */
    counts.rows -= counts.standing[STANDING_NOT_APPLICABLE];
    if (counts.rows == 0)
        return memory_text("Nothing of it applied: nothing was concluded.");
    if (not == 0 && open == 0 && counts.standing[STANDING_EXPECTED] == counts.rows)
        return counts.rows == 1 ? memory_text("The verdict is as expected.")
                                : memory_format("All %d verdicts are as expected.", counts.rows);
    if (not == 0 && open == 0 && counts.standing[STANDING_UNSTATED] == counts.rows)
        return memory_text("Nothing was violated that is anybody's fault.");
    if (not == 0 && open == 0)
        return memory_text("Nothing is other than expected.");
    if (not &&counts.stress == counts.rows)
        return memory_format("%d of %d schemes lost the lock.", not, counts.rows);
    char *more =
        open ? memory_format("%s%d could not be judged", not ? ", " : "", open) : memory_text("");
    char *words = not ? memory_format("%d of %d verdicts %s not as expected%s.", not, counts.rows,
                                      not == 1 ? "is" : "are", more)
                      : memory_format("%s of %d verdicts.", more, counts.rows);
    free(more);
    return words;
}

static char *runs_scope(const struct view *view)
{
    struct view_counts counts = view_count(view);
    const struct results *results = view->results;
    char *server = !strcmp(results->world, "mixed") ? memory_text("in several worlds")
                   : !strcmp(results->world, "sim")
                       ? memory_text("in the simulated world")
                       : memory_format("on redis-server%s%s", *results->server_version ? " " : "",
                                       results->server_version);
    int directed = counts.rows - counts.stress;
    char *runs = directed
                     ? memory_format("%d run%s of %d scenario%s", directed, units_plural(directed),
                                     counts.scenarios, units_plural(counts.scenarios))
                     : memory_text("");
    char *stress = counts.stress ? memory_format("%s%d stress run%s", directed ? " and " : "",
                                                 counts.stress, units_plural(counts.stress))
                                 : memory_text("");
    char *seed =
        results->origins_count ? memory_text("") : memory_format(", seed %" PRIu64, results->seed);
    char *words = memory_format("%s%s with %d scheme%s %s%s.", runs, stress, counts.schemes,
                                units_plural(counts.schemes), server, seed);
    free(seed);
    free(server);
    free(runs);
    free(stress);
    return words;
}

/* Two sentences, either of which may be empty; takes both. */
static char *joined(char *first, char *second)
{
    char *words = memory_format("%s%s%s", first, *first && *second ? " " : "", second);
    free(first);
    free(second);
    return words;
}

char *view_interrupted_words(const struct results *results)
{
    const struct interruption *interrupted = &results->interrupted;
    if (!interrupted->why)
        return NULL;
    return memory_format("%" PRId64 " of %" PRId64 " %s%s (%s)", interrupted->done, interrupted->of,
                         interrupted->unit, units_plural(interrupted->of), interrupted->why);
}

/* What is missing comes first: whatever else is said is not the whole. */
char *view_verdict_words(const struct view *view)
{
    const struct results *results = view->results;
    char *interrupted = view_interrupted_words(results);
    char *missing = results->missing_count ? memory_text("Not all of it is here.")
                    : interrupted          ? memory_format("Interrupted: %s.", interrupted)
                                           : memory_text("");
    free(interrupted);
    char *runs = results->rows_count || !results->cells_count ? runs_words(view) : memory_text("");
    return joined(missing, joined(runs, view_explored_words(results)));
}

char *view_scope_words(const struct view *view)
{
    const struct results *results = view->results;
    struct view_explored counts = view_count_explored(results);
    char *runs = results->rows_count || !counts.cells ? runs_scope(view) : memory_text("");
    char *cells = counts.cells
                      ? memory_format("Every interleaving up to a bound: %d cell%s of %d scheme%s.",
                                      counts.cells, units_plural(counts.cells), counts.schemes,
                                      units_plural(counts.schemes))
                      : memory_text("");
    return joined(runs, cells);
}

char *view_origin_words(const struct results *results, int origin)
{
    const struct results *of = &results->origins[origin];
    bool is_sim = !strcmp(of->world, "sim");
    return memory_format("%s (picklock %s, %s%s, seed %" PRIu64 ", %s)",
                         of->invocation ? of->invocation : of->command, of->picklock,
                         is_sim ? "simulated world" : "redis-server ",
                         is_sim ? "" : of->server_version, of->seed, of->started);
}

char *view_policy_words(const struct results *results)
{
    bool is_used[FAIL_ON_COUNT] = {0};
    char *words = NULL;
    for (int i = 0; i < results->rows_count; i++)
        is_used[results->rows[i].fail_on] = true;
    for (int i = 0; i < results->cells_count; i++)
        is_used[results->cells[i].fail_on] = true;
    if (results->cells_count && !results->rows_count)
        is_used[FAIL_ON_NEVER] = false; /* of the explorer's cells that is understood */
    for (int i = FAIL_ON_NEVER; i < FAIL_ON_COUNT; i++) {
        if (!is_used[i])
            continue;
        char *longer =
            memory_format("%s%s%s", words ? words : "Where nothing was expected, --fail-on ",
                          words ? " and " : "", fail_on_name((enum fail_on)i));
        free(words);
        words = longer;
    }
    char *sentence = words ? memory_format("%s decided.", words) : NULL;
    free(words);
    return sentence;
}

char *view_sides_words(const struct view *view)
{
    struct view_counts counts = view_count(view);
    if (!counts.naive || !counts.safe)
        return NULL;
    return memory_format("Naive schemes lost the lock by their own doing in %d of %d runs, safe "
                         "schemes in %d of %d.",
                         counts.naive_broken, counts.naive, counts.safe_broken, counts.safe);
}

char *view_row_words(const struct run_result *row)
{
    const struct property_result *headline = view_headline(row);
    if (row->trouble || row->not_applicable)
        return memory_text(row->trouble ? row->trouble : row->not_applicable);
    if (!headline)
        return memory_text("nothing was checked");
    bool has_cause = headline->verdict == VERDICT_VIOLATED && headline->cause != CAUSE_NONE;
    bool differs =
        headline->expected != EXPECTED_NOTHING && headline->expected != (int)headline->verdict;
    const char *is = headline->verdict == VERDICT_HOLDS ? "" : "is ";
    return memory_format("%s %s%s%s%s%s%s%s", property_name(headline->property), is,
                         verdict_words(headline->verdict), has_cause ? " (" : "",
                         has_cause ? cause_name(headline->cause) : "", has_cause ? ")" : "",
                         differs ? ", expected " : "",
                         differs ? verdict_words((enum verdict)headline->expected) : "");
}

char *view_scheme_argument(const char *name, const char *file)
{
    return file ? shell_word(file) : memory_text(name);
}

char *view_command(const struct results *all, const struct run_result *row)
{
    const struct results *results = results_origin(all, row->origin);
    if (row->is_stress)
        return results->invocation ? memory_text(results->invocation) : NULL;
    const char *on = !strcmp(results->world, "sim") ? " --on sim" : "";
    char *seed =
        results->seed == 1 ? memory_text("") : memory_format(" --seed %" PRIu64, results->seed);
    char *scheme = view_scheme_argument(row->scheme, row->scheme_file);
    char *named =
        row->path ? memory_text(row->path) : memory_format("scenarios/%s.yaml", row->scenario);
    char *path = shell_word(named);
    char *words = memory_format("picklock run --scheme %s%s%s %s", scheme, on, seed, path);
    free(path);
    free(named);
    free(scheme);
    free(seed);
    return words;
}
