/* test_persistent_sets.c - what a persistent set leaves out (reduce/persistent_sets.h) commutes
 * with what is in it, and nothing is left out for ever. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/enabled.h"
#include "test/probe.h"

#include "explore/graph/apply.h"
#include "explore/graph/properties.h"
#include "explore/reduce/persistent_sets.h"

#include <stdlib.h>
#include <string.h>

/* --- what is left out commutes with what is in the set --- */

enum { STATES = 3000 };

struct set_trial {
    struct breadth breadth;
    struct enabled_list enabled;
    int sets, single_sets; /* that were looked at; the latter of states that are not kept */
};

static struct set_trial *watched;

/* A client that hears its replies in one batch hears the rest of them. */
static void hear_on(struct state_space *space, uint32_t *client_state)
{
    while (space_client(space, *client_state)->is_hearing) {
        uint32_t m = space_client(space, *client_state)->actions_start;
        while (space->actions[m].hearing != HEARD_IN_BATCH)
            m++;
        *client_state = space->actions[m].to;
    }
}

/* What it does to the state, and nothing that follows. */
static void apply_bare(struct state_space *space, uint32_t *words, const struct enabled *it)
{
    const int clients = space->config.clients;
    uint32_t before[WORDS_MAX];
    memcpy(before, words, sizeof before);
    if (it->action.kind == ACTION_ARRIVE) {
        unsigned observed = space_arrive(space, &words[it->client], it->action.message,
                                         &words[clients + it->server], it->client);
        if (observed & COUNTER_WRITTEN)
            space_recount_others(space, words, it->client);
    } else if (it->client >= 0) {
        words[it->client] = it->action.to;
        hear_on(space, &words[it->client]);
    } else {
        words[clients + it->server] = it->action.to;
        for (int i = 0; i < clients && it->action.did & DID_DISCONNECT; i++)
            words[i] = space_break(space, words[i], it->server,
                                   properties_brings_back(space, before, words, i, it->server));
    }
}

/* Budgets apart. */
static bool do_commute(struct state_space *space, const uint32_t *words, const struct enabled *one,
                       const struct enabled *other)
{
    uint32_t one_way[WORDS_MAX], other_way[WORDS_MAX];
    struct enabled second;
    memcpy(one_way, words, sizeof one_way);
    memcpy(other_way, words, sizeof other_way);
    apply_bare(space, one_way, one);
    if (!enabled_again(space, one_way, other, &second))
        return false;
    apply_bare(space, one_way, &second);
    apply_bare(space, other_way, other);
    if (!enabled_again(space, other_way, one, &second))
        return false;
    apply_bare(space, other_way, &second);
    return !memcmp(one_way, other_way, (size_t)(space_words(space) - 1) * sizeof *one_way);
}

static bool is_selected(const struct state_space *space, const uint32_t *words,
                        const struct selection *selections, int count, const struct enabled *it)
{
    uint32_t word = words[it->client >= 0 ? it->client : space->config.clients + it->server];
    uint32_t start = it->client >= 0 ? space->client_facts[word].actions_start
                                     : space->server_facts[word].actions_start;
    for (int i = 0; i < count; i++)
        if (selections[i].client == it->client &&
            (it->client >= 0 || selections[i].server == it->server) &&
            selections[i].action == start + (uint32_t)it->at)
            return true;
    return false;
}

/* In a set: what clients do, and what arrives. Strikes at clients have a time of their own, and
 * what breaks connections is in the set so that it may come before. */
static bool is_judged(const struct enabled *in, const struct enabled *out)
{
    bool is_strike = out->action.kind == ACTION_INJECT && out->client >= 0;
    return in->action.kind != ACTION_INJECT && in->action.kind != ACTION_DELAYED && !is_strike &&
           out->action.hearing != HEARD_ONE_BY_ONE && !enabled_is_of_same(in, out);
}

static void check_set(struct set_trial *trial, const uint32_t *words,
                      const struct selection *selections, int count)
{
    struct state_space *space = &trial->breadth.space;
    const struct enabled_list *list = &trial->enabled;
    bool is_in[ENABLED_MAX] = {0};
    enabled_read(&trial->enabled, &trial->breadth.successors, words);
    for (int i = 0; i < list->count; i++)
        is_in[i] = is_selected(space, words, selections, count, &list->of[i]);
    for (int i = 0; i < list->count && count > 0; i++)
        for (int k = 0; k < list->count; k++)
            if (is_in[i] && !is_in[k] && is_judged(&list->of[i], &list->of[k]))
                assert_true(do_commute(space, words, &list->of[i], &list->of[k]));
    trial->sets++;
}

static bool has_hearing(struct state_space *space, const uint32_t *words)
{
    for (int i = 0; i < space->config.clients; i++)
        if (space_client(space, words[i])->is_hearing)
            return true;
    return false;
}

/* Where only one thing can happen the state is not kept: its set is seen here (Makefile). */
bool __real_persistent_sets_only(struct state_space *space, const uint32_t *words,
                                 uint32_t affordable, struct selection *selection);
