/* explore.c - see explore.h: one search from its options to its outcome. */
#include "explore/search/explore.h"

#include "explore/model/faults/fault.h"
#include "explore/reduce/partial_order.h"
#include "explore/search/random.h"
#include "explore/search/bfs.h"
#include "explore/search/iterative.h"
#include "explore/search/schedule.h"
#include "explore/search/witness.h"

#include <stdlib.h>
#include <string.h>

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
    case END_STOPPED:
        return "it was interrupted";
    case END_UNSUPPORTED:
        return "the scheme needs a command that this server does not know";
    case END_ENOUGH:
        return "nothing was left to look for";
    case END_RUNS:
        return "all runs were made";
    case END_CONTRACT:
        return "the scheme broke a rule";
    case END_NOT_MODELLED:
        return "such a fault cannot strike these clients";
    case END_ALONE:
        return "only one client";
    case END_UNANSWERED:
        return "not decided by asking";
    case END_STALE:
        return "1000 runs brought no new state";
    }
    return "";
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

static void outcome_open(struct explore_outcome *outcome, const struct explore_options *options)
{
    struct config config;
    config_init(&config, options);
    fault_prepare(&config, options);
    memset(outcome, 0, sizeof *outcome);
    outcome->lease_ticks = config.ttl;
    outcome->lease_us = translate_lease_us(&config);
    outcome->same_token = config.is_collision ? (1u << config.clients) - 1 : 0;
    outcome->has_replica = config.has_replica || config.scheme->needs_replica;
    outcome->seen_faults = outcome->seen_events = -1;
}

/* Of several searches one that was cut short is enough to leave the outcome open. */
static void outcome_add(const struct search *search, struct explore_outcome *outcome)
{
    double states = (double)search->visited.count;
    if (explore_end_answers(outcome->end))
        outcome->end = search->end;
    outcome->states += search->visited.count;
    outcome->transitions += search->transitions;
    outcome->lost += search->visited.has_full_states ? 0 : states * states / 36893488147419103232.0;
    if (search->depth > outcome->depth)
        outcome->depth = search->depth;
    if (search->bytes > outcome->bytes)
        outcome->bytes = search->bytes;
}

static bool is_violated(const struct search *search, int property)
{
    return search->first_violations[property].state != STATE_NONE;
}

/* What was not found violated; what was stays unknown until there is a way to it. */
static void outcome_judge(const struct search *search, struct explore_outcome *outcome)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        bool is_sure = search->end == END_COMPLETE && !is_violated(search, i) &&
                       explore_promises(search->options, (enum property)i);
        outcome->findings[i].verdict = is_sure ? VERDICT_HOLDS : VERDICT_UNKNOWN;
    }
}

/* Can nothing shorter be left that the search did not come to? */
static bool is_proved_shortest(const struct search *search, const struct violation *violation)
{
    return explore_end_answers(search->end) ||
           violation_is_final(violation, search->layer, search->layer_depth);
}

/* The shortest paths, where none as short is known. */
static void outcome_build(struct search *search, struct explore_outcome *outcome)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct violation *violation = &search->first_violations[i];
        struct explore_finding *finding = &outcome->findings[i];
        bool is_known = finding->verdict == VERDICT_VIOLATED &&
                        finding->faults <= violation->faults &&
                        finding->events <= violation->events;
        if (!is_violated(search, i) || is_known)
            continue;
        free(finding->choices);
        *finding = (struct explore_finding){.verdict = VERDICT_VIOLATED,
                                            .is_shortest = is_proved_shortest(search, violation)};
        witness_build(search, violation, finding);
    }
}

/* All that is sought was found, and nothing shorter can come. */
static bool has_found_all(void *context, const struct search *search, int faults, int depth)
{
    (void)context;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (search->options->sought >> i & 1 &&
            !violation_is_final(&search->first_violations[i], faults, depth))
            return false;
    return true;
}

