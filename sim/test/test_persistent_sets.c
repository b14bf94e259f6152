/* test_persistent_sets.c - the conditions of the partial-order reduction (reduce/partial_order.h,
 * persistent_sets.h): what a set leaves out commutes with what is in it; what is counted, struck or
 * dropped early is so later; and a scheme that is not as it promises is searched in every order. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/enabled.h"
#include "test/probe.h"

#include "explore/graph/apply.h"
#include "explore/reduce/partial_order.h"
#include "explore/reduce/persistent_sets.h"

#include <stdlib.h>

static const enum fault NOTHING = (enum fault)NONE;

static struct explore_options options_for(const struct scheme *scheme, enum fault one,
                                          enum fault other)
{
    struct explore_options options = {
        .scheme = scheme, .clients = 2, .rounds = 1, .servers = 3, .lease_ticks = 2};
    options.reductions = REDUCE_ALL;
    if (one != NOTHING)
        options.budget[one]++;
    if (other != NOTHING)
        options.budget[other]++;
    return options;
}

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
            words[i] = space_break(space, words[i], it->server);
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
            options_for(scheme_named("redlock"), (enum fault)fault, FAULT_LOSE_REQUEST);
        options.rounds = 2;
        options.section = fault % 2 ? SECTION_COUNTER : SECTION_NOTHING;
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
        struct explore_options options = options_for(scheme_named("redlock"), faults[i], NOTHING);
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

/* --- what one client sees --- */

enum step { START, ASKED, ASKED_AGAIN, HELD };

static struct {
    enum verb verbs[2]; /* asked of all, one after the other; twice the same: once */
    int yes, lost;      /* what it looks for at the end */
    int before;         /* and of what was asked first; 0: anything */
} wanted;

static void by_counts(void *state, const struct lease *lease, const struct moment *in,
                      struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, wanted.verbs[0], lease, out);
    while (self->heard < lease->servers) {
        AWAIT(self, ASKED);
        probe_count(self, lease, in);
    }
    if (wanted.verbs[1] != wanted.verbs[0]) {
        probe_ask(self, wanted.verbs[1], lease, out);
        while (self->heard < lease->servers) {
            AWAIT(self, ASKED_AGAIN);
            probe_count(self, lease, in);
        }
    }
    probe_end(self->yes == wanted.yes && self->lost == wanted.lost &&
                  (!wanted.before || self->before == wanted.before),
              out);
    SCRIPT_END(self);
}

static void expect_counts(enum verb first, enum verb second, int yes, int lost, enum fault one,
                          enum fault other)
{
    const struct scheme scheme = probe_scheme("probe", by_counts);
    struct explore_options options = options_for(&scheme, one, other);
    wanted.verbs[0] = first;
    wanted.verbs[1] = second;
    wanted.yes = yes;
    wanted.lost = lost;
    assert_true(partial_order_suits(&options));
    probe_is_seen(&options, REDUCE_ALL);
}

/* Replies that could be lost are unheard until none can be any more; then all but the last one are
 * counted. */
static void the_last_reply_decides(void **state)
{
    (void)state;
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 2, 1, FAULT_LOSE_REPLY, NOTHING);
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 2, 1, FAULT_RESTART, NOTHING);
}

/* A failover breaks the connection on which a reply is, and keeps the key. */
static void a_reply_may_be_lost_by_a_failover(void **state)
{
    (void)state;
    wanted.before = 21;
    expect_counts(VERB_SET_NX_PX, VERB_GET, 3, 0, FAULT_FAILOVER, NOTHING);
    wanted.before = 0;
}

