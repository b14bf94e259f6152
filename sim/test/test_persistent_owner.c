/* test_persistent_owner.c - the owner of a persistent set (reduce/persistent_sets.h): what may come
 * before its requests and its last action, and that it stays who it is. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/reduce/partial_order.h"
#include "explore/reduce/persistent_sets.h"
#include "test/probe.h"

enum step { START, ASKED, ASKED_AGAIN, HELD, TIDIED };

/* --- what it does last --- */

/* The reduction changes nothing of it, and it is violated. */
static void expect_violated(const struct explore_options *given, enum property property)
{
    struct explore_options options = *given;
    struct explore_outcome each, some;
    options.skips_progress = true;
    options.reductions = REDUCE_ALL & ~(unsigned)REDUCE_ORDER;
    run(&options, &each);
    options.reductions = REDUCE_ALL;
    assert_true(partial_order_suits(&options));
    run(&options, &some);
    assert_int_equal(each.findings[property].verdict, VERDICT_VIOLATED);
    assert_int_equal(differences("one order or each", &options, &each, &some), 0);
    explore_outcome_free(&each);
    explore_outcome_free(&some);
}

/* Deletes its keys before and after it holds the lock, whether it got any or not. */
static void by_tidying(void *state, const struct lease *lease, const struct moment *in,
                       struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    if (probe_waits(self, lease, in))
        return;
    probe_ask(self, VERB_COMPARE_DELETE, lease, out);
    AWAIT(self, ASKED_AGAIN);
    if (probe_waits(self, lease, in))
        return;
    out_granted(out);
    AWAIT(self, HELD);
    probe_ask(self, VERB_DEL, lease, out);
    AWAIT(self, TIDIED);
    if (probe_waits(self, lease, in))
        return;
    out_released(out);
    SCRIPT_END(self);
}

/* What was given up on arrives just before the last reply, at which the client says that all is
 * tidy. */
static void what_is_abandoned_arrives_before_a_return(void **state)
{
    struct scheme scheme = probe_scheme("by-tidying", by_tidying);
    struct explore_options options = probe_options(&scheme, FAULT_LATE_REQUEST, NOTHING);
    (void)state;
    scheme.promises_token = true;
    options.clients = 1;
    expect_violated(&options, PROPERTY_NO_ORPHAN);
}

/* --- who it is --- */

/* Sets its keys, looks for any, sets them again, holds the lock, and deletes what is there. It
 * trips where it got no key, then saw one, and then got one. */
static void by_turns(void *state, const struct lease *lease, const struct moment *in,
                     struct outbox *out)
{
    static const enum verb verbs[] = {VERB_SET_NX_PX, VERB_PEXPIRE, VERB_SET_NX_PX};
    struct probe *self = state;

    SCRIPT(self);
    for (; self->read < 3; self->read++) {
        probe_ask(self, verbs[self->read], lease, out);
        AWAIT(self, ASKED);
        if (probe_waits(self, lease, in))
            return;
        if (self->yes != (self->read > 0))
            self->odd = 1;
    }
    if (self->odd == 0) {
        out_crashed(out);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);
    probe_ask(self, VERB_DEL, lease, out);
    AWAIT(self, TIDIED);
    if (probe_waits(self, lease, in))
        return;
    out_released(out);
    SCRIPT_END(self);
}

/* Whose requests arrive first goes on being first when clients change places. */
static void the_owner_of_a_set_is_renamed_with_its_client(void **state)
{
    const struct scheme scheme = probe_scheme("by-turns", by_turns);
    struct explore_options options = probe_options(&scheme, NOTHING, NOTHING);
    (void)state;
    options.servers = 2;
    expect_violated(&options, PROPERTY_NO_CRASH);
}

/* --- what arrives before its request --- */

enum { OWNER, OTHER };

static struct packed_message request_of(enum verb verb, unsigned flags)
{
    return (struct packed_message){.state = MESSAGE_REQUEST,
                                   .flags = (uint8_t)flags,
                                   .op = OP_ACQUIRE,
                                   .verb = (uint8_t)verb,
                                   .ttl_us = 2 * TICK_US,
                                   .value = (int32_t)token_at(TOKEN_BASE, POSITION_SELF)};
}

/* messages: the first one's value is its token. */
static uint32_t client_in(struct state_space *space, enum phase phase,
                          const struct packed_message *messages, int count)
{
    struct client_state client;
    client_state_init(&client, &space->config);
    client.phase = (uint8_t)phase;
    client.token = messages->value;
    client.fields[0] = ASKED;
    client.count = (uint8_t)count;
    memcpy(client.messages, messages, (size_t)count * sizeof *messages);
    return space_number_client(space, &client);
}

static uint32_t client_with(struct state_space *space, const struct packed_message *messages,
                            int count)
{
    return client_in(space, PHASE_ACQUIRING, messages, count);
}

static void open_space(struct state_space *space, const struct explore_options *options,
                       uint32_t *words)
{
    space_init(space, options);
    space->config.has_partial_order = true;
    space_start(space, words);
}

/* At a server that has the other one's key: the owner's compare-and-delete is independent of its
 * late SET, which finds the key, and of the other one's compare-and-delete; but when that has
 * come, no more of the SET. So all three orders are searched. */
