/* result.c - see result.h. Owns the rows; judges nothing (judge.c does). */
#include "run/result.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_FIRST = 16 };

static void texts_free(char **texts, int count)
{
    for (int i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

static void property_close(struct result_property *property)
{
    texts_free(property->witness, property->witness_lines);
    texts_free(property->choices, property->choices_count);
    free(property->why);
    free(property->found_by);
    free(property->error);
    free(property->schedule);
    free(property->history);
}

static void row_close(struct result_row *row)
{
    for (int i = 0; i < row->properties_count; i++)
        property_close(&row->properties[i]);
    free(row->properties);
    free(row->scheme_file);
    free(row->worker);
    free(row->error);
    free(row->not_applicable);
    free(row->schedule);
    free(row->history);
    free(row->story);
    free(row->source);
    free(row->path);
    free(row->stress);
    free(row->search);
    free(row->folder);
}

void results_drop_last(struct results *results)
{
    row_close(&results->rows[--results->rows_count]);
}

void results_interrupt(struct results *results, const char *why, const char *unit, int64_t done,
                       int64_t of)
{
    struct interruption *interrupted = &results->interrupted;
    if (interrupted->why)
        return;
    *interrupted = (struct interruption){.why = memory_text(why), .done = done, .of = of};
    snprintf(interrupted->unit, sizeof interrupted->unit, "%s", unit);
}

void results_free(struct results *results)
{
    for (int i = 0; i < results->rows_count; i++)
        row_close(&results->rows[i]);
    free(results->rows);
    for (int i = 0; i < results->origins_count; i++) {
        free(results->origins[i].invocation);
        free(results->origins[i].campaign);
    }
    free(results->origins);
    texts_free(results->notes, results->notes_count);
    texts_free(results->missing, results->missing_count);
    free(results->interrupted.why);
    free(results->invocation);
    free(results->campaign);
    *results = (struct results){0};
}

void results_note(struct results *results, char *text)
{
    for (int i = 0; i < results->notes_count; i++)
        if (!strcmp(results->notes[i], text)) {
            free(text);
            return;
        }
    results->notes =
        memory_resize(results->notes, (size_t)results->notes_count + 1, sizeof *results->notes);
    results->notes[results->notes_count++] = text;
}

/* There is room for one more: it doubles at powers of two, so that no capacity has to be kept. */
struct result_row *results_add(struct results *results)
{
    size_t used = (size_t)results->rows_count;
    if (used == 0 || (used >= ROWS_FIRST && (used & (used - 1)) == 0))
        results->rows =
            memory_resize(results->rows, used ? 2 * used : ROWS_FIRST, sizeof *results->rows);
    struct result_row *row = &results->rows[results->rows_count++];
    *row = (struct result_row){.as_expected = AS_EXPECTED_NONE};
    return row;
}

const struct results *results_origin(const struct results *results, int origin)
{
    return results->origins_count ? &results->origins[origin] : results;
}

const char *result_lock(const struct result_row *row)
{
    return *row->scheme ? row->scheme : row->worker;
}

enum result_kind result_kind(const struct result_row *row)
{
    return row->search ? KIND_CELL : row->stress ? KIND_STRESS : KIND_RUN;
}

const char *result_history(const struct result_row *row, const struct result_property *property)
{
    return property && property->history ? property->history : row->history;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool result_is_same(const struct result_row *a, const struct result_row *b)
{
    enum result_kind kind = result_kind(a);
    return kind == result_kind(b) && kind != KIND_STRESS && !strcmp(a->subject, b->subject) &&
           !strcmp(result_lock(a), result_lock(b)) && is_same_text(a->worker, b->worker) &&
           (kind == KIND_RUN || (a->search->faults_max == b->search->faults_max &&
                                 search_is_same(a->search, b->search)));
}

/* --- where a row stands --- */

/* A stated expectation that could not be decided. */
static bool is_undecided(const struct result_row *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].expected != EXPECTED_NOTHING &&
            (row->properties[i].verdict == VERDICT_UNKNOWN ||
             row->properties[i].verdict == VERDICT_NOT_APPLICABLE))
            return true;
    return false;
}

bool result_is_vacuous(const struct result_row *row)
{
    bool is_unknown = false;
    if (row->as_expected != AS_EXPECTED_NONE || row->search)
        return false;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        if (!property_is_exclusion(property->property))
            continue;
        if (property->verdict == VERDICT_HOLDS || property->verdict == VERDICT_VIOLATED)
            return false;
        is_unknown |= property->verdict == VERDICT_UNKNOWN;
    }
    return is_unknown;
}

