/* test_partial_order.c - quorums: one order searched for many changes no verdict and no witness's
 * cost, is worth it, and is used only where it may be. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/breadth_first.h"
#include "test/explore_run.h"

#include "explore/reduce/partial_order.h"
#include "explore/reduce/persistent_sets.h"
#include "schemes/parts.h"
#include "test/sample.h"

#include <stdio.h>

enum { IN_EVERY_ORDER = REDUCE_CLIENTS | REDUCE_SERVERS | REDUCE_EAGER };

static const enum fault NOTHING = (enum fault)NONE;

/* Of sim/schemes and of sim/test/mutants. */
extern const struct scheme scheme_redlock, scheme_quorum_lock, scheme_quorum_off_by_one,
    scheme_minority_left, scheme_quorum_validity_unchecked, scheme_unlocked_not_released;

static struct explore_options options_for(const struct scheme *scheme, int rounds, enum fault one,
                                          enum fault other)
{
    struct explore_options options = {
        .scheme = scheme, .clients = 2, .rounds = rounds, .servers = 3};
    if (one != NOTHING)
        options.budget[one]++;
    if (other != NOTHING)
        options.budget[other]++;
    return options;
}

static const char *name_of(enum fault fault)
{
    return fault == NOTHING ? "none" : fault_name(fault);
}

/* How much is found to differ when each order is searched, and when one is for many. */
static int compare(const char *what, const struct explore_options *given)
{
    struct explore_options options = *given;
    struct explore_outcome each, some;
    options.reductions = IN_EVERY_ORDER;
    run(&options, &each);
    options.reductions = REDUCE_ALL;
    assert_true(partial_order_suits(&options));
    run(&options, &some);
    int wrong = differences(what, &options, &each, &some);
    if (some.end != END_COMPLETE) {
        print_error("%s: %s: %s\n", options.scheme->name, what, explore_end_words(some.end));
        wrong++;
    }
    explore_outcome_free(&each);
    explore_outcome_free(&some);
    return wrong;
}

static int compare_orders(const struct scheme *scheme, int rounds, enum fault one, enum fault other)
{
    struct explore_options options = options_for(scheme, rounds, one, other);
    char what[80];
    snprintf(what, sizeof what, "%s+%s, %d rounds", name_of(one), name_of(other), rounds);
    return compare(what, &options);
}

/* Without a fault, and with one in so many of all. */
static int compare_single_faults(const struct scheme *scheme, int rounds, int every)
{
    int wrong = compare_orders(scheme, rounds, NOTHING, NOTHING);
    for (int fault = 0; fault < FAULT_COUNT; fault++)
        if (fault_is_applicable((enum fault)fault, scheme) && is_in_sample_of(every))
            wrong += compare_orders(scheme, rounds, (enum fault)fault, NOTHING);
    return wrong;
}

/* --- nothing changes --- */

static void a_fault_is_judged_the_same(void **state)
{
    (void)state;
    static const struct scheme *const quorums[] = {&scheme_redlock, &scheme_quorum_lock,
                                                   &scheme_quorum_off_by_one, &scheme_minority_left,
                                                   &scheme_quorum_validity_unchecked};
    int wrong = 0;
    for (size_t i = 0; i < sizeof quorums / sizeof *quorums; i++)
        wrong += compare_single_faults(quorums[i], 1, i < 2 ? 1 : 3);
    assert_int_equal(wrong, 0);
}

static void a_fault_in_two_rounds_is_judged_the_same(void **state)
{
    (void)state;
    assert_int_equal(compare_single_faults(&scheme_redlock, 2, 5) +
                         compare_single_faults(&scheme_minority_left, 2, 5),
                     0);
}