/* Where one is lost, and two more may be. */
static void all_replies_may_be_lost(void **state)
{
    const struct scheme scheme = probe_scheme("probe", by_counts);
    struct explore_options options = options_for(&scheme, FAULT_LOSE_REPLY, FAULT_LOSE_REQUEST);
    (void)state;
    options.budget[FAULT_LOSE_REPLY]++;
    options.clients = 1;
    wanted.verbs[0] = wanted.verbs[1] = VERB_SET_NX_PX;
    wanted.yes = 0;
    wanted.lost = 3;
    probe_is_seen(&options, REDUCE_ALL);
    options.budget[FAULT_LOSE_REQUEST] = 0;
    options.budget[FAULT_LOSE_REPLY] = 3;
    probe_is_seen(&options, REDUCE_ALL);
}

static void a_request_is_lost_before_others_are_executed(void **state)
{
    (void)state;
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 2, 1, FAULT_LOSE_REQUEST, NOTHING);
    expect_counts(VERB_COMPARE_EXPIRE, VERB_COMPARE_EXPIRE, 0, 1, FAULT_LATE_REQUEST, NOTHING);
}

static void a_reply_is_lost_when_all_requests_are_executed(void **state)
{
    (void)state;
    expect_counts(VERB_COMPARE_EXPIRE, VERB_COMPARE_EXPIRE, 0, 1, FAULT_LATE_REPLY, NOTHING);
    expect_counts(VERB_COMPARE_EXPIRE, VERB_COMPARE_EXPIRE, 0, 1, FAULT_LOSE_REPLY, NOTHING);
}

/* One of two is granted by some servers, and refused by others. */
static void servers_are_asked_in_different_orders(void **state)
{
    (void)state;
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 1, 0, FAULT_STALL, NOTHING);
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 2, 0, NOTHING, NOTHING);
    expect_counts(VERB_SET_NX_PX, VERB_DEL, 2, 0, NOTHING, NOTHING);
    expect_counts(VERB_SET_NX_PX, VERB_GET, 1, 0, FAULT_LATE_REPLY, NOTHING);
}

/* --- what is not as it promises --- */

static void expect_every_order(const struct scheme *scheme, int servers, enum fault fault)
{
    struct explore_options options = options_for(scheme, fault, NOTHING);
    struct explore_outcome each, some;
    options.servers = servers;
    options.reductions = REDUCE_ALL & ~(unsigned)REDUCE_ORDER;
    run(&options, &each);
    options.reductions = REDUCE_ALL;
    assert_true(partial_order_suits(&options));
    run(&options, &some);
    assert_int_equal(some.states, each.states);
    assert_int_equal(differences("every order", &options, &each, &some), 0);
    explore_outcome_free(&each);
    explore_outcome_free(&some);
}

/* Acts at once, while it waits for all. */
static void by_timer(void *state, const struct lease *lease, const struct moment *in,
                     struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    out_sleep(out, 0);
    while (in->kind != MOMENT_WAKE) {
        AWAIT(self, ASKED);
        self->heard += in->kind != MOMENT_WAKE;
    }
    while (self->heard < lease->servers) {
        AWAIT(self, ASKED_AGAIN);
        self->heard++;
    }
    out_failed(out);
    SCRIPT_END(self);
}

/* Sends anew where a connection is lost, or a request is late. */
static void by_loss(void *state, const struct lease *lease, const struct moment *in,
                    struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    while (self->heard < lease->servers + self->lost) {
        AWAIT(self, ASKED);
        self->heard++;
        if (in->kind == MOMENT_LOST || in->kind == MOMENT_TIMEOUT) {
            self->lost++;
            out_get(out, in->server);
        }
    }
    out_failed(out);
    SCRIPT_END(self);
}

static void who_acts_while_he_waits_is_searched_in_every_order(void **state)
{
    struct scheme scheme = probe_scheme("by-timer", by_timer);
    (void)state;
    expect_every_order(&scheme, 3, NOTHING);
    scheme = probe_scheme("by-loss", by_loss);
    expect_every_order(&scheme, 2, FAULT_LOSE_REQUEST);
    expect_every_order(&scheme, 2, FAULT_LATE_REQUEST);
}