enum standing result_standing(const struct result_row *row)
{
    if (row->verdict == VERDICT_NOT_APPLICABLE)
        return STANDING_NOT_APPLICABLE;
    if (row->is_unsupported && row->verdict == VERDICT_UNKNOWN &&
        (row->search || row->as_expected == AS_EXPECTED_YES))
        return STANDING_UNSUPPORTED;
    if (row->as_expected == AS_EXPECTED_YES)
        return STANDING_EXPECTED;
    if (row->as_expected == AS_EXPECTED_NO && !row->is_known)
        return STANDING_UNEXPECTED;
    bool is_open = row->search ? search_is_open(row->search) && !row->is_unsupported
                               : row->verdict == VERDICT_UNKNOWN || row->error ||
                                     is_undecided(row) || result_is_vacuous(row);
    return is_open ? STANDING_UNKNOWN : row->is_known ? STANDING_KNOWN : STANDING_UNSTATED;
}

/* --- cells --- */

bool result_property_is_defect(const struct result_property *property)
{
    return property->error || property->confirmed == CONFIRMED_NO;
}

bool result_has_defect(const struct result_row *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (result_property_is_defect(&row->properties[i]))
            return true;
    return false;
}

static const char *const unconfirmed[] = {
    [CONFIRMED_LACKS] = "this server does not know DELEX",
    [CONFIRMED_NOTHING] = "no single path shows it",
};

const char *result_unconfirmed(enum confirmed confirmed)
{
    return unconfirmed[confirmed];
}

enum confirmed result_unconfirmed_read(const char *why)
{
    return strcmp(why, unconfirmed[CONFIRMED_NOTHING]) == 0 ? CONFIRMED_NOTHING : CONFIRMED_LACKS;
}

bool search_is_random(const struct search_figures *search)
{
    return strcmp(search->method, explore_search_name(SEARCH_EXHAUSTIVE)) != 0;
}

bool search_is_open(const struct search_figures *search)
{
    return !search->is_complete && !search->is_sampled;
}

const char *search_section(const struct search_figures *search)
{
    return search->has_one_section ? section_name(search->section) : NULL;
}

bool search_is_same(const struct search_figures *a, const struct search_figures *b)
{
    return a->clients == b->clients && a->rounds == b->rounds && a->servers == b->servers &&
           a->lease_ticks == b->lease_ticks && a->seed == b->seed &&
           a->has_one_section == b->has_one_section && a->section == b->section &&
           a->learned_ways == b->learned_ways && a->extends == b->extends &&
           a->cancels == b->cancels && !strcmp(a->method, b->method);
}

/* Takes list (NULL: nothing yet) and word. */
static char *listed(char *list, const char *separator, char *word)
{
    char *longer = memory_format("%s%s%s", list ? list : "", list ? separator : "", word);
    free(list);
    free(word);
    return longer;
}

static char *counted(int64_t count, const char *unit)
{
    return memory_format("%" PRId64 " %s%s", count, unit, units_plural(count));
}

/* How far was looked, bound by bound. */
enum bound {
    BOUND_CLIENTS,
    BOUND_ROUNDS,
    BOUND_SERVERS,
    BOUND_LEASE,
    BOUND_SECTION,
    BOUND_EXTENDS,
    BOUND_CANCELS,
    BOUND_WAY,
    BOUND_FAULTS, /* the last: cells of one table differ in it, so search_bounds() leaves it out */
    BOUND_COUNT
};

/* In words, which the caller frees; what is usual has none: NULL. */
static char *bound_words(const struct search_figures *search, enum bound bound)
{
    const char *section = search_section(search);
    switch (bound) {
    case BOUND_CLIENTS:
        return counted(search->clients, "client");
    case BOUND_ROUNDS:
        return counted(search->rounds, "round");
    case BOUND_SERVERS:
        return counted(search->servers, "server");
    case BOUND_LEASE:
        return memory_format("lease of %" PRId64 " tick%s", search->lease_ticks,
                             units_plural(search->lease_ticks));
    case BOUND_SECTION:
        return section ? memory_format("section: %s", section) : NULL;
    case BOUND_EXTENDS:
        return search->extends ? memory_text("each hold extended at most once") : NULL;
    case BOUND_CANCELS:
        return search->cancels ? memory_text("each client cancelled at most once") : NULL;
    case BOUND_WAY:
        if (search_is_random(search))
            return memory_format("%s search, seed %" PRId64, search->method, search->seed);
        return search->learned_ways
                   ? memory_format("up to the learned model, k = %" PRId64, search->learned_ways)
                   : NULL;
    case BOUND_FAULTS:
        return memory_format("at most %" PRId64 " fault%s", search->faults_max,
                             units_plural(search->faults_max));
    case BOUND_COUNT:
        break;
    }
    return NULL;
}

