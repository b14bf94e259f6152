/* test_live.c - the directed real world: the same history as the simulated one, each fault, what it
 * refuses, what breaks by itself. */
#include "live/internal.h"
#include "scenario/interpreter.h"
#include "test/sample.h"
#include "world/simulated.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/trace.h"

enum { LEASE_US = 300000 };

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B", "C"};
static struct live *steered, *real_time;

/* --- both worlds --- */

static void no_choice(void *context, const struct choice *choice)
{
    (void)context;
    (void)choice;
}

static enum fail direct(const struct scenario *scenario, const struct scheme *scheme,
                        struct live *live, struct event_trace *trace, struct failure *failure)
{
    struct world *world;
    struct run run = {.scheme = scheme,
                      .clients = scenario->clients,
                      .servers = scenario->servers,
                      .names = (char(*)[NAME_MAX_BYTES])(uintptr_t)scenario->names,
                      .lease_us = scheme_lease_us(scheme, scenario->lease_us),
                      .seed = 1,
                      .same_token = scenario->same_token,
                      .is_cluster = scenario->is_cluster,
                      .has_replica = scenario->has_replica || scheme->needs_replica,
                      .sink = {.take = trace_take, .context = trace}};
    if (!live)
        world = world_simulated_new(&run);
    else if (world_live_new(&world, live, &run, failure))
        return failure->code;
    const struct choice_sink choices = {.take = no_choice};
    enum fail fail = interpreter_run(scenario, scheme, world, choices, failure);
    world->ops->free(world);
    return fail;
}

static void compare(const struct scenario *scenario, const struct scheme *scheme)
{
    struct event_trace model = {0}, redis = {0};
    struct failure why = {0};
    enum fail expected = direct(scenario, scheme, NULL, &model, &why);
    enum fail seen = direct(scenario, scheme, steered, &redis, &why);
    if (seen != expected)
        fail_msg("%s, %s: %s", scenario->name, scheme->name, why.text);
    for (size_t i = 0; i < model.count && i < redis.count; i++)
        if (!trace_is_same(&model.events[i], &redis.events[i]))
            fail_msg("%s, %s: event %zu is not the same", scenario->name, scheme->name, i);
    assert_int_equal(model.count, redis.count);
    assert_true(expected == FAIL_NOT_APPLICABLE || redis.count > 4);
    free(model.events);
    free(redis.events);
}