/* What strikes while something else is late, lost, copied or about to break. */
static const enum fault pairs[][2] = {
    {FAULT_LATE_REQUEST, FAULT_DUPLICATE}, {FAULT_RESTART, FAULT_LOSE_REPLY},
    {FAULT_FAILOVER, FAULT_LATE_REQUEST},  {FAULT_FAILOVER, FAULT_EVICT},
    {FAULT_CRASH, FAULT_LATE_REQUEST},     {FAULT_RESEND, FAULT_LATE_REQUEST},
    {FAULT_STALL, FAULT_LATE_REPLY},       {FAULT_CLIENT_CLOCK, FAULT_LATE_REPLY},
    {FAULT_LOSE_REQUEST, FAULT_DUPLICATE}, {FAULT_FAILOVER, FAULT_FAILOVER},
    {FAULT_RESTART, FAULT_FAILOVER},       {FAULT_ANSWER_ERROR, FAULT_LOSE_REQUEST},
};

static void pairs_are_judged_the_same(void **state)
{
    (void)state;
    int wrong = compare_orders(&scheme_minority_left, 1, FAULT_LATE_REQUEST, FAULT_CLIENT_CLOCK) +
                compare_orders(&scheme_quorum_off_by_one, 1, FAULT_LATE_REPLY, FAULT_DUPLICATE);
    for (size_t i = 0; i < 2 * sizeof pairs / sizeof *pairs; i++) {
        const enum fault *pair = pairs[i / 2];
        bool is_redlock = i % 4 == 0 || i % 4 == 3; /* of one pair, if not of both */
        if (is_in_sample_of(2))
            wrong += compare_orders(is_redlock ? &scheme_redlock : &scheme_minority_left, 1,
                                    pair[0], pair[1]);
    }
    assert_int_equal(wrong, 0);
}

/* A critical section that counts: at the first server, which must stay the first, and with requests
 * of its own, which are struck before they are executed. */
static void sections_are_judged_the_same(void **state)
{
    static const struct {
        int clients, rounds;
        enum fault one, other;
    } rows[] = {
        {2, 1, FAULT_DUPLICATE, FAULT_LOSE_REPLY},  {1, 2, FAULT_LOSE_REQUEST, FAULT_RESTART},
        {2, 1, FAULT_LATE_REQUEST, FAULT_EVICT},    {2, 1, FAULT_SLOW_WORK, FAULT_CRASH},
        {1, 3, FAULT_DUPLICATE, FAULT_LATE_REPLY},  {1, 3, FAULT_RESTART, FAULT_DUPLICATE},
        {2, 2, FAULT_LOSE_REPLY, FAULT_LOSE_REPLY}, {2, 1, FAULT_FAILOVER, FAULT_STALL},
    };
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!is_in_sample_of(2))
            continue;
        struct explore_options options =
            options_for(&scheme_redlock, rows[i].rounds, rows[i].one, rows[i].other);
        char what[80];
        options.clients = rows[i].clients;
        options.section = SECTION_COUNTER;
        options.skips_progress = true;
        snprintf(what, sizeof what, "counter, %s+%s", name_of(rows[i].one), name_of(rows[i].other));
        wrong += compare(what, &options);
    }
    assert_int_equal(wrong, 0);
}

/* --- what meets at the counter --- */

struct counter_walk {
    struct breadth breadth;
    int meetings;
};

static bool asks_counter(struct state_space *space, uint32_t number, enum verb verb)
{
    struct client_state client_state;
    space_read_client(space, number, &client_state);
    for (int i = 0; i < client_state.count; i++) {
        const struct packed_message *it = &client_state.messages[i];
        if (it->op == OP_ACCESS && it->verb == verb && message_is_request(it))
            return true;
    }
    return false;
}

static bool is_listed(const struct selection *selections, int count, int client)
{
    for (int i = 0; i < count; i++)
        if (selections[i].client == client)
            return true;
    return false;
}

