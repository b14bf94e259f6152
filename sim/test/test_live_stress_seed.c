/* test_live_stress_seed.c - what runs of one seed have in common: what each client draws; and of a
 * client that is alone its whole history, whichever way it reaches the proxy. */
#include "test/stress_summary.h"

enum { FIRST_EVENTS = 400 };

/* The beginning of a history, without its times. */
struct first_events {
    struct event_sink behind;
    int count;
    struct {
        int kind, fault, verb, op, result, reply;
        int64_t value;
    } of[FIRST_EVENTS];
};

static void see_beginning(void *context, const struct event *event)
{
    struct first_events *seen = context;
    if (seen->count < FIRST_EVENTS) {
        seen->of[seen->count].kind = (int)event->kind;
        seen->of[seen->count].fault = (int)event->fault;
        seen->of[seen->count].verb = (int)event->command.verb;
        seen->of[seen->count].op = (int)event->op;
        seen->of[seen->count].result = (int)event->result;
        seen->of[seen->count].reply = (int)event->reply.kind;
        seen->of[seen->count++].value = event->reply.value;
    }
    if (seen->count == FIRST_EVENTS)
        summary.stop = SIGTERM;
    seen->behind.take(seen->behind.context, event);
}

/* How a client reaches the proxy, and who holds its sockets, is in no event. */
static void who_is_alone_has_one_history_over_tcp_and_unix_sockets(void **state)
{
    (void)state;
    enum { PLAIN, NEAR, CARRIED, WAYS };
    static struct first_events seen[WAYS];
    memset(seen, 0, sizeof seen);
    for (int way = 0; way < WAYS; way++) {
        struct stress_options options = options_of("set-nx-px-cad");
        struct stress_outcome outcome;
        seen[way].behind = options.sink;
        options.sink = (struct event_sink){.take = see_beginning, .context = &seen[way]};
        options.clients = 1;
        options.is_near = way == NEAR;
        options.proxy_processes = way == CARRIED;
        options.lease_us = options.timeout_us = 3600 * (int64_t)SECOND_US; /* none ends */
        options.locks = 100; /* one whose release is lost is taken for ever */
        options.pause_ppm = options.delay_ppm = 200000;
        options.pause_us = options.delay_us = 100;
        options.lose_request_ppm = options.lose_reply_ppm = 50000;
        options.think = distribution_about(1);
        options.duration_us = 60 * (int64_t)SECOND_US; /* a slow machine takes longer, no more */
        runs(&options, &outcome);
        assert_true(outcome.struck[STRUCK_PAUSE] > 0 && outcome.struck[STRUCK_DELAY] > 0);
        assert_true(outcome.struck[STRUCK_REQUEST] > 0 && outcome.struck[STRUCK_REPLY] > 0);
    }
    assert_int_equal(seen[0].count, FIRST_EVENTS);
    assert_memory_equal(seen[PLAIN].of, seen[NEAR].of, sizeof seen[PLAIN].of);
    assert_memory_equal(seen[PLAIN].of, seen[CARRIED].of, sizeof seen[PLAIN].of);
}

enum { ATTEMPTS = 30 };

/* What clients drew for their first attempts. */
struct first_draws {
    struct event_sink behind;
    int attempts[CLIENTS], whole; /* so many clients have had all of them */
    struct {
        int64_t token;
        int lock;
    } of[CLIENTS][ATTEMPTS];
};

static void see_drawn(void *context, const struct event *event)
{
    struct first_draws *seen = context;
    if (event->kind == EVENT_CALL && event->op == OP_ACQUIRE &&
        seen->attempts[event->client] < ATTEMPTS) {
        const int attempt = seen->attempts[event->client]++;
        seen->of[event->client][attempt].token = event->token;
        seen->of[event->client][attempt].lock = event->lock;
        seen->whole += attempt + 1 == ATTEMPTS;
    }
    if (seen->whole == CLIENTS)
        summary.stop = SIGTERM;
    seen->behind.take(seen->behind.context, event);
}

/* Whoever comes first. */
static void a_seed_has_the_same_draws_of_each_client(void **state)
{
    (void)state;
    enum { TIMES = 3 };
    static struct first_draws seen[TIMES];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < TIMES; i++) {
        struct stress_options options = options_of("set-nx-px-cad");
        struct stress_outcome outcome;
        seen[i].behind = options.sink;
        options.sink = (struct event_sink){.take = see_drawn, .context = &seen[i]};
        options.locks = 3;
        options.seed += i == TIMES - 1;
        options.think = distribution_about(1);
        options.duration_us = 60 * (int64_t)SECOND_US; /* a slow machine takes longer, no more */
        runs(&options, &outcome);
        assert_int_equal(seen[i].whole, CLIENTS);
    }
    assert_memory_equal(seen[0].of, seen[1].of, sizeof seen[0].of);
    assert_memory_not_equal(seen[0].of, seen[2].of, sizeof seen[0].of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_alone_has_one_history_over_tcp_and_unix_sockets),
        cmocka_unit_test(a_seed_has_the_same_draws_of_each_client),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
