/* conclusion.c - see conclusion.h. Judges nothing: whether a violation counts, the rows' policy
 * says. */
#include "report/conclusion.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- what was found --- */

/* A cell before a run. Faults stand in their order, the plainest first: who is shown how a stall
 * breaks his lock asks no more whether his server's clock can jump, though that takes fewer steps.
 */
static bool is_better(const struct result_row *row, const struct result_property *property,
                      const struct concluded_cause *than)
{
    if (!than->row || !row->search != !than->row->search)
        return !than->row || row->search;
    return (!row->search || row == than->row) && result_is_shorter(property, than->property);
}

/* Why a cause is told: the order of the conclusion. */
enum counted_as { FAILURE, ACCEPTED, NOT_COUNTED, PART_COUNT };

static enum counted_as part_of(const struct result_row *row, const struct result_property *property,
                               enum cause cause)
{
    if (!fail_on_counts(row->fail_on, 1u << cause_blame(cause)))
        return NOT_COUNTED;
    return row->is_known || property->known >> cause & 1 ? ACCEPTED : FAILURE;
}

static void note_cause(struct concluded_cause *found, const struct result_row *row,
                       const struct result_property *property, bool is_first_of_row)
{
    if (row->search && (!found->soonest || result_is_shorter(property, found->soonest))) {
        found->soonest = property;
        found->soonest_row = row;
    }
    if (is_better(row, property, found)) {
        found->row = row;
        found->property = property;
    }
    found->cells += row->search && is_first_of_row;
    found->runs += !row->search && is_first_of_row;
}

/* The causes of a property that are told: the gravest; and behind one that is known those that
 * would fail without it. */
static unsigned told_causes(const struct result_row *row, const struct result_property *property)
{
    unsigned told = 1u << property->cause;
    if (part_of(row, property, property->cause) != ACCEPTED)
        return told;
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
        if (property->causes >> i & 1 && part_of(row, property, (enum cause)i) == FAILURE)
            told |= 1u << i;
    return told;
}

/* Each cause counts once a row. */
static void note_row(struct concluded_cause found[PART_COUNT][CAUSE_COUNT],
                     const struct result_row *row)
{
    bool is_counted[PART_COUNT][CAUSE_COUNT] = {0};
    for (int i = 0; i < row->properties_count && !row->not_applicable; i++) {
        const struct result_property *property = &row->properties[i];
        if (property->verdict != VERDICT_VIOLATED)
            continue;
        const unsigned told = told_causes(row, property);
        for (int cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
            if (!(told >> cause & 1))
                continue;
            const enum counted_as part = part_of(row, property, (enum cause)cause);
            note_cause(&found[part][cause], row, property, !is_counted[part][cause]);
            is_counted[part][cause] = true;
        }
    }
}

struct conclusion conclusion_of(const struct view *view)
{
    struct concluded_cause found[PART_COUNT][CAUSE_COUNT] = {0};
    struct conclusion conclusion = {.open = view->results->interrupted.why != NULL};
    for (int i = 0; i < view->count; i++) {
        const enum standing standing = result_standing(view->rows[i]);
        note_row(found, view->rows[i]);
        conclusion.open += standing == STANDING_UNKNOWN;
        if (standing == STANDING_NOT_APPLICABLE || standing == STANDING_UNSUPPORTED)
            continue;
        conclusion.judged++;
        conclusion.cells += view->rows[i]->search != NULL;
        conclusion.sampled += view->rows[i]->search && view->rows[i]->search->is_sampled;
    }
    for (int part = 0; part < PART_COUNT; part++)
        for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
            if (!found[part][i].row)
                continue;
            found[part][i].cause = (enum cause)i;
            found[part][i].is_failure = part == FAILURE;
            found[part][i].is_known = part == ACCEPTED;
            conclusion.causes[conclusion.count++] = found[part][i];
            conclusion.failures += part == FAILURE;
            conclusion.known += part == ACCEPTED;
        }
    return conclusion;
}

bool conclusion_is_told(const struct view *view)
{
    return strcmp(view->results->command, "test") == 0 && view->count > 0;
}

/* --- words --- */

/* "a, b"; takes list, which is NULL before the first. */
static char *listed(char *list, const char *word)
{
    char *longer = memory_format("%s%s%s", list ? list : "", list ? ", " : "", word);
    free(list);
    return longer;
}

char *conclusion_whole(const struct view *view, const struct conclusion *conclusion)
{
    const char *lock = view->count ? result_lock(view->rows[0]) : "the lock";
    if (conclusion->failures) {
        char *names = NULL;
        for (int i = 0; i < conclusion->failures; i++)
            names = listed(names, cause_name(conclusion->causes[i].cause));
        char *words = memory_format("%s fails: %s.", lock, names);
        free(names);
        return words;
    }
    if (conclusion->open || !conclusion->judged)
        return memory_format(
            "%s is not decided: nothing %swas found that counts as its failure, and "
            "not all was looked at.",
            lock, conclusion->known ? "new " : "");
    const int runs = conclusion->judged - conclusion->cells;
    const int cells = conclusion->cells - conclusion->sampled;
    char *run = conclusion->sampled
                    ? memory_format(", and %d cell%s that can only be run", conclusion->sampled,
                                    units_plural(conclusion->sampled))
                    : memory_text("");
    char *words =
        memory_format("%s passes: nothing %sthat counts as its failure is there, in %d cell%s up "
                      "to %s bounds and %d run%s of scenarios%s.",
                      lock, conclusion->known ? "new " : "", cells, units_plural(cells),
                      cells == 1 ? "its" : "their", runs, units_plural(runs), run);
    free(run);
    return words;
}