/* Every state, or up to the shortest path to all that is sought. */
static void search_all(struct search *search)
{
    search->is_enough = search->options->sought ? has_found_all : NULL;
    search_run(search);
    if (search->end == END_COMPLETE && search->keeps_edges)
        search_progress(search);
}

/* Adds what was found; closes the search. */
static enum fail outcome_take(struct search *search, struct explore_outcome *outcome,
                              struct failure *failure)
{
    enum fail fail = search->space.violation ? space_fail(&search->space, failure) : FAIL_NONE;
    outcome_add(search, outcome);
    outcome->has_guessed |= search->space.has_guessed;
    if (!fail && !outcome->has_guessed)
        outcome_build(search, outcome);
    search_close(search);
    return fail;
}

static enum fail explore_all(const struct explore_options *options, bool is_judge,
                             struct explore_outcome *outcome, struct failure *failure)
{
    struct search search;
    search_init(&search, options);
    search_all(&search);
    if (is_judge)
        outcome_judge(&search, outcome);
    if (is_judge && !explore_end_answers(search.end)) {
        outcome->seen_faults = search.layer;
        outcome->seen_events = search.layer_depth;
    }
    return outcome_take(&search, outcome, failure);
}

/* --- quorums: first what is violated, then the shortest path to it --- */

/* What a search in one order for many has found, by the fewest faults. */
struct violations {
    bool is_good; /* else the scheme is not one for that, and nothing was learnt */
    enum explore_end end;
    unsigned of_faults[EXPLORE_FAULTS_MAX + 1]; /* bit a property */
    unsigned all;
    unsigned by_leftover; /* these properties, and in no other way: bits */
};

/* Is all that is sought violated, by the fewest faults, no matter how? */
static bool has_seen_all(void *context, const struct search *search, int faults, int depth)
{
    (void)context;
    (void)depth;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (search->options->sought >> i & 1 &&
            (!is_violated(search, i) || search->first_violations[i].faults > faults ||
             search->first_violations[i].is_by_leftover))
            return false;
    return true;
}

static void violations_read(const struct search *search, struct violations *violations)
{
    violations->by_leftover = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        unsigned bit = 1u << i;
        if (!is_violated(search, i) ||
            (search->options->sought && !(search->options->sought & bit)))
            continue;
        violations->all |= bit;
        violations->by_leftover |= search->first_violations[i].is_by_leftover ? bit : 0;
        violations->of_faults[search->first_violations[i].faults] |= bit;
    }
}

static void explore_partial_order(const struct explore_options *given, bool is_judge,
                                  struct violations *violations, struct explore_outcome *outcome)
{
    struct search search;
    struct explore_options options = *given;
    memset(violations, 0, sizeof *violations);
    /* What is found needs time for its shortest path. */
    if (given->deadline_us && given->now_us)
        options.deadline_us -= (given->deadline_us - given->now_us()) / 2;
    search_init(&search, &options);
    search_partial_order(&search);
    search.is_enough = options.sought ? has_seen_all : NULL;
    search_run(&search);
    violations->is_good =
        !search.is_precondition_violated && !search.space.violation && !search.space.has_guessed;
    violations->end = search.end;
    if (violations->is_good) {
        if (search.end == END_COMPLETE && search.keeps_edges)
            search_progress(&search);
        outcome_add(&search, outcome);
        if (is_judge)
            outcome_judge(&search, outcome);
        violations_read(&search, violations);
    }
    search_close(&search);
}

/* The shortest paths to what is sought, which takes so many faults. Where distances are known, ways
 * little longer than seems possible are looked for first: most states are too far away to be on
 * one. */