/* Asks all servers while it holds the lock. */
static void while_holding(void *state, const struct lease *lease, const struct moment *in,
                          struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    out_granted(out);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    while (in->kind != MOMENT_RELEASE)
        AWAIT(self, HELD);
    out_released(out);
    SCRIPT_END(self);
}

static void who_asks_while_he_holds_is_searched_in_every_order(void **state)
{
    const struct scheme scheme = probe_scheme("while-holding", while_holding);
    (void)state;
    expect_every_order(&scheme, 3, NOTHING);
}

/* Writes what it has read. */
static void by_copy(void *state, const struct lease *lease, const struct moment *in,
                    struct outbox *out)
{
    struct probe *self = state;
    struct lease others = *lease;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    while (self->heard < lease->servers) {
        AWAIT(self, ASKED);
        self->heard++;
    }
    probe_ask(self, VERB_GET, lease, out);
    while (self->heard < lease->servers) {
        AWAIT(self, ASKED_AGAIN);
        self->heard++;
        if (moment_is_reply(in, REPLY_VALUE))
            self->read = in->reply.value;
    }
    others.token = self->read;
    probe_ask(self, VERB_SET_NX_PX, &others, out);
    while (self->heard < lease->servers) {
        AWAIT(self, HELD);
        self->heard++;
    }
    out_failed(out);
    SCRIPT_END(self);
}

static void who_writes_another_s_token_is_searched_in_every_order(void **state)
{
    const struct scheme scheme = probe_scheme("by-copy", by_copy);
    (void)state;
    expect_every_order(&scheme, 3, NOTHING);
}

/* --- what is dropped would have done nothing --- */

struct drop_trial {
    struct breadth breadth;
    int dropped; /* messages, and their steps */
};

static bool is_there(struct state_space *space, uint32_t client_state,
                     const struct packed_message *message)
{
    struct client_state it;
    space_read_client(space, client_state, &it);
    for (int i = 0; i < it.count; i++)
        if (it.messages[i].server == message->server && it.messages[i].value == message->value &&
            it.messages[i].verb == message->verb && message_is_abandoned(&it.messages[i]))
            return true;
    return false;
}

/* Does that client's message go, by the reduction? */
static bool is_dropped(struct state_space *space, const uint32_t *words, int client,
                       const struct packed_message *message)
{
    uint32_t after = partial_order_drop_abandoned(space, words[client], client, message->server,
                                                  words[space->config.clients + message->server]);
    return is_there(space, words[client], message) && !is_there(space, after, message);
}

/* A message that is dropped changes nothing when it arrives, and after any other step it would be
 * dropped, too. */
static void check_dropped(struct drop_trial *trial, const struct successor *step, int client,
                          int message, const struct packed_message *it)
{
    struct state_space *space = &trial->breadth.space;
    const int server = space->config.clients + it->server;
    if (!is_dropped(space, trial->breadth.words, client, it))
        return;
    trial->dropped++;
    if (step->kind == ACTION_ARRIVE && step->client == client && step->message == message)
        assert_true(step->words[server] == trial->breadth.words[server] && !step->violated);
    if (is_there(space, step->words[client], it))
        assert_true(is_dropped(space, step->words, client, it));
}

static void take_any(void *context, const struct successor *step)
{
    struct drop_trial *trial = context;
    for (int i = 0; i < trial->breadth.space.config.clients; i++) {
        struct client_state before;
        space_read_client(&trial->breadth.space, trial->breadth.words[i], &before);
        for (int m = 0; m < before.count; m++)
            check_dropped(trial, step, i, m, &before.messages[m]);
    }
    breadth_put(&trial->breadth, step->words);
}

/* Returns how often something was. */
static int check_drops(const struct scheme *scheme, int clients, enum fault one, enum fault other)
{
    static struct drop_trial trial;
    struct explore_options options = options_for(scheme, one, other);
    memset(&trial, 0, sizeof trial);
    options.reductions = 0;
    options.clients = clients;
    options.rounds = 3 - clients;
    options.servers = clients == 1 ? 3 : 1;
    breadth_open(&trial.breadth, &options, take_any, &trial);
    while (breadth_next(&trial.breadth, 100000))
        successors_expand(&trial.breadth.successors, trial.breadth.words);
    breadth_close(&trial.breadth);
    return trial.dropped;
}