char *conclusion_title(const struct view *view)
{
    const struct conclusion conclusion = conclusion_of(view);
    return conclusion_whole(view, &conclusion);
}

char *conclusion_played(const struct view *view)
{
    const struct view_counts counts = view_count(view);
    const struct interruption *interrupted = &view->results->interrupted;
    const bool is_cut = interrupted->why && strcmp(interrupted->unit, "run") == 0;
    const int64_t apart = counts.standing[STANDING_NOT_APPLICABLE];
    const int64_t done = is_cut ? interrupted->done : counts.rows;
    const int64_t all = is_cut ? interrupted->of : counts.rows;
    if (!apart)
        return NULL;
    return memory_format(
        "%" PRId64 " of %" PRId64 " scenario%s %s played%s; %" PRId64
        " %s not apply: %s what this lock does "
        "not do, what a program cannot be told to do, or a fault that --fault leaves "
        "out. The report says which.",
        done - apart, all, units_plural(all), done - apart == 1 ? "was" : "were",
        is_cut ? " before it was interrupted" : "", apart, apart == 1 ? "does" : "do",
        apart == 1 ? "it needs" : "they need");
}

char *conclusion_known(const struct conclusion *conclusion)
{
    char *names = NULL;
    for (int i = 0; i < conclusion->count; i++) {
        const struct concluded_cause *cause = &conclusion->causes[i];
        if (!cause->is_known)
            continue;
        char *where = conclusion_where(cause);
        char *word = memory_format("%s (%s)", cause_name(cause->cause), where);
        names = listed(names, word);
        free(word);
        free(where);
    }
    char *words = names ? memory_format("Known, accepted: %s.", names) : NULL;
    free(names);
    return words;
}

/* In how many cells a property holds, and in how many it does not by what the deployment did alone:
 * whether the lock would break it there, too, nobody looked. */
struct held {
    bool is_shown; /* by the lock's doing it is violated nowhere, and each cell was judged */
    int holds, lost;
    int lost_in_runs; /* by the deployment, too: of what is no cell of an exhaustive search */
};

static void note_held(struct held *held, const struct result_row *row, enum property property)
{
    const struct result_property *judged = NULL;
    for (int i = 0; i < row->properties_count && !judged; i++)
        judged = row->properties[i].property == property ? &row->properties[i] : NULL;
    const enum verdict verdict = judged ? judged->verdict : VERDICT_UNKNOWN;
    const bool is_lost =
        verdict == VERDICT_VIOLATED && cause_blame(judged->cause) == BLAME_DEPLOYMENT;
    if (verdict == VERDICT_VIOLATED && !is_lost)
        held->is_shown = false;
    if (!row->search || row->search->is_sampled) {
        held->lost_in_runs += is_lost;
        return; /* shows what is violated alone */
    }
    held->is_shown &= verdict == VERDICT_HOLDS || is_lost;
    held->holds += verdict == VERDICT_HOLDS;
    held->lost += is_lost;
}

static struct held held_of(const struct view *view, enum property property)
{
    struct held held = {.is_shown = true};
    for (int i = 0; i < view->count; i++)
        note_held(&held, view->rows[i], property);
    held.is_shown &= held.holds > 0;
    return held;
}

/* "; in 6 others a server lost the lock", so that nothing is claimed that a row of this report
 * contradicts; owned. */
static char *lost_words(const struct held *held)
{
    if (held->lost)
        return memory_format("; in %d other%s a server lost the lock", held->lost,
                             units_plural(held->lost));
    if (held->lost_in_runs)
        return memory_format("; in %d run%s a server lost the lock", held->lost_in_runs,
                             units_plural(held->lost_in_runs));
    return memory_text("");
}

/* "words (in 17 cells; in 6 others the deployment did)"; NULL: that is not shown. */
static char *held_part(const struct view *view, enum property property, const char *words)
{
    const struct held held = held_of(view, property);
    if (!held.is_shown)
        return NULL;
    char *others = lost_words(&held);
    char *part = memory_format("%s (in %d cell%s up to %s bounds%s)", words, held.holds,
                               units_plural(held.holds), held.holds == 1 ? "its" : "their", others);
    free(others);
    return part;
}

char *conclusion_held(const struct view *view)
{
    char *own = held_part(view, PROPERTY_RELEASE_OWN, "no release removed another client's lock");
    char *alone =
        held_part(view, PROPERTY_LEASE_EXCLUSION, "nobody else got the lock within a lease");
    char *words = own || alone ? memory_format("Held: %s%s%s.", own ? own : "",
                                               own && alone ? ", and " : "", alone ? alone : "")
                               : NULL;
    free(own);
    free(alone);
    return words;
}

