/* test_abandoned.c - an abandoned message that the partial-order reduction drops
 * (reduce/partial_order.h) would have done nothing. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/enabled.h"
#include "test/probe.h"
#include "test/sample.h"

#include "explore/graph/apply.h"
#include "explore/reduce/partial_order.h"

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
    struct explore_options options = probe_options(scheme, one, other);
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

enum step { START, ASKED, ASKED_AGAIN, HELD };

/* Cleans up before it asks, and leaves when it has asked. */
static enum verb cleans;

static void clean_first(void *state, const struct lease *lease, const struct moment *in,
                        struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, cleans, lease, out);
    AWAIT(self, ASKED);
    if (probe_waits(self, lease, in))
        return;
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED_AGAIN);
    if (probe_waits(self, lease, in))
        return;
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
    if (is_in_sample())
        assert_true(check_drops(redlock, 1, FAULT_LATE_REQUEST, FAULT_LATE_REQUEST) > 100);
    if (is_in_sample())
        assert_true(check_drops(redlock, 1, FAULT_LATE_REQUEST, FAULT_FAILOVER) > 100);
    if (is_in_sample())
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
        cmocka_unit_test(what_is_dropped_would_have_done_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