bool __wrap_persistent_sets_only(struct state_space *space, const uint32_t *words,
                                 uint32_t affordable, struct selection *selection);

bool __wrap_persistent_sets_only(struct state_space *space, const uint32_t *words,
                                 uint32_t affordable, struct selection *selection)
{
    bool is_only = __real_persistent_sets_only(space, words, affordable, selection);
    if (is_only && watched && !has_hearing(space, words)) {
        const struct selection only = *selection;
        check_set(watched, words, &only, 1);
        watched->single_sets++;
    }
    return is_only;
}

static void put(void *context, const struct successor *step)
{
    struct set_trial *trial = context;
    breadth_put(&trial->breadth, step->words);
}

static void check_sets(struct set_trial *trial, const struct explore_options *options)
{
    struct breadth *it = &trial->breadth;
    breadth_open(it, options, put, trial);
    it->space.config.has_partial_order = true;
    while (breadth_next(it, STATES)) {
        struct selection selections[SELECTIONS_MAX];
        const struct expansion expansion = {.successors = &it->successors, .space = &it->space};
        uint32_t budget = it->words[space_words(&it->space) - 1];
        bool is_reduced = !apply_wants_every_order(&expansion, it->words);
        int count = is_reduced
                        ? persistent_sets_list(&it->space, it->words,
                                               apply_affordable(&expansion, budget), selections)
                        : 0;
        check_set(trial, it->words, selections, count);
        successors_expand(&it->successors, it->words);
    }
    breadth_close(it);
}

static void a_set_is_persistent(void **state)
{
    static struct set_trial trial;
    (void)state;
    memset(&trial, 0, sizeof trial);
    watched = &trial;
    for (int fault = 0; fault < FAULT_COUNT; fault++) {
        struct explore_options options =
            probe_options(scheme_named("redlock"), (enum fault)fault, FAULT_LOSE_REQUEST);
        options.rounds = 2;
        check_sets(&trial, &options);
        options.section = SECTION_COUNTER;
        check_sets(&trial, &options);
    }
    watched = NULL;
    assert_true(trial.sets > 10000 && trial.single_sets > 1000);
}

/* --- nothing is put off for ever --- */

enum { EDGES_MAX = 1 << 20 };

struct cycle_trial {
    struct breadth breadth;
    uint32_t from[EDGES_MAX], to[EDGES_MAX];
    int edges, waiting; /* waiting: states, for each client with a request on its way */
};

static void put_edge(void *context, const struct successor *step)
{
    struct cycle_trial *trial = context;
    struct fingerprint_set *visited = &trial->breadth.visited;
    bool is_new;
    assert_true(trial->edges < EDGES_MAX);
    trial->from[trial->edges] = trial->breadth.next - 1;
    trial->to[trial->edges++] =
        fingerprint_set_put(visited, fingerprint_of(visited, step->words), step->words, 0, &is_new);
}

static bool is_waiting(struct cycle_trial *trial, uint32_t state, int client)
{
    const uint32_t *words = fingerprint_set_words(&trial->breadth.visited, state);
    return space_client(&trial->breadth.space, words[client])->order.asked;
}

/* From where a state is reached in which that client waits for no request to be executed:
 * backwards, until nothing is added. */
static void check_cycles(struct cycle_trial *trial, int client)
{
    uint32_t count = (uint32_t)trial->breadth.visited.count;
    bool *ends = calloc(count, sizeof *ends), has_more = true;
    assert_non_null(ends);
    for (uint32_t i = 0; i < count; i++) {
        ends[i] = !is_waiting(trial, i, client);
        trial->waiting += !ends[i];
    }
    while (has_more) {
        has_more = false;
        for (int i = trial->edges - 1; i >= 0; i--)
            if (ends[trial->to[i]] && !ends[trial->from[i]])
                has_more = ends[trial->from[i]] = true;
    }
    for (uint32_t i = 0; i < count; i++)
        assert_true(ends[i]);
    free(ends);
}

/* Clients may be refused and ask again for ever, at no cost: the reduced graph has cycles. From
 * each of their states there is a way to the execution of each request (the proviso C3). */
static void nothing_is_put_off_for_ever(void **state)
{
    static struct cycle_trial trial;
    static const enum fault faults[] = {FAULT_LATE_REQUEST, FAULT_RESTART, FAULT_LOSE_REPLY};
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct explore_options options = probe_options(scheme_named("redlock"), faults[i], NOTHING);
        struct breadth *it = &trial.breadth;
        options.reductions = REDUCE_EAGER | REDUCE_ORDER;
        trial.edges = 0;
        breadth_open(it, &options, put_edge, &trial);
        it->space.config.has_partial_order = true;
        while (breadth_next(it, UINT32_MAX))
            successors_expand(&it->successors, it->words);
        for (int client = 0; client < options.clients; client++)
            check_cycles(&trial, client);
        breadth_close(it);
    }
    assert_true(trial.waiting > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_persistent),
        cmocka_unit_test(nothing_is_put_off_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