/* Every scenario with every scheme that it speaks about: the same events to the microsecond. */
static void both_worlds_write_the_same_history(void **state)
{
    (void)state;
    glob_t found;
    int runs = 0;
    assert_int_equal(glob("scenarios/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct scenario *scenario;
        struct failure why = {0};
        if (strstr(found.gl_pathv[i], "/matrix.yaml"))
            continue; /* the explorer's, not a scenario */
        if (scenario_read(found.gl_pathv[i], &scenario, &why))
            fail_msg("%s", why.text);
        for (int j = 0; j < scenario->expectations_count; j++)
            if (is_in_sample()) {
                compare(scenario, scenario->expectations[j].scheme);
                runs++;
            }
        scenario_free(scenario);
    }
    globfree(&found);
    assert_true(runs > 200 / sample_every());
}

/* --- one run by hand --- */

struct live_stage {
    struct run run;
    struct world *world;
    struct event_trace trace;
};

static void stage_open(struct live_stage *stage, struct live *live, const char *scheme,
                       bool has_replica)
{
    struct failure why = {0};
    memset(stage, 0, sizeof *stage);
    stage->run = (struct run){.scheme = scheme_named(scheme),
                              .clients = 3,
                              .servers = 1,
                              .names = names,
                              .seed = 1,
                              .has_replica = has_replica,
                              .sink = {.take = trace_take, .context = &stage->trace}};
    assert_non_null(stage->run.scheme);
    stage->run.lease_us = scheme_lease_us(stage->run.scheme, LEASE_US);
    if (world_live_new(&stage->world, live, &stage->run, &why))
        fail_msg("%s", why.text);
}

static void stage_close(struct live_stage *stage)
{
    stage->world->ops->free(stage->world);
    free(stage->trace.events);
}

static enum fail applies(struct live_stage *stage, struct choice choice, struct failure *why)
{
    *why = (struct failure){0};
    return stage->world->ops->apply(stage->world, &choice, why);
}

static void does(struct live_stage *stage, struct choice choice)
{
    struct failure why;
    if (applies(stage, choice, &why))
        fail_msg("%s: %s", choice_name(choice.kind), why.text);
}

static struct choice about(enum choice_kind kind, int client, enum verb verb)
{
    return (struct choice){.kind = kind, .client = client, .verb = verb};
}

static struct choice of_server(enum choice_kind kind, int64_t amount_us)
{
    return (struct choice){.kind = kind, .client = -1, .amount_us = amount_us};
}

static void round_trip(struct live_stage *stage, int client, enum verb verb)
{
    does(stage, about(CHOICE_ARRIVE, client, verb));
    does(stage, about(CHOICE_HEAR, client, verb));
}

static enum result acquires(struct live_stage *stage, int client, enum verb verb)
{
    does(stage, about(CHOICE_ACQUIRE, client, VERB_SET));
    round_trip(stage, client, verb);
    return stage->world->ops->client(stage->world, client).last;
}

static const struct event *last_event(const struct live_stage *stage)
{
    return &stage->trace.events[stage->trace.count - 1];
}

static void a_lease_ends_at_once_when_time_is_steered(void **state)
{
    (void)state;
    struct live_stage stage;
    stage_open(&stage, steered, "set-nx-px-cad", false);
    assert_int_equal(acquires(&stage, 0, VERB_SET_NX_PX), RESULT_GRANTED);
    does(&stage, of_server(CHOICE_TIME, LEASE_US - 1000));
    assert_int_equal(acquires(&stage, 1, VERB_SET_NX_PX), RESULT_REFUSED);
    does(&stage, of_server(CHOICE_TIME, 2000));
    assert_int_equal(acquires(&stage, 1, VERB_SET_NX_PX), RESULT_GRANTED);
    assert_int_equal(live_clock_error_us(steered), 0);
    stage_close(&stage);
}

static void a_run_finds_nothing_of_the_last_one(void **state)
{
    (void)state;
    struct live_stage stage;
    for (int i = 0; i < 3; i++) {
        stage_open(&stage, steered, "set-nx-px-cad", false);
        assert_int_equal(acquires(&stage, 0, VERB_SET_NX_PX), RESULT_GRANTED);
        does(&stage, about(CHOICE_ACQUIRE, 1, VERB_SET)); /* left behind at the proxy */
        stage_close(&stage);
    }
}

static void an_abandoned_request_arrives_late(void **state)
{
    (void)state;
    struct live_stage stage;
    struct message messages[MESSAGES_MAX];
    stage_open(&stage, steered, "set-nx-ex-del", false);
    does(&stage, about(CHOICE_ACQUIRE, 0, VERB_SET));
    does(&stage, about(CHOICE_GIVE_UP, 0, VERB_SET_NX_EX));
    assert_int_equal(stage.world->ops->client(stage.world, 0).last, RESULT_FAILED);
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_SET_NX_EX));
    assert_int_equal(last_event(&stage)->kind, EVENT_EXECUTE);
    assert_int_equal(last_event(&stage)->reply.kind, REPLY_OK);
    assert_int_equal(stage.world->ops->messages(stage.world, 0, messages), 0);
    assert_int_equal(acquires(&stage, 0, VERB_SET_NX_EX), RESULT_REFUSED); /* by its own late SET */
    stage_close(&stage);
}

/* An attempt that is over is not resumed by what still comes for it: the answer to a renewal of the
 * first attempt would refuse the second one. */
static void a_reply_of_an_earlier_attempt_resumes_nothing(void **state)
{
    (void)state;
    struct live_stage stage;
    stage_open(&stage, steered, "watchdog", false);
    const struct world_ops *ops = stage.world->ops;
    assert_int_equal(acquires(&stage, 0, VERB_SET_NX_PX), RESULT_GRANTED);
    does(&stage, of_server(CHOICE_TIME, stage.run.lease_us / 2));
    does(&stage, about(CHOICE_WAKE, 0, VERB_SET)); /* its renewal leaves, and does not arrive yet */
    does(&stage, about(CHOICE_RELEASE, 0, VERB_SET));
    round_trip(&stage, 0, VERB_COMPARE_DELETE);
    assert_int_equal(ops->client(stage.world, 0).phase, PHASE_IDLE);
    does(&stage, about(CHOICE_ACQUIRE, 0, VERB_SET));
    round_trip(&stage, 0, VERB_COMPARE_EXPIRE);
    assert_int_equal(last_event(&stage)->kind, EVENT_HEAR); /* recorded, and nothing came of it */
    assert_int_equal(last_event(&stage)->reply.value, 0);
    assert_int_equal(ops->client(stage.world, 0).phase, PHASE_ACQUIRING);
    round_trip(&stage, 0, VERB_SET_NX_PX);
    assert_int_equal(ops->client(stage.world, 0).phase, PHASE_HOLDING);
    stage_close(&stage);
}