char *conclusion_others(const struct conclusion *conclusion)
{
    static const char *const whose[] = {[BLAME_NOBODY] = "nobody's fault",
                                        [BLAME_SCHEME] = "the lock's",
                                        [BLAME_DEPLOYMENT] = "the deployment's",
                                        [BLAME_EITHER] =
                                            "the lock's, the deployment's or the network's"};
    char *names = NULL;
    for (int i = conclusion->failures + conclusion->known; i < conclusion->count; i++) {
        const enum cause cause = conclusion->causes[i].cause;
        char *word = memory_format("%s (%s)", cause_name(cause), whose[cause_blame(cause)]);
        names = listed(names, word);
        free(word);
    }
    char *words = names ? memory_format("Found, and not counted: %s.", names) : NULL;
    free(names);
    return words;
}

/* The caller frees. */
static char *open_why(const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    for (int i = 0; row->search && i < row->properties_count; i++)
        if (row->properties[i].verdict == VERDICT_UNKNOWN && row->properties[i].why)
            return memory_text(row->properties[i].why);
    if (row->search)
        return memory_text(row->search->end);
    if (!row->error && headline && headline->witness_lines)
        return memory_text(headline->witness[0]);
    return view_row_words(row);
}

/* The list and one more, "a, b (why)"; takes list, and *names. */
static char *with_reason(char *list, char **names, const char *why)
{
    const size_t size = strlen(why);
    const int shown = (int)(size && why[size - 1] == '.' ? size - 1 : size); /* no full stop */
    char *item = memory_format("%s (%.*s)", *names, shown, why), *longer = listed(list, item);
    free(item);
    free(*names);
    *names = NULL;
    return longer;
}

/* Rows that are open for one reason stand together, as the first of them came: "stall, crash (it
 * was interrupted)". */
char *conclusion_open(const struct view *view, const struct conclusion *conclusion)
{
    char *all = NULL, **whys = memory_new((size_t)view->count, sizeof *whys);
    for (int i = 0; i < view->count && conclusion->open; i++)
        if (result_standing(view->rows[i]) == STANDING_UNKNOWN)
            whys[i] = open_why(view->rows[i]);
    for (int i = 0; i < view->count; i++) {
        char *names = NULL, *why = whys[i];
        for (int k = i; why && k < view->count; k++) {
            if (!whys[k] || strcmp(whys[k], why) != 0)
                continue;
            names = listed(names, view_faults(view->rows[k]->subject));
            if (k > i)
                free(whys[k]);
            whys[k] = NULL;
        }
        if (names)
            all = with_reason(all, &names, why);
        free(why);
    }
    free(whys);
    char *words = all ? memory_format("Not decided: %s.", all) : NULL;
    free(all);
    return words;
}

char *conclusion_run(const struct view *view)
{
    char *all = NULL;
    int64_t seed = 0;
    for (int i = 0; i < view->count; i++) {
        const struct result_row *row = view->rows[i];
        if (!row->search || !search_is_random(row->search) ||
            result_standing(row) == STANDING_UNKNOWN)
            continue;
        char *item = memory_format("%s (%s)", view_faults(row->subject), row->search->words);
        all = listed(all, item);
        free(item);
        seed = row->search->seed;
    }
    char *words = all ? memory_format("By random runs alone (seed %" PRId64
                                      "), which can find, and never prove: %s.",
                                      seed, all)
                      : NULL;
    free(all);
    return words;
}

static bool is_soonest_of(const struct concluded_cause *cause)
{
    return !result_is_shorter(cause->soonest, cause->property);
}

char *conclusion_where(const struct concluded_cause *cause)
{
    char *cells = cause->cells
                      ? memory_format("%d cell%s", cause->cells, units_plural(cause->cells))
                      : memory_text("");
    char *runs = cause->runs
                     ? memory_format("%d scenario%s", cause->runs, units_plural(cause->runs))
                     : memory_text("");
    char *soonest;
    if (!cause->row->search)
        soonest = memory_format(", such as %s", cause->row->subject);
    else if (is_soonest_of(cause))
        soonest = memory_format(", soonest in %" PRId64 " steps under %s", cause->property->steps,
                                view_faults(cause->row->subject));
    else
        soonest = memory_format(", in %" PRId64 " steps under %s, soonest in %" PRId64 " under %s",
                                cause->property->steps, view_faults(cause->row->subject),
                                cause->soonest->steps, view_faults(cause->soonest_row->subject));
    char *words = memory_format("in %s%s%s%s", cells, cause->cells && cause->runs ? " and " : "",
                                runs, soonest);
    free(cells);
    free(runs);
    free(soonest);
    return words;
}

char *conclusion_example(const struct concluded_cause *cause)
{
    const bool is_shortest =
        cause->row->search && cause->property->is_shortest && is_soonest_of(cause);
    return memory_format("%s counterexample (%s)", is_shortest ? "The shortest" : "A",
                         cause_name(cause->cause));
}
