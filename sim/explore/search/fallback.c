/* fallback.c - see fallback.h. */
#include "explore/search/fallback.h"

#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_limit(enum explore_end end)
{
    return end == END_STATES || end == END_BYTES || end == END_TIME;
}

int64_t fallback_deadline_us(const struct explore_options *options)
{
    if (!options->deadline_us || !options->now_us)
        return options->deadline_us;
    int64_t left_us = options->deadline_us - options->now_us();
    return options->deadline_us - (left_us > 0 ? left_us / 4 : 0);
}

static unsigned unknown_of(const struct explore_outcome *outcome, unsigned wanted)
{
    unsigned unknown = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        unknown |= (unsigned)(outcome->findings[i].verdict == VERDICT_UNKNOWN) << i;
    return unknown & wanted & ~(1u << PROPERTY_PROGRESS);
}

bool fallback_is_due(const struct explore_options *options, const struct explore_outcome *outcome,
                     unsigned wanted)
{
    return options->search == SEARCH_EXHAUSTIVE && is_limit(outcome->end) &&
           unknown_of(outcome, wanted) != 0;
}

static bool is_over(const struct explore_options *options)
{
    return explore_is_stopped(options) || explore_is_out_of_time(options);
}

/* Half of what is left, so that the next search has some, too. */
static int64_t half_deadline_us(const struct explore_options *options)
{
    if (!options->deadline_us || !options->now_us)
        return options->deadline_us;
    return options->deadline_us - (options->deadline_us - options->now_us()) / 2;
}

static struct explore_options options_of(const struct explore_options *given, unsigned unknown)
{
    struct explore_options options = *given;
    if (options.states_max == 0 || options.states_max > FALLBACK_STATES)
        options.states_max = FALLBACK_STATES;
    options.skips_progress = true;
    options.sought = unknown;
    options.deadline_us = half_deadline_us(given);
    return options;
}

/* Had the search that was cut short seen all that is shorter? */
static bool has_seen_shorter(const struct explore_outcome *outcome,
                             const struct explore_finding *finding)
{
    return finding->faults < outcome->seen_faults ||
           (finding->faults == outcome->seen_faults && finding->events <= outcome->seen_events + 1);
}

static bool is_better(const struct explore_finding *finding, const struct explore_finding *known)
{
    if (finding->verdict != VERDICT_VIOLATED)
        return false;
    return known->verdict == VERDICT_UNKNOWN || finding->faults < known->faults ||
           (finding->faults == known->faults && finding->events < known->events);
}

/* Takes over what is new, or shorter; frees the rest. */
static void take(struct explore_outcome *outcome, struct explore_outcome *found, unsigned wanted,
                 const struct fallback_bound *bound)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct explore_finding *known = &outcome->findings[i], *met = &found->findings[i];
        if (!(wanted >> i & 1) || !is_better(met, known))
            continue;
        free(known->choices);
        *known = *met;
        met->choices = NULL;
        known->clients = bound ? bound->clients : 0;
        known->rounds = bound ? bound->rounds : 0;
        known->is_shortest = (!bound && met->is_shortest) || has_seen_shorter(outcome, known);
    }
    if (found->end == END_STOPPED)
        outcome->end = END_STOPPED;
    if (!bound && found->shorter_states > outcome->shorter_states)
        outcome->shorter_states = found->shorter_states;
    explore_outcome_free(found);
}

/* --- smaller bounds --- */

/* Nothing is gained where as little or less was too much. */
static bool was_too_much(const struct fallback *tried, int clients, int rounds)
{
    for (int i = 0; i < tried->bounds_count; i++) {
        const struct fallback_bound *bound = &tried->bounds[i];
        if (!explore_end_answers(bound->end) && bound->clients <= clients &&
            bound->rounds <= rounds)
            return true;
    }
    return false;
}

