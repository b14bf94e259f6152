/* test_live_stress.c - the free run: what is told of it, that nothing is lost without faults, and
 * each fault. */
#include "test/stress_summary.h"

#include "schemes/parts.h"

#include <stdlib.h>
#include <unistd.h>

/* A lease that no scheduling hiccup outlives, no faults: every section counts, to the last one. */
static void nothing_is_lost_without_faults(void **state)
{
    (void)state;
    static const char *const schemes_tried[] = {"set-nx-px-cad", "watch-multi-del", "fenced",
                                                "watchdog"};
    for (size_t i = 0; i < sizeof schemes_tried / sizeof *schemes_tried; i++) {
        struct stress_options options = options_of(schemes_tried[i]);
        struct stress_outcome outcome;
        runs(&options, &outcome);
        assert_true(summary.sections > 0);
        assert_int_equal(summary.counter, summary.sections);
        assert_int_equal(summary.pushes, summary.sections);
        assert_int_equal(summary.kinds[EVENT_FAULT], 0);
        assert_int_equal(summary.kinds[EVENT_CALL], summary.kinds[EVENT_RETURN]);
        assert_int_equal(summary.kinds[EVENT_SEND], summary.kinds[EVENT_HEAR]);
        assert_int_equal(summary.kinds[EVENT_EXECUTE], summary.kinds[EVENT_HEAR] + 1);
        assert_true(outcome.elapsed_us >= SECOND_US && !outcome.was_stopped);
        assert_true(outcome.latency_us.p50 > 0);
        assert_true(outcome.latency_us.p50 <= outcome.latency_us.p99);
        assert_true(outcome.latency_us.p99 <= outcome.latency_us.p999);
        assert_true(outcome.latency_us.p999 <= outcome.latency_us.max);
    }
}

/* All clients are in flight at once, and each reply is the one that the order of executions leads
 * to. */
static void replies_are_those_of_the_order(void **state)
{
    (void)state;
    static const char *const schemes_tried[] = {"set-nx-px-cad", "watch-multi-del", "fenced",
                                                "multi-setnx-expire-del"};
    enum { SCHEMES = sizeof schemes_tried / sizeof *schemes_tried };
    for (size_t i = 0; i < 2 * SCHEMES; i++) {
        if (!is_long() && (i + i / SCHEMES) % 2)
            continue; /* each scheme near or far */
        struct stress_options options = options_of(schemes_tried[i % SCHEMES]);
        struct stress_outcome outcome;
        struct model model;
        model_init(&model, 1000);
        summary.model = &model;
        options.is_near = i >= SCHEMES;
        options.proxy_processes = i % 3 == 1 ? 2 : 0;
        options.clients = 60;
        options.think = distribution_about(1);
        options.duration_us = 60 * (int64_t)SECOND_US; /* a slow machine takes longer, no more */
        summary.until_sections = 50;
        runs(&options, &outcome);
        assert_true(summary.sections >= 50);
        assert_false(outcome.was_one_at_a_time);
    }
}

/* --- unix sockets --- */

/* Each client's end is told from the others'. */
static void both_ends_of_a_near_connection_are_had(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    char folder[] = "/tmp/picklock-near-XXXXXX", far_away[200] = {0}, got;
    struct near_link link;
    struct failure why;
    redisAsyncContext *clients[COUNT];
    int ends[COUNT];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(near_link_open(&link, folder, &why), FAIL_NONE);
    for (int i = 0; i < COUNT; i++) {
        clients[i] = near_link_connect(&link, &ends[i]);
        assert_true(clients[i] && !clients[i]->err && ends[i] >= 0);
    }
    for (int i = 0; i < COUNT; i++) {
        const char sent = (char)('a' + i);
        assert_int_equal(write(clients[i]->c.fd, &sent, 1), 1);
        assert_int_equal(read(ends[i], &got, 1), 1);
        assert_int_equal(got, sent);
        redisAsyncFree(clients[i]);
        (void)close(ends[i]);
    }
    near_link_shut(&link);
    clients[0] = near_link_connect(&link, &ends[0]);
    assert_true(clients[0]->err && ends[0] < 0);
    redisAsyncFree(clients[0]);
    memset(far_away, 'f', sizeof far_away - 1);
    assert_int_equal(near_link_open(&link, far_away, &why), FAIL_UNAVAILABLE);
    assert_int_equal(rmdir(folder), 0); /* nothing is left there */
}