static enum fail find_sought(const struct explore_options *options, int faults,
                             struct explore_outcome *outcome, struct failure *failure)
{
    struct iterative rounds;
    bool goes_on = iterative_open(&rounds, options, faults);
    while (goes_on) {
        struct search search;
        iterative_begin(&rounds, &search);
        search_all(&search);
        goes_on = iterative_goes_on(&rounds, &search,
                                    has_found_all(NULL, &search, EXPLORE_FAULTS_MAX + 1, 0));
        if (outcome_take(&search, outcome, failure))
            return failure->code;
    }
    return rounds.is_over ? FAIL_NONE : explore_all(options, false, outcome, failure);
}

/* With one fault it is one or the other: fewer ways than with both at hand. */
static enum fail find_with_one(const struct explore_options *given, const struct violations *all,
                               struct explore_outcome *outcome, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < FAULT_COUNT && !fail; i++) {
        struct explore_options options = *given;
        if (given->budget[i] == 0 || fault_blame((enum fault)i) == FAULT_OF_RUN)
            continue;
        for (int k = 0; k < FAULT_COUNT; k++)
            if (fault_blame((enum fault)k) != FAULT_OF_RUN)
                options.budget[k] = k == i;
        struct violations violations = *all;
        options.sought = all->of_faults[1];
        if (memcmp(options.budget, given->budget, sizeof options.budget) != 0)
            explore_partial_order(&options, false, &violations, outcome);
        options.sought = violations.all & all->of_faults[1];
        if (options.sought)
            fail = find_sought(&options, 1, outcome, failure);
    }
    return fail;
}

/* The shortest paths to what is violated. */
static enum fail find_shortest(const struct explore_options *given,
                               const struct violations *violations, struct explore_outcome *outcome,
                               struct failure *failure)
{
    struct explore_options options = *given;
    enum fail fail = FAIL_NONE;
    options.skips_progress = true;
    options.leftovers = LEFTOVERS_NEVER;
    options.leftovers_too = violations->by_leftover;
    for (int faults = 0; faults <= EXPLORE_FAULTS_MAX && !fail; faults++) {
        options.sought = violations->of_faults[faults];
        if (options.sought && faults == 1)
            fail = find_with_one(&options, violations, outcome, failure);
        else if (options.sought)
            fail = find_sought(&options, faults, outcome, failure);
    }
    return fail;
}

static enum fail explore_quorum(const struct explore_options *given,
                                struct explore_outcome *outcome, struct failure *failure)
{
    struct violations violations;
    explore_partial_order(given, true, &violations, outcome);
    /* The first stuck state is known only when all were visited. */
    if (!violations.is_good || violations.all >> PROPERTY_PROGRESS & 1)
        return explore_all(given, true, outcome, failure);
    enum fail fail = find_shortest(given, &violations, outcome, failure);
    if (explore_end_answers(outcome->end))
        outcome->end = violations.end;
    /* Which search was cut short is not known here: what it had not come to may be shorter. */
    for (int i = 0; i < PROPERTY_COUNT && !explore_end_answers(outcome->end); i++)
        outcome->findings[i].is_shortest &= outcome->findings[i].faults == 0;
    return fail;
}

static enum fail explore_any(const struct explore_options *options, struct explore_outcome *outcome,
                             struct failure *failure)
{
    outcome_open(outcome, options);
    if (options->search != SEARCH_EXHAUSTIVE)
        return random_search(options, outcome, failure);
    if (partial_order_suits(options))
        return explore_quorum(options, outcome, failure);
    return explore_all(options, true, outcome, failure);
}

enum fail explore(const struct explore_options *given, struct explore_outcome *outcome,
                  struct failure *failure)
{
    struct explore_options options;
    memset(outcome, 0, sizeof *outcome);
    if (options_read(given, &options, failure))
        return FAIL_INPUT;
    enum fail fail = explore_any(&options, outcome, failure);
    if (fail || !outcome->has_guessed)
        return fail;
    explore_outcome_free(outcome);
    options.judges_guesses = true;
    return explore_any(&options, outcome, failure);
}

void explore_outcome_free(struct explore_outcome *outcome)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        free(outcome->findings[i].choices);
    memset(outcome, 0, sizeof *outcome);
}