char *search_bounds(const struct search_figures *search)
{
    char *bounds = NULL;
    for (enum bound bound = 0; bound < BOUND_FAULTS; bound++) {
        char *words = bound_words(search, bound);
        bounds = words ? listed(bounds, ", ", words) : bounds;
    }
    return bounds;
}

char *search_difference(const struct search_figures *now, const struct search_figures *then)
{
    static const char *const usual[BOUND_COUNT] = {
        [BOUND_SECTION] = "section: what each property needs",
        [BOUND_EXTENDS] = "no hold extended",
        [BOUND_CANCELS] = "no client cancelled",
        [BOUND_WAY] = "every interleaving",
    };
    char *difference = NULL;
    for (enum bound bound = 0; bound < BOUND_COUNT; bound++) {
        char *is = bound_words(now, bound), *was = bound_words(then, bound);
        const char *is_told = is ? is : usual[bound], *was_told = was ? was : usual[bound];
        if ((is || was) && strcmp(is_told, was_told) != 0)
            difference =
                listed(difference, "; ", memory_format("%s now, %s before", is_told, was_told));
        free(is);
        free(was);
    }
    return difference;
}

/* --- stress runs --- */

/* A run ends a little after its time: what differs by a tenth only was to be as long. */
static bool is_as_long(int64_t a_us, int64_t b_us)
{
    const int64_t longer_us = a_us > b_us ? a_us : b_us;
    return llabs(a_us - b_us) <= longer_us / 10;
}

/* Is it known which faults struck? */
static bool knows_struck(const struct stress_figures *figures)
{
    for (int i = 0; i < FAULT_ROWS; i++)
        if (figures->struck[i])
            return true;
    return figures->faults == 0;
}

/* Takes list. */
static char *counts_listed(char *list, int64_t is, int64_t was, const char *unit)
{
    if (is == was)
        return list;
    return listed(list, "; ",
                  memory_format("%" PRId64 " %s%s now, %" PRId64 " %s%s before", is, unit,
                                units_plural(is), was, unit, units_plural(was)));
}

char *stress_difference(const struct result_row *now, const struct result_row *then)
{
    const struct stress_figures *is = now->stress, *was = then->stress;
    char *difference = counts_listed(NULL, is->clients, was->clients, "client");
    if (!is_as_long(now->elapsed_us, then->elapsed_us)) {
        char one[UNITS_TEXT_MAX], other[UNITS_TEXT_MAX];
        difference =
            listed(difference, "; ",
                   memory_format("%s now, %s before", units_print_rounded(now->elapsed_us, one),
                                 units_print_rounded(then->elapsed_us, other)));
    }
    difference = counts_listed(difference, is->faults, was->faults, "fault");
    for (int i = 0; knows_struck(is) && knows_struck(was) && i < FAULT_ROWS; i++)
        if (!is->struck[i] != !was->struck[i])
            difference = listed(difference, "; ",
                                memory_format("%s struck %s only", fault_name((enum fault)i),
                                              is->struck[i] ? "now" : "before"));
    return difference;
}

/* --- all rows --- */

const char *results_nothing_judged(const struct results *results)
{
    bool is_unsupported = false;
    if (results->shard.count != 0)
        return NULL;
    for (int i = 0; i < results->rows_count; i++) {
        const enum standing standing = result_standing(&results->rows[i]);
        if (standing != STANDING_NOT_APPLICABLE && standing != STANDING_UNSUPPORTED)
            return NULL;
        is_unsupported |= standing == STANDING_UNSUPPORTED;
    }
    return is_unsupported        ? "nothing was run: what was to be run is not supported here"
           : results->rows_count ? "nothing was concluded: nothing applied"
                                 : "nothing was run";
}

enum fail results_status(const struct results *results)
{
    bool is_defect = false, is_failed = false;
    bool is_open =
        results->missing_count > 0 || results->interrupted.why || results_nothing_judged(results);
    for (int i = 0; i < results->rows_count; i++) {
        enum standing standing = result_standing(&results->rows[i]);
        is_failed |= standing == STANDING_UNEXPECTED;
        is_open |= standing == STANDING_UNKNOWN;
        is_defect |= result_has_defect(&results->rows[i]);
    }
    return is_defect   ? FAIL_INTERNAL
           : is_failed ? FAIL_EXPECTATION
           : is_open   ? FAIL_UNKNOWN
                       : FAIL_NONE;
}