/* --- without the proxy --- */

/* The same without the proxy: what the server was seen to read is the order, and nothing is lost.
 */
static void a_direct_run_knows_the_order(void **state)
{
    (void)state;
    static const char *const schemes_tried[] = {"set-nx-px-cad", "watch-multi-del", "fenced",
                                                "multi-setnx-expire-del"};
    for (size_t i = 0; i < sizeof schemes_tried / sizeof *schemes_tried; i++) {
        struct stress_options options = options_of(schemes_tried[i]);
        struct stress_outcome outcome;
        struct model model;
        model_init(&model, 1000);
        summary.model = &model;
        options.is_direct = true;
        options.clients = 60;
        options.think = distribution_about(1);
        options.duration_us = 60 * (int64_t)SECOND_US; /* a slow machine takes longer, no more */
        summary.until_sections = 50;
        runs(&options, &outcome);
        assert_true(summary.sections >= 50);
        assert_int_equal(summary.counter, summary.sections);
        assert_int_equal(summary.kinds[EVENT_FAULT], 0);
        assert_false(outcome.was_one_at_a_time);
    }
}

/* What clients suffer strikes there, too, and connections that end are made anew. */
static void clients_faults_strike_a_direct_run(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    options.is_direct = true;
    options.lease_us = scheme_lease_us(options.scheme, 100000);
    options.pause_ppm = 50000;
    options.pause_us = options.lease_us;
    options.crash_ppm = 50000;
    options.duration_us = 60 * (int64_t)SECOND_US; /* a slow machine takes longer, no more */
    summary.until_sections = 300;
    runs(&options, &outcome);
    assert_true(outcome.struck[STRUCK_PAUSE] > 0 && outcome.struck[STRUCK_CRASH] > 0);
    assert_int_equal(outcome.struck[STRUCK_CRASH], summary.faults[CHOICE_CRASH]);
    assert_true(summary.sections > 0);
}

/* Who asks with WAIT is granted a lock, as each server has a replica that acknowledges; and a
 * scheme that does not ask is none the worse behind it. */
static void a_wait_is_answered_by_a_replica(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct stress_options options = options_of(i < 2 ? "set-nx-px-wait" : "set-nx-px-cad");
        struct stress_outcome outcome;
        options.is_direct = i == 1;
        options.duration_us = 90 * (int64_t)SECOND_US; /* a slow machine takes longer, no more */
        summary.until_sections = 20;
        runs(&options, &outcome);
        assert_true(summary.sections >= 20);
        assert_int_equal(summary.counter, summary.sections);
        assert_int_equal(outcome.doubt.code, FAIL_NONE);
    }
}

static void set_faults(struct stress_options *options)
{
    /* Long against a round trip on a busy machine, and under sanitizers. */
    options->lease_us = scheme_lease_us(options->scheme, 100000);
    options->timeout_us = 50000;
    options->pause_ppm = 50000;
    options->pause_us = options->lease_us * 3 / 2;
    options->delay_ppm = 20000;
    options->delay_us = 60000;
    options->lose_reply_ppm = 10000;
    options->lose_request_ppm = 10000;
    options->crash_ppm = 10000;
    options->duration_us = 2 * SECOND_US;
}

static void every_fault_strikes_and_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int servers, locks;
        bool is_near;
        int proxy_processes;
    } rows[] = {{"set-nx-px-cad", 1, 1, false, 0},
                {"watchdog", 1, 3, false, 1},
                {"redlock", 3, 2, false, 2},
                {"watchdog", 1, 1, true, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stress_options options = options_of(rows[i].scheme);
        struct stress_outcome outcome;
        options.servers = rows[i].servers;
        options.locks = rows[i].locks;
        options.is_near = rows[i].is_near;
        options.proxy_processes = rows[i].proxy_processes;
        set_faults(&options);
        summary.until_struck = true;
        options.duration_us = 90 * (int64_t)SECOND_US; /* a slow machine takes longer, no more */
        runs(&options, &outcome);
        assert_int_equal(outcome.struck[STRUCK_PAUSE], summary.pauses);
        assert_int_equal(outcome.struck[STRUCK_DELAY], summary.delays);
        assert_int_equal(outcome.struck[STRUCK_REPLY], summary.faults[CHOICE_LOSE_REPLY]);
        assert_int_equal(outcome.struck[STRUCK_REQUEST], summary.faults[CHOICE_LOSE_REQUEST]);
        assert_int_equal(outcome.struck[STRUCK_CRASH], summary.faults[CHOICE_CRASH]);
        /* what was given up on executes all the same: summary.late */
        assert_true(outcome.was_stopped && has_struck_all(&summary));
    }
}

