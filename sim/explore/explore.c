/* explore.c - see explore.h: one search from its options to its outcome. */
#include "explore/explore.h"

#include "explore/random.h"
#include "explore/search.h"
#include "explore/translate.h"
#include "explore/witness.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const searches[SEARCH_COUNT] = {"exhaustive", "random", "pct"};

const char *explore_search_name(enum explore_search search)
{
    assert((unsigned)search < SEARCH_COUNT);
    return searches[search];
}

bool explore_search_read(const char *name, enum explore_search *search)
{
    for (int i = 0; i < SEARCH_COUNT; i++) {
        if (strcmp(searches[i], name) != 0)
            continue;
        *search = (enum explore_search)i;
        return true;
    }
    return false;
}

const char *explore_end_words(enum explore_end end)
{
    switch (end) {
    case END_COMPLETE:
        return "every state was visited";
    case END_STATES:
        return "the limit of states was reached";
    case END_BYTES:
        return "the limit of memory was reached";
    case END_TIME:
        return "the time was up";
    case END_UNSUPPORTED:
        return "the scheme needs a command that this server does not know";
    case END_ENOUGH:
        return "nothing was left to look for";
    case END_RUNS:
        return "all runs were made";
    case END_BREACH:
        return "the scheme broke a rule";
    case END_STALE:
        return "1000 runs brought no new state";
    }
    return "";
}

static const char *const sections[] = {
    [SECTION_NOTHING] = "none", [SECTION_WRITE] = "write", [SECTION_COUNTER] = "counter"};

const char *section_name(enum section section)
{
    assert((unsigned)section < SECTION_COUNT);
    return sections[section];
}

bool section_read(const char *name, enum section *section)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (strcmp(sections[i], name) != 0)
            continue;
        *section = (enum section)i;
        return true;
    }
    return false;
}

bool explore_judges(enum section section, enum property property)
{
    switch (property) {
    case PROPERTY_FENCE_ORDER:
        return section == SECTION_WRITE;
    case PROPERTY_NO_LOST_UPDATE:
        return section == SECTION_COUNTER;
    default:
        return true;
    }
}

/* --- options --- */

static enum fail bound(const char *what, int64_t value, int64_t least, int64_t most,
                       struct failure *failure)
{
    if (value >= least && value <= most)
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "%s wants %lld to %lld, not %lld", what,
                       (long long)least, (long long)most, (long long)value);
}

static enum fail options_read(const struct explore_options *given, struct explore_options *options,
                              struct failure *failure)
{
    int sum = 0;
    *options = *given;
    for (int i = 0; i < FAULT_COUNT; i++)
        sum += options->budget[i];
    /* Two ticks are enough to tell "in time" from "too late"; timers at a third of the lease need
     * three. */
    if (options->lease_ticks == 0)
        options->lease_ticks = options->scheme->promises_notice ? 3 : 2;
    /* Of one that tells servers apart none may be exchanged. */
    if (options->servers > 1 && !options->scheme->is_even_handed)
        options->reductions &= ~(unsigned)REDUCE_SERVERS;
    enum fail fail = bound("clients", options->clients, 1, EXPLORE_CLIENTS_MAX, failure);
    if (!fail)
        fail = bound("rounds", options->rounds, 1, EXPLORE_ROUNDS_MAX, failure);
    if (!fail)
        fail = bound("servers", options->servers, 1, SERVERS_MAX, failure);
    if (!fail)
        fail = bound("lease", options->lease_ticks, 1, 8, failure);
    if (!fail)
        fail = bound("faults", sum, 0, EXPLORE_FAULTS_MAX, failure);
    return fail;
}

/* --- the outcome --- */

bool explore_promises(const struct explore_options *options, enum property property)
{
    const struct scheme *scheme = options->scheme;
    switch (property) {
    case PROPERTY_PROGRESS:
        return !options->skips_progress;
    case PROPERTY_ALWAYS_EXPIRES:
        return scheme->promises_expiry;
    case PROPERTY_NO_ORPHAN:
        return scheme->promises_token;
    case PROPERTY_LOSS_NOTICE:
        return scheme->promises_notice;
    default:
        return explore_judges(options->section, property);
    }
}

static void outcome_open(struct explore_outcome *outcome, const struct explore_options *options)
{
    struct setting setting;
    setting_init(&setting, options);
    memset(outcome, 0, sizeof *outcome);
    outcome->lease_ticks = setting.ttl;
    outcome->lease_us = translate_lease_us(&setting);
    outcome->same_token = setting.is_collision ? (1u << setting.clients) - 1 : 0;
    outcome->has_replica = setting.has_replica;
}

static void outcome_fill(struct search *search, struct explore_outcome *outcome)
{
    double states = (double)search->visited.count;
    outcome->end = search->end;
    outcome->states = search->visited.count;
    outcome->transitions = search->transitions;
    outcome->depth = search->depth;
    outcome->bytes = search->bytes;
    outcome->lost = search->visited.has_full_states ? 0 : states * states / 36893488147419103232.0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct explore_finding *finding = &outcome->findings[i];
        if (search->sightings[i].state != VISITED_NONE) {
            finding->verdict = VERDICT_VIOLATED;
            finding->is_shortest = true;
            witness_build(search, &search->sightings[i], finding);
        } else {
            bool is_sure =
                search->end == END_COMPLETE && explore_promises(search->options, (enum property)i);
            finding->verdict = is_sure ? VERDICT_HOLDS : VERDICT_UNKNOWN;
        }
    }
}

/* All that is sought was found, and nothing shorter can come. */
static bool has_found_all(void *context, const struct search *search, int faults, int depth)
{
    (void)context;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (search->options->sought >> i & 1 &&
            !sighting_is_final(&search->sightings[i], faults, depth))
            return false;
    return true;
}

static enum fail explore_all(const struct explore_options *options, struct explore_outcome *outcome,
                             struct failure *failure)
{
    struct search search;
    enum fail fail = FAIL_NONE;
    search_init(&search, options);
    search.is_enough = options->sought ? has_found_all : NULL;
    search_run(&search);
    if (search.end == END_COMPLETE && search.keeps_edges)
        search_progress(&search);
    if (search.space.breach)
        fail = space_fail(&search.space, failure);
    else
        outcome_fill(&search, outcome);
    search_close(&search);
    return fail;
}

enum fail explore(const struct explore_options *given, struct explore_outcome *outcome,
                  struct failure *failure)
{
    struct explore_options options;
    memset(outcome, 0, sizeof *outcome);
    if (options_read(given, &options, failure))
        return FAIL_INPUT;
    outcome_open(outcome, &options);
    if (options.search == SEARCH_EXHAUSTIVE)
        return explore_all(&options, outcome, failure);
    return random_search(&options, outcome, failure);
}

void explore_outcome_free(struct explore_outcome *outcome)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        free(outcome->findings[i].choices);
    memset(outcome, 0, sizeof *outcome);
}