static enum fail try_bound(const struct explore_options *given, int clients, int rounds,
                           unsigned wanted, struct explore_outcome *outcome, struct fallback *tried,
                           struct failure *failure)
{
    struct explore_outcome found;
    struct explore_options options = options_of(given, unknown_of(outcome, wanted));
    options.clients = clients;
    options.rounds = rounds;
    if (options.sought == 0 || is_over(given) || was_too_much(tried, clients, rounds))
        return FAIL_NONE;
    if (explore(&options, &found, failure))
        return failure->code;
    struct fallback_bound *bound = &tried->bounds[tried->bounds_count++];
    *bound = (struct fallback_bound){clients, rounds, found.end};
    take(outcome, &found, wanted, bound);
    return FAIL_NONE;
}

/* The smaller the sum, the sooner; alone a client breaks little: two, if there may be as many. */
static enum fail try_bounds(const struct explore_options *given, unsigned wanted,
                            struct explore_outcome *outcome, struct fallback *tried,
                            struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    struct explore_options options = *given;
    const int least = given->clients > 2 ? 2 : 1;
    options.deadline_us = half_deadline_us(given);
    for (int sum = least + 1; sum < given->clients + given->rounds; sum++)
        for (int clients = least; clients <= given->clients && !fail; clients++) {
            int rounds = sum - clients;
            if (rounds >= 1 && rounds <= given->rounds && tried->bounds_count < FALLBACK_BOUNDS_MAX)
                fail = try_bound(&options, clients, rounds, wanted, outcome, tried, failure);
        }
    return fail;
}

/* --- random runs --- */

static enum fail try_random(const struct explore_options *given, unsigned wanted,
                            struct explore_outcome *outcome, struct fallback *tried,
                            struct failure *failure)
{
    struct explore_outcome found;
    struct explore_options options = options_of(given, unknown_of(outcome, wanted));
    if (options.sought == 0 || is_over(given))
        return FAIL_NONE;
    options.search = SEARCH_RANDOM;
    enum fail fail = explore(&options, &found, failure);
    if (fail)
        return fail;
    tried->runs = found.runs;
    tried->seed = options.seed;
    take(outcome, &found, wanted, NULL);
    return FAIL_NONE;
}

enum fail fallback_search(const struct explore_options *options, unsigned wanted,
                          struct explore_outcome *outcome, struct fallback *tried,
                          struct failure *failure)
{
    *tried = (struct fallback){.is_due = true};
    enum fail fail = try_bounds(options, wanted, outcome, tried, failure);
    return fail ? fail : try_random(options, wanted, outcome, tried, failure);
}

/* --- words --- */

/* Is all of it within another bound that was searched, too? */
static bool is_within(const struct fallback *tried, int which)
{
    const struct fallback_bound *it = &tried->bounds[which];
    for (int i = 0; i < tried->bounds_count; i++) {
        const struct fallback_bound *other = &tried->bounds[i];
        if (i != which && explore_end_answers(other->end) && it->clients <= other->clients &&
            it->rounds <= other->rounds)
            return true;
    }
    return false;
}

const char *fallback_print(const struct fallback *tried, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < tried->bounds_count && used < size; i++) {
        const struct fallback_bound *bound = &tried->bounds[i];
        if (is_within(tried, i))
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%d client%s with %d round%s%s",
                                 used > 0 ? ", " : "", bound->clients, units_plural(bound->clients),
                                 bound->rounds, units_plural(bound->rounds),
                                 explore_end_answers(bound->end) ? "" : " in part");
    }
    if (tried->runs > 0 && used < size)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%llu random run%s with seed %llu",
                             used > 0 ? ", " : "", (unsigned long long)tried->runs,
                             units_plural((int64_t)tried->runs), (unsigned long long)tried->seed);
    if (used == 0)
        snprintf(text, size, "nothing: no time was left");
    return text;
}

bool fallback_is_same(const struct fallback *a, const struct fallback *b)
{
    char text_a[FALLBACK_TEXT_MAX], text_b[FALLBACK_TEXT_MAX];
    return a->is_due == b->is_due && strcmp(fallback_print(a, text_a, sizeof text_a),
                                            fallback_print(b, text_b, sizeof text_b)) == 0;
}