static void a_safe_scheme_only_overruns(void **state)
{
    (void)state;
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    struct stress_options options = options_of("set-nx-px-cad");
    set_faults(&options);
    for (int i = 0; i < RUNS_MAX && (counters.grants <= 10 || counters.overruns == 0); i++) {
        options.seed++;
        checks_agree(&options, findings, &counters);
        assert_int_equal(counters.foreign_releases, 0);
        assert_int_not_equal(findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_VIOLATED);
        assert_int_not_equal(findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_VIOLATED);
    }
    assert_true(counters.grants > 10 && counters.overruns > 0);
    assert_int_equal(findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_HOLDS);
    assert_int_equal(findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_HOLDS);
    assert_int_equal(findings[PROPERTY_MUTUAL_EXCLUSION].cause, CAUSE_OVERRUN);
}

static void a_blind_delete_is_found(void **state)
{
    (void)state;
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    struct stress_options options = options_of("set-nx-ex-del");
    set_faults(&options); /* its lease is a second: stalls of one and a half on average */
    options.pause_ppm = 500000;
    options.duration_us = 5 * SECOND_US;
    for (int i = 0; i < RUNS_MAX && counters.foreign_releases == 0; i++) {
        options.seed++;
        checks_agree(&options, findings, &counters);
    }
    assert_true(counters.foreign_releases > 0);
    assert_int_equal(findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_VIOLATED);
    assert_int_equal(findings[PROPERTY_RELEASE_OWN].cause, CAUSE_UNLOCK_BUG);
}

/* A connection that a client gave up on keeps its WATCH. Were it used again, that WATCH would abort
 * the transaction of a later attempt, as soon as the key has changed that it was about. Nothing
 * else aborts one while its own lease lasts: nobody changes another's key. */
static void no_watch_outlives_its_attempt(void **state)
{
    (void)state;
    struct stress_options options = options_of("watch-multi-del");
    struct stress_outcome outcome;
    options.locks = 20;
    options.clients = 40;
    options.lease_us = 500000;
    options.timeout_us = 100000;
    options.think = distribution_about(100000);
    options.delay_ppm = 200000;
    options.delay_us = 100000;
    options.duration_us = 60 * (int64_t)SECOND_US;
    summary.until_deletes = 200;
    summary.lease_us = options.lease_us - live_clock_error_us(live);
    runs(&options, &outcome);
    assert_true(summary.faults[CHOICE_GIVE_UP] > 10);
    assert_true(summary.deletes > 100);
    assert_int_equal(summary.aborts, 0);
}

/* A lock that looks at its own key as soon as it has it, on its second connection, and does not
 * wait for the answer: with GET in one attempt, with a renewal in the next. So an answer to the
 * attempt before is not to what it asked. */
struct looking_lock {
    int64_t at; /* enum looking_step */
};

static const enum scheme_field looking_fields[] = {FIELD_STEP};
FIELDS_FIT(struct looking_lock, looking_fields);

enum looking_step { START, ASKED, HELD, DELETED };

static int strange_answers;

/* Bits 14 to 35 of a token number its attempts: client.c. */
static enum verb looks_with(const struct lease *lease)
{
    return lease->token >> 14 & 1 ? VERB_GET : VERB_COMPARE_EXPIRE;
}

static bool is_of_a_look(const struct lease *lease, const struct moment *in)
{
    bool is_look = in->verb == VERB_GET || in->verb == VERB_COMPARE_EXPIRE;
    strange_answers += in->kind == MOMENT_REPLY && is_look && in->verb != looks_with(lease);
    return in->kind == MOMENT_REPLY && is_look;
}

static void looking_lock(void *state, const struct lease *lease, const struct moment *in,
                         struct outbox *out)
{
    struct looking_lock *self = state;
    if (is_of_a_look(lease, in))
        return;

    SCRIPT(self);