/* Cleans up before it asks, and leaves when it has asked. */
static enum verb cleans;

static void clean_first(void *state, const struct lease *lease, const struct moment *in,
                        struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, cleans, lease, out);
    while (self->heard < lease->servers) {
        AWAIT(self, ASKED);
        probe_count(self, lease, in);
    }
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    while (self->heard < lease->servers) {
        AWAIT(self, ASKED_AGAIN);
        probe_count(self, lease, in);
    }
    out_failed(out);
    SCRIPT_END(self);
}

/* Deletes whatever token it has read. */
static void by_delete(void *state, const struct lease *lease, const struct moment *in,
                      struct outbox *out)
{
    struct probe *self = state;
    struct lease others = *lease;

    SCRIPT(self);
    out_set_nx_px(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    out_get(out, SERVER_ONE);
    AWAIT(self, ASKED_AGAIN);
    if (!moment_is_reply(in, REPLY_VALUE)) {
        out_failed(out);
        SCRIPT_RETURN(self);
    }
    others.token = in->reply.value;
    out_compare_and_delete(out, SERVER_ONE, &others);
    AWAIT(self, HELD);
    out_failed(out);
    SCRIPT_END(self);
}

static void what_is_dropped_would_have_done_nothing(void **state)
{
    struct scheme scheme = probe_scheme("clean-first", clean_first);
    (void)state;
    const struct scheme *redlock = scheme_named("redlock");
    cleans = VERB_DEL;
    assert_int_equal(check_drops(&scheme, 1, FAULT_LATE_REQUEST, NOTHING), 0);
    cleans = VERB_COMPARE_DELETE;
    check_drops(&scheme, 1, FAULT_LATE_REQUEST, NOTHING);
    check_drops(&scheme, 1, FAULT_LATE_REQUEST, FAULT_LATE_REQUEST);
    check_drops(&scheme, 1, FAULT_LATE_REQUEST, FAULT_FAILOVER);
    check_drops(&scheme, 1, FAULT_DUPLICATE, FAULT_LATE_REQUEST);
    assert_true(check_drops(redlock, 1, FAULT_LATE_REQUEST, FAULT_LATE_REQUEST) > 100);
    assert_true(check_drops(redlock, 1, FAULT_LATE_REQUEST, FAULT_FAILOVER) > 100);
    assert_true(check_drops(redlock, 1, FAULT_DUPLICATE, FAULT_FAILOVER) > 100);
    scheme = probe_scheme("by-delete", by_delete);
    check_drops(&scheme, 2, FAULT_LATE_REQUEST, NOTHING);
    scheme = probe_scheme("clean-first", clean_first);
    scheme.needs_script = true;
    assert_int_equal(check_drops(&scheme, 1, FAULT_LATE_REQUEST, NOTHING), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_persistent),
        cmocka_unit_test(nothing_is_put_off_for_ever),
        cmocka_unit_test(the_last_reply_decides),
        cmocka_unit_test(a_reply_may_be_lost_by_a_failover),
        cmocka_unit_test(all_replies_may_be_lost),
        cmocka_unit_test(a_request_is_lost_before_others_are_executed),
        cmocka_unit_test(a_reply_is_lost_when_all_requests_are_executed),
        cmocka_unit_test(servers_are_asked_in_different_orders),
        cmocka_unit_test(who_acts_while_he_waits_is_searched_in_every_order),
        cmocka_unit_test(who_asks_while_he_holds_is_searched_in_every_order),
        cmocka_unit_test(who_writes_another_s_token_is_searched_in_every_order),
        cmocka_unit_test(what_is_dropped_would_have_done_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