/* Whoever leads, a read may come before the other one's write, or after it. */
static void check_meeting(struct counter_walk *stage, const uint32_t *given)
{
    struct state_space *space = &stage->breadth.space;
    uint32_t words[WORDS_MAX];
    uint32_t *budget = &words[space_words(space) - 1];
    memcpy(words, given, sizeof words);
    for (int reader = 0; reader < 2; reader++) {
        struct selection selections[SELECTIONS_MAX];
        if (!asks_counter(space, words[reader], VERB_GET) ||
            !asks_counter(space, words[1 - reader], VERB_SET))
            continue;
        for (int leader = 0; leader < 2; leader++) {
            *budget = persistent_with_owner(*budget, leader + 1);
            int count = persistent_sets_list(space, words, 0, selections);
            assert_true(is_listed(selections, count, 0) && is_listed(selections, count, 1));
        }
        stage->meetings++;
    }
}

static void take(void *context, const struct successor *step)
{
    struct counter_walk *stage = context;
    if (breadth_put(&stage->breadth, step->words))
        check_meeting(stage, step->words);
}

static void a_read_comes_before_a_write_or_after_it(void **state)
{
    static struct counter_walk stage;
    struct explore_options options = options_for(&scheme_redlock, 1, FAULT_EVICT, FAULT_EVICT);
    (void)state;
    options.section = SECTION_COUNTER;
    options.reductions = REDUCE_ALL;
    options.lease_ticks = 2;
    breadth_open(&stage.breadth, &options, take, &stage);
    stage.breadth.space.config.has_partial_order = true;
    while (breadth_next(&stage.breadth, UINT32_MAX))
        successors_expand(&stage.breadth.successors, stage.breadth.words);
    assert_true(stage.meetings > 10);
    breadth_close(&stage.breadth);
}

/* --- it is worth it --- */

static uint64_t states_of(const struct explore_options *given, unsigned reductions)
{
    struct explore_options options = *given;
    struct explore_outcome outcome;
    options.reductions = reductions;
    options.skips_progress = true;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_COMPLETE);
    uint64_t states = outcome.states;
    explore_outcome_free(&outcome);
    return states;
}

static void expect_a_third(enum fault fault)
{
    struct explore_options options = options_for(&scheme_redlock, 2, fault, NOTHING);
    options.servers = 5;
    assert_true(3 * states_of(&options, REDUCE_ALL) < states_of(&options, IN_EVERY_ORDER));
}

static void states_are_left_out(void **state)
{
    (void)state;
    expect_a_third(NOTHING);
    expect_a_third(FAULT_LATE_REQUEST);
}

/* What is violated and cannot be shown is not known; least of all does it hold. */
static void a_limit_leaves_it_open(void **state)
{
    (void)state;
    struct explore_options options = options_for(&scheme_redlock, 2, FAULT_RESTART, NOTHING);
    struct explore_outcome outcome;
    options.servers = 5;
    options.reductions = REDUCE_ALL;
    options.states_max = 29000; /* the first search needs 28474, the second one more */
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_STATES);
    assert_int_equal(outcome.findings[PROPERTY_MUTUAL_EXCLUSION].verdict, VERDICT_UNKNOWN);
    explore_outcome_free(&outcome);
    /* A search that comes after it and reaches its end closes nothing. */
    options.budget[FAULT_FLUSH_SCRIPTS] = 1;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_STATES);
    assert_int_equal(outcome.findings[PROPERTY_MUTUAL_EXCLUSION].verdict, VERDICT_UNKNOWN);
    explore_outcome_free(&outcome);
}

/* --- where it may be used --- */

static bool suits(const struct scheme *scheme, int servers, enum section section,
                  unsigned reductions)
{
    struct explore_options options = {
        .scheme = scheme, .servers = servers, .section = section, .reductions = reductions};
    return partial_order_suits(&options);
}

static void it_suits_quorums_that_only_count(void **state)
{
    (void)state;
    struct scheme no_promise = scheme_redlock;
    no_promise.waits_for_all = false;
    assert_true(suits(&scheme_redlock, 3, SECTION_NOTHING, REDUCE_ALL));
    assert_false(suits(&scheme_redlock, 1, SECTION_NOTHING, REDUCE_ALL));
    assert_true(suits(&scheme_redlock, 3, SECTION_COUNTER, REDUCE_ALL));
    assert_false(suits(&scheme_redlock, 3, SECTION_WRITE, REDUCE_ALL));
    assert_false(suits(&scheme_redlock, 3, SECTION_NOTHING, IN_EVERY_ORDER));
    assert_false(suits(&no_promise, 3, SECTION_NOTHING, REDUCE_ALL));
    assert_false(suits(&scheme_unlocked_not_released, 3, SECTION_NOTHING, REDUCE_ALL));
}