    out_set_nx_px(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in)) {
        out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }
    out_send(out, LANE_RENEW, SERVER_ONE,
             (struct command){
                 .verb = looks_with(lease), .value = lease->token, .ttl_us = lease->ttl_us});
    out_granted(out);
    AWAIT(self, HELD);

    out_compare_and_delete(out, SERVER_ONE, lease);
    AWAIT(self, DELETED);
    out_compared(out, in);

    SCRIPT_END(self);
}

static const struct scheme scheme_looking_lock = {
    .name = "looking-lock",
    .summary = "looking-lock",
    .source = "sim/test/test_live_stress.c",
    .step = looking_lock,
    FIELDS_OF(looking_fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
};

static void a_reply_of_an_earlier_attempt_resumes_nothing(void **state)
{
    (void)state;
    struct stress_outcome outcome;
    struct stress_options options = options_of("set-nx-px-cad");
    options.scheme = &scheme_looking_lock;
    options.clients = 2;
    options.locks = 2;
    options.delay_ppm = 100000;
    options.delay_us = 50000;
    options.duration_us = 60 * (int64_t)SECOND_US;
    summary.until_unheeded = 10;
    runs(&options, &outcome);
    assert_true(summary.unheeded >= 10); /* they came, and are in the history */
    assert_int_equal(strange_answers, 0);
}

static void many_locks_are_shared(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    options.locks = 50;
    options.clients = 200;
    options.duration_us = 600 * (int64_t)SECOND_US; /* a slow machine takes longer, no more */
    summary.until_sections = 100;
    runs(&options, &outcome);
    assert_true(summary.sections >= 100);
    assert_int_equal(summary.kinds[EVENT_EXECUTE], summary.kinds[EVENT_HEAR] + 50);
}

/* --- dice --- */

static void draws_depend_on_nothing_else(void **state)
{
    (void)state;
    struct stress_options options = {.seed = 7};
    const struct stress stress = {.options = &options};
    int64_t sum = 0;
    enum { DRAWS = 20000, MEAN = 1000 };
    uint64_t first = stress_draw(&stress, 3, DRAW_COMMAND, 5);
    assert_true(first == stress_draw(&stress, 3, DRAW_COMMAND, 5));
    assert_true(first != stress_draw(&stress, 3, DRAW_COMMAND, 6));
    assert_true(first != stress_draw(&stress, 4, DRAW_COMMAND, 5));
    assert_true(first != stress_draw(&stress, 3, DRAW_PAUSE, 5));
    for (int i = 0; i < DRAWS; i++) {
        int64_t one = stress_spread(stress_draw(&stress, 0, DRAW_PAUSE, i), MEAN);
        assert_in_range(one, 0, 2 * MEAN);
        sum += one;
    }
    assert_in_range(sum / DRAWS, MEAN * 95 / 100, MEAN * 105 / 100);
    assert_int_equal(stress_spread(first, 0), 0);
}

/* However long it runs; and no check misses what was cut. */
static void a_list_does_not_grow_without_end(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct finding findings[PROPERTY_COUNT];
    struct counters counters;
    options.duration_us = 60 * (int64_t)SECOND_US;
    options.think = distribution_about(0);
    summary.until_sections = 2500;
    checks_agree(&options, findings, &counters);
    assert_true(summary.pushes > 2400);
    assert_in_range(summary.longest, 1000, 1000 + CLIENTS);
    assert_int_equal(findings[PROPERTY_NO_LOST_UPDATE].verdict, VERDICT_HOLDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_depend_on_nothing_else),
        cmocka_unit_test(nothing_is_lost_without_faults),
        cmocka_unit_test(replies_are_those_of_the_order),
        cmocka_unit_test(both_ends_of_a_near_connection_are_had),
        cmocka_unit_test(a_direct_run_knows_the_order),
        cmocka_unit_test(clients_faults_strike_a_direct_run),
        cmocka_unit_test(a_wait_is_answered_by_a_replica),
        cmocka_unit_test(every_fault_strikes_and_is_told),
        cmocka_unit_test(a_safe_scheme_only_overruns),
        cmocka_unit_test(a_blind_delete_is_found),
        cmocka_unit_test(no_watch_outlives_its_attempt),
        cmocka_unit_test(a_reply_of_an_earlier_attempt_resumes_nothing),
        cmocka_unit_test(many_locks_are_shared),
        cmocka_unit_test(a_list_does_not_grow_without_end),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