static void eviction_takes_the_lock_only(void **state)
{
    (void)state;
    static const char *const rows[] = {"set-nx-px-cad", "setnx-del"}; /* with a ttl, and without */
    for (int i = 0; i < 2; i++) {
        struct live_stage stage;
        enum verb verb = i ? VERB_SETNX : VERB_SET_NX_PX;
        struct failure why;
        stage_open(&stage, steered, rows[i], false);
        assert_int_equal(applies(&stage, of_server(CHOICE_EVICT, 0), &why), FAIL_UNKNOWN);
        assert_non_null(strstr(why.text, "no lock key"));
        assert_int_equal(acquires(&stage, 0, verb), RESULT_GRANTED);
        for (int times = 0; times < 3; times++) {
            does(&stage, about(CHOICE_READ_COUNTER, 0, VERB_SET));
            round_trip(&stage, 0, VERB_GET);
            does(&stage, about(CHOICE_WRITE_COUNTER, 0, VERB_SET));
            round_trip(&stage, 0, VERB_SET);
        }
        does(&stage, of_server(CHOICE_EVICT, 0));
        assert_int_equal(acquires(&stage, 1, verb), RESULT_GRANTED);
        does(&stage, about(CHOICE_READ_COUNTER, 1, VERB_SET));
        does(&stage, about(CHOICE_ARRIVE, 1, VERB_GET));
        assert_int_equal(last_event(&stage)->reply.value, 3); /* the counter is still there */
        stage_close(&stage);
    }
}

static void a_replica_keeps_what_it_had_when_it_was_cut(void **state)
{
    (void)state;
    struct live_stage stage;
    stage_open(&stage, steered, "set-nx-px-cad", true);
    assert_int_equal(acquires(&stage, 0, VERB_SET_NX_PX), RESULT_GRANTED);
    does(&stage, about(CHOICE_READ_COUNTER, 0, VERB_SET));
    round_trip(&stage, 0, VERB_GET);
    does(&stage, of_server(CHOICE_CUT_REPLICA, 0));
    does(&stage, about(CHOICE_WRITE_COUNTER, 0, VERB_SET)); /* the replica does not hear of it */
    round_trip(&stage, 0, VERB_SET);
    does(&stage, of_server(CHOICE_FAILOVER, 0));
    assert_int_equal(acquires(&stage, 1, VERB_SET_NX_PX),
                     RESULT_REFUSED); /* of this it has heard */
    does(&stage, about(CHOICE_READ_COUNTER, 0, VERB_SET));
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_GET));
    assert_int_equal(last_event(&stage)->reply.kind, REPLY_NIL);
    stage_close(&stage);
}

/* By the kernel: of another connection than the clients' as well, on the same port throughout. */
static void a_server_refuses_for_real(void **state)
{
    (void)state;
    for (int is_freed_meanwhile = 0; is_freed_meanwhile < 2; is_freed_meanwhile++) {
        struct live_stage stage;
        struct failure why;
        stage_open(&stage, steered, "set-nx-px-cad", false);
        const int port = proxy_port(steered->endpoints[0].proxy);
        does(&stage, about(CHOICE_ACQUIRE, 0, VERB_SET));
        assert_int_equal(live_prove_refusal(steered, 0, &why), FAIL_UNKNOWN);
        does(&stage, of_server(CHOICE_REFUSE, 0));
        assert_int_equal(steered->endpoints[0].connections, 0);
        does(&stage, about(CHOICE_ACQUIRE, 1, VERB_SET));
        assert_int_equal(live_prove_refusal(steered, 0, &why), FAIL_NONE);
        does(&stage, about(CHOICE_GIVE_UP, 1, VERB_SET_NX_PX));
        if (!is_freed_meanwhile) {
            does(&stage, of_server(CHOICE_REACH, 0));
            assert_int_equal(acquires(&stage, 1, VERB_SET_NX_PX), RESULT_GRANTED);
        }
        assert_int_equal(proxy_port(steered->endpoints[0].proxy), port);
        stage_close(&stage);
    }
}

/* Were the listener still there, nobody would be told that nothing was refused. */
static void what_does_not_refuse_is_told(void **state)
{
    (void)state;
    struct live_stage stage;
    struct failure why;
    stage_open(&stage, steered, "set-nx-px-cad", false);
    does(&stage, of_server(CHOICE_REFUSE, 0));
    assert_int_equal(live_accept(steered, 0, &why), FAIL_NONE);
    assert_int_equal(applies(&stage, about(CHOICE_ACQUIRE, 0, VERB_SET), &why), FAIL_UNKNOWN);
    assert_non_null(strstr(why.text, "server 1 was to refuse a connection: it did not"));
    stage_close(&stage);
}