/* Of a client that waits for an answer to one request: is that strike still listed? */
static bool is_tried(enum fault fault, bool is_at_request, uint8_t flags, bool has_resend)
{
    struct config config = {.has_fault[FAULT_RESEND] = has_resend};
    struct client_state client_state = {.flags = flags, .count = 1};
    struct enabled_action action = {
        .kind = ACTION_INJECT, .fault = (int)fault, .message = is_at_request ? 0 : -1};
    struct action_list list = {
        .client_state = &client_state, .config = &config, .enabled = &action, .count = 1};
    client_state.messages[0].state = MESSAGE_REQUEST;
    client_state.messages[0].flags = MESSAGE_CURRENT;
    partial_order_filter(&list);
    return list.count == 1;
}

static void strikes_are_tried_at_one_time(void **state)
{
    (void)state;
    assert_false(is_tried(FAULT_STALL, false, 0, false));
    assert_true(is_tried(FAULT_CRASH, false, 0, false));
    assert_true(is_tried(FAULT_LATE_REQUEST, true, 0, false));
    assert_false(is_tried(FAULT_LATE_REQUEST, true, CLIENT_ANSWERED, false));
    assert_true(is_tried(FAULT_LATE_REQUEST, true, CLIENT_ANSWERED, true));
}

/* Promises to wait for all, and takes the first majority. */
struct eager {
    int64_t at, heard, yes;
};

static const enum scheme_field eager_fields[] = {FIELD_STEP, FIELD_COUNT, FIELD_COUNT};
FIELDS_FIT(struct eager, eager_fields);

enum step { START, ASKED, HELD };

static void eager_step(void *state, const struct lease *lease, const struct moment *in,
                       struct outbox *out)
{
    struct eager *self = state;

    SCRIPT(self);
    for (int server = 0; server < lease->servers; server++)
        out_set_nx_px(out, server, lease);
    while (self->heard < lease->servers && self->yes <= lease->servers / 2) {
        AWAIT(self, ASKED);
        self->heard++;
        self->yes += moment_is_ok(in);
    }
    if (self->yes > lease->servers / 2) {
        out_granted(out);
        while (in->kind != MOMENT_RELEASE)
            AWAIT(self, HELD);
    }
    for (int server = 0; server < lease->servers; server++)
        out_compare_and_delete(out, server, lease);
    if (self->yes > lease->servers / 2)
        out_released(out);
    else
        out_failed(out);
    SCRIPT_END(self);
}

static void a_broken_promise_is_noticed(void **state)
{
    (void)state;
    struct scheme eager = scheme_quorum_lock;
    eager.step = eager_step;
    eager.fields = eager_fields;
    eager.fields_count = sizeof eager_fields / sizeof *eager_fields;
    assert_int_equal(compare_single_faults(&eager, 1, 3), 0);
    struct explore_options options = options_for(&eager, 1, NOTHING, NOTHING);
    assert_int_equal(states_of(&options, REDUCE_ALL), states_of(&options, IN_EVERY_ORDER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_is_judged_the_same),
        cmocka_unit_test(a_fault_in_two_rounds_is_judged_the_same),
        cmocka_unit_test(pairs_are_judged_the_same),
        cmocka_unit_test(sections_are_judged_the_same),
        cmocka_unit_test(a_read_comes_before_a_write_or_after_it),
        cmocka_unit_test(states_are_left_out),
        cmocka_unit_test(a_limit_leaves_it_open),
        cmocka_unit_test(it_suits_quorums_that_only_count),
        cmocka_unit_test(strikes_are_tried_at_one_time),
        cmocka_unit_test(a_broken_promise_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