static void a_request_may_depend_on_what_comes_after_another(void **state)
{
    const struct scheme scheme = probe_scheme("by-turns", by_turns);
    const struct explore_options options = probe_options(&scheme, FAULT_LATE_REQUEST, NOTHING);
    const struct packed_message owned[] = {
        request_of(VERB_SET_NX_PX, MESSAGE_ABANDONED | MESSAGE_LATE | MESSAGE_CURRENT),
        request_of(VERB_COMPARE_DELETE, MESSAGE_CURRENT)};
    const struct packed_message others[] = {request_of(VERB_COMPARE_DELETE, MESSAGE_CURRENT)};
    struct state_space space;
    struct server_state server;
    struct selection selections[SELECTIONS_MAX];
    uint32_t words[WORDS_MAX] = {0};
    (void)state;
    open_space(&space, &options, words);
    words[OWNER] = client_with(&space, owned, 2);
    words[OTHER] = client_with(&space, others, 1);
    space_read_server(&space, words[options.clients], &server);
    server.keyspace.type = MODEL_STRING;
    server.keyspace.value = (int32_t)token_at(TOKEN_BASE, OTHER);
    server.keyspace.left = (int16_t)space.config.ttl;
    words[options.clients] = space_number_server(&space, &server);
    uint32_t *budget = &words[space_words(&space) - 1];
    *budget = persistent_with_owner(*budget, OWNER + 1);
    assert_int_equal(persistent_sets_list(&space, words, 0, selections), 3);
    /* Without the SET it is independent. */
    words[OWNER] = client_with(&space, owned + 1, 1);
    assert_int_equal(persistent_sets_list(&space, words, 0, selections), 1);
    space_close(&space);
}

/* Where nobody has the lock: a SET of an attempt that is over is an orphan before the owner's SET,
 * which writes over another's lock then; after it, it is refused. The states are the same, and what
 * is violated is not. */
static void what_is_violated_may_depend_on_the_order(void **state)
{
    const struct scheme scheme = probe_scheme("by-turns", by_turns);
    const struct explore_options options = probe_options(&scheme, FAULT_LATE_REQUEST, NOTHING);
    struct packed_message owned = request_of(VERB_SET, MESSAGE_CURRENT),
                          others = request_of(VERB_SET_NX_PX, MESSAGE_ABANDONED | MESSAGE_LATE);
    struct state_space space;
    struct selection selections[SELECTIONS_MAX];
    uint32_t words[WORDS_MAX] = {0};
    (void)state;
    open_space(&space, &options, words);
    owned.op = OP_RELEASE;
    words[OWNER] = client_in(&space, PHASE_RELEASING, &owned, 1);
    words[OTHER] = client_in(&space, PHASE_IDLE, &others, 1);
    uint32_t *budget = &words[space_words(&space) - 1];
    *budget = persistent_with_owner(*budget, OWNER + 1);
    assert_int_equal(persistent_sets_list(&space, words, 0, selections), 2);
    /* A command that only looks violates nothing. */
    others.verb = VERB_GET;
    words[OTHER] = client_in(&space, PHASE_IDLE, &others, 1);
    assert_int_equal(persistent_sets_list(&space, words, 0, selections), 1);
    space_close(&space);
}

/* --- where there is no owner --- */

static bool has_arrival(const struct state_space *space, const struct selection *selections,
                        int count, int client)
{
    for (int i = 0; i < count; i++)
        if (selections[i].client == client &&
            space->actions[selections[i].action].kind == ACTION_ARRIVE)
            return true;
    return false;
}

/* One client asks, and another one has its last reply before it, at which it says that all is tidy:
 * which depends on whether what it has given up on arrives first. */
static void what_is_abandoned_arrives_before_a_free_client_acts(void **state)
{
    enum { FREE, ASKING };
    const struct scheme scheme = probe_scheme("by-tidying", by_tidying);
    const struct explore_options options = probe_options(&scheme, FAULT_LATE_REQUEST, NOTHING);
    struct packed_message messages[] = {
        request_of(VERB_SET_NX_PX, MESSAGE_ABANDONED | MESSAGE_LATE | MESSAGE_CURRENT),
        request_of(VERB_DEL, MESSAGE_CURRENT)};
    struct packed_message asked = request_of(VERB_SET_NX_PX, MESSAGE_CURRENT);
    struct state_space space;
    struct selection selections[SELECTIONS_MAX];
    uint32_t words[WORDS_MAX] = {0};
    (void)state;
    open_space(&space, &options, words);
    messages[1].state = MESSAGE_REPLY;
    messages[1].server = asked.server = 1;
    words[FREE] = client_with(&space, messages, 2);
    words[ASKING] = client_with(&space, &asked, 1);
    int count = persistent_sets_list(&space, words, 0, selections);
    assert_true(has_arrival(&space, selections, count, FREE));
    assert_true(has_arrival(&space, selections, count, ASKING));
    /* While it asks it does not act: what it asked for comes first. */
    messages[1].state = MESSAGE_REQUEST;
    words[FREE] = client_with(&space, messages, 2);
    count = persistent_sets_list(&space, words, 0, selections);
    assert_int_equal(space.client_facts[words[FREE]].order.abandoned, 1);
    for (int i = 0; i < count; i++)
        assert_int_not_equal(space.actions[selections[i].action].server, 0);
    space_close(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_abandoned_arrives_before_a_return),
        cmocka_unit_test(the_owner_of_a_set_is_renamed_with_its_client),
        cmocka_unit_test(a_request_may_depend_on_what_comes_after_another),
        cmocka_unit_test(what_is_violated_may_depend_on_the_order),
        cmocka_unit_test(what_is_abandoned_arrives_before_a_free_client_acts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