static void a_transaction_is_one_message(void **state)
{
    (void)state;
    struct live_stage stage;
    struct message messages[MESSAGES_MAX];
    stage_open(&stage, steered, "multi-setnx-expire-del", false);
    does(&stage, about(CHOICE_ACQUIRE, 0, VERB_SET));
    assert_int_equal(stage.world->ops->messages(stage.world, 0, messages), 1);
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_MULTI_SETNX_EXPIRE));
    assert_int_equal(last_event(&stage)->reply.kind, REPLY_TRANSACTION);
    assert_int_equal(last_event(&stage)->reply.value, 1);
    does(&stage, about(CHOICE_LOSE_REPLY, 0, VERB_MULTI_SETNX_EXPIRE));
    does(&stage, about(CHOICE_RESEND, 0, VERB_MULTI_SETNX_EXPIRE));
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_MULTI_SETNX_EXPIRE));
    assert_int_equal(last_event(&stage)->reply.value, 0);
    stage_close(&stage);
}

/* --- real time --- */

static void real_time_really_passes(void **state)
{
    (void)state;
    struct live_stage stage;
    struct failure why;
    stage_open(&stage, real_time, "set-nx-px-cad", false);
    assert_int_equal(acquires(&stage, 0, VERB_SET_NX_PX), RESULT_GRANTED);
    assert_int_equal(acquires(&stage, 1, VERB_SET_NX_PX), RESULT_REFUSED);
    does(&stage, of_server(CHOICE_TIME, LEASE_US + 2000));
    assert_true(stage.world->ops->now_us(stage.world) >= LEASE_US + 2000);
    assert_int_equal(acquires(&stage, 1, VERB_SET_NX_PX), RESULT_GRANTED);
    for (size_t i = 0; i < stage.trace.count; i++)
        assert_true(stage.trace.events[i].from_us <= stage.trace.events[i].time_us);
    assert_int_equal(applies(&stage, of_server(CHOICE_SERVER_CLOCK, 1000000), &why),
                     FAIL_NOT_APPLICABLE);
    assert_non_null(strstr(why.text, "real time"));
    assert_int_equal(applies(&stage, of_server(CHOICE_FAILOVER, 0), &why), FAIL_UNKNOWN);
    assert_non_null(strstr(why.text, "no replicas"));
    assert_true(live_clock_error_us(real_time) > 0);
    stage_close(&stage);
}

/* --- what breaks by itself --- */

static void a_server_that_dies_is_told(void **state)
{
    (void)state;
    struct live *live;
    struct live_options options = {.steering = STEERED};
    struct failure why;
    assert_int_equal(live_new(&live, &options, &why), FAIL_NONE);
    struct live_stage stage;
    stage_open(&stage, live, "set-nx-px-cad", false);
    does(&stage, about(CHOICE_ACQUIRE, 0, VERB_SET));
    assert_int_equal(kill(live->servers.rows[0].process.pid, SIGKILL), 0);
    enum fail fail = applies(&stage, about(CHOICE_ARRIVE, 0, VERB_SET_NX_PX), &why);
    assert_int_equal(fail, FAIL_UNAVAILABLE);
    assert_non_null(strstr(why.text, "server 1: redis-server was killed by signal 9"));
    stage_close(&stage);
    live_free(live);
}

static bool no_news(void *context)
{
    (void)context;
    return false;
}

static void waiting_has_an_end(void **state)
{
    (void)state;
    struct failure why;
    assert_int_equal(live_run_until(steered, no_news, NULL, 60000, &why), FAIL_UNKNOWN);
}

static int open_both(void **state)
{
    (void)state;
    struct failure why = {0};
    struct live_options options = {.steering = STEERED};
    if (live_new(&steered, &options, &why))
        return -1;
    options.steering = REAL_TIME;
    return live_new(&real_time, &options, &why) ? -1 : 0;
}

static int close_both(void **state)
{
    (void)state;
    live_free(steered);
    live_free(real_time);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_ends_at_once_when_time_is_steered),
        cmocka_unit_test(a_run_finds_nothing_of_the_last_one),
        cmocka_unit_test(an_abandoned_request_arrives_late),
        cmocka_unit_test(a_reply_of_an_earlier_attempt_resumes_nothing),
        cmocka_unit_test(eviction_takes_the_lock_only),
        cmocka_unit_test(a_replica_keeps_what_it_had_when_it_was_cut),
        cmocka_unit_test(a_server_refuses_for_real),
        cmocka_unit_test(what_does_not_refuse_is_told),
        cmocka_unit_test(a_transaction_is_one_message),
        cmocka_unit_test(real_time_really_passes),
        cmocka_unit_test(a_server_that_dies_is_told),
        cmocka_unit_test(waiting_has_an_end),
        cmocka_unit_test(both_worlds_write_the_same_history),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}
