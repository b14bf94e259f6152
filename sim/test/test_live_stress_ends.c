/* test_live_stress_ends.c - how a free run ends: early, on a machine that holds it up, with a dead
 * server, and where connections are scarce. */
#include "test/stress_summary.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- ends --- */

static void a_stop_ends_it_early(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    options.duration_us = 3600 * (int64_t)SECOND_US;
    summary.stop_after = 500;
    runs(&options, &outcome);
    assert_true(outcome.was_stopped);
    assert_true(outcome.elapsed_us < 60 * SECOND_US);
    assert_int_equal(summary.counter, summary.sections); /* the end is read as ever */
}

static void progress_is_told(void *context, const struct stress_progress *progress)
{
    int *told = context;
    assert_true(progress->elapsed_us > 0 && progress->operations > progress->grants);
    assert_true(progress->grants > 0 && progress->p99_us > 0);
    ++*told;
}

static void progress_comes_every_second(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    int told = 0;
    options.duration_us = 2500000;
    options.progress = progress_is_told;
    options.progress_context = &told;
    runs(&options, &outcome);
    assert_int_equal(told, 2);
}

/* --- a busy machine --- */

static bool is_held_up; /* behind every timer that is set, until it is due */

int __real_uv_timer_start(uv_timer_t *timer, uv_timer_cb rings, uint64_t in_ms, uint64_t again_ms);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb rings, uint64_t in_ms, uint64_t again_ms);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb rings, uint64_t in_ms, uint64_t again_ms)
{
    int status = __real_uv_timer_start(timer, rings, in_ms, again_ms);
    if (is_held_up && in_ms < 50)
        (void)usleep((useconds_t)(in_ms + 2) * 1000);
    return status;
}

/* Nothing is under way most of the time: only its timers can wake the run. */
static void a_run_that_is_held_up_goes_on(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    options.clients = 1;
    options.think = distribution_about(10000);
    options.duration_us = SECOND_US / 2;
    is_held_up = true;
    (void)alarm(60); /* it hung for ever */
    runs(&options, &outcome);
    (void)alarm(0);
    is_held_up = false;
    assert_true(outcome.elapsed_us >= SECOND_US / 2);
}

static struct live *own_servers(void)
{
    struct live *own;
    struct live_options how = {.steering = REAL_TIME};
    struct failure why;
    assert_int_equal(live_new(&own, &how, &why), FAIL_NONE);
    return own;
}

/* By whoever notices first: its clients, whose connections break, or the look at servers that comes
 * ten times a second. */
static void a_dead_server_is_told(void **state)
{
    (void)state;
    for (int by_the_look = 0; by_the_look < 2; by_the_look++) {
        struct live *own = own_servers();
        struct stress_options options = options_of("set-nx-px-cad");
        struct stress_outcome outcome;
        struct failure why;
        options.duration_us = SECOND_US / 4;
        assert_int_equal(live_stress(own, &options, &outcome, &why), FAIL_NONE);
        options = options_of("set-nx-px-cad");
        options.duration_us = 60 * (int64_t)SECOND_US;
        summary.stop_after = 300;
        summary.kill_pid = own->servers.rows[0].process.pid;
        summary.held_up_us = by_the_look ? 150000 : 0;
        const enum fail fail = live_stress(own, &options, &outcome, &why);
        live_free(own);
        assert_int_equal(fail, FAIL_NONE);
        assert_int_equal(outcome.ended.code, FAIL_UNKNOWN);
        assert_non_null(strstr(outcome.ended.text, "redis-server was killed by signal 9"));
        assert_string_equal(outcome.doubt.text, outcome.ended.text);
    }
}

/* It is a zombie then: whoever looks sees it. */
static void kill_process(const struct process *process)
{
    siginfo_t ended;
    assert_int_equal(kill(process->pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)process->pid, &ended, WEXITED | WNOWAIT), 0);
}

static void kill_server_of(const struct live *own)
{
    kill_process(&own->servers.rows[0].process);
}

/* What goes through its proxy is asked before clients connect, too: to prove that way. */
struct killer {
    struct live *own;
    bool while_clients_connect;
};

static void kill_who_is_reached(uv_prepare_t *turn)
{
    const struct killer *killer = turn->data;
    const struct live *own = killer->own;
    if (own->is_busy != killer->while_clients_connect || !own->endpoints[0].connections)
        return;
    kill_server_of(own);
    (void)uv_prepare_stop(turn);
}

static void kill_when_all_is_proved(void *context)
{
    kill_server_of(context);
}

/* Behind the last look at the clocks, before the counters are read: what was found stays. */
static void a_server_that_dies_at_the_very_end_loses_nothing(void **state)
{
    (void)state;
    struct live *own = own_servers();
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    struct failure why;
    options.duration_us = SECOND_US / 4; /* no other look */
    options.proved = kill_when_all_is_proved;
    options.proved_context = own;
    const enum fail fail = live_stress(own, &options, &outcome, &why);
    live_free(own);
    assert_int_equal(fail, FAIL_NONE);
    assert_int_equal(outcome.clients, options.clients);
    assert_non_null(strstr(outcome.ended.text, "redis-server was killed by signal 9"));
    assert_string_equal(outcome.doubt.text, outcome.ended.text);
}

static void short_run(struct live *own, struct stress_outcome *outcome)
{
    struct stress_options options = options_of("set-nx-px-cad");
    struct failure why;
    options.duration_us = 60 * (int64_t)SECOND_US;
    summary.stop_after = 1000;
    assert_int_equal(live_stress(own, &options, outcome, &why), FAIL_NONE);
}

/* The next run has another server; and so has one whose server dies before. */
static void a_server_that_dies_before_its_clients_begin_ends_one_run(void **state)
{
    (void)state;
    struct killer killer = {0};
    struct live_options how = {.steering = REAL_TIME};
    struct stress_outcome outcome;
    struct failure why;
    uv_prepare_t turn = {.data = &killer};
    assert_int_equal(live_new(&killer.own, &how, &why), FAIL_NONE);
    assert_int_equal(uv_prepare_init(&killer.own->loop, &turn), 0);
    uv_unref((uv_handle_t *)&turn);
    for (int times = 0; times < 3; times++) {
        killer.while_clients_connect = times == 1;
        assert_int_equal(uv_prepare_start(&turn, kill_who_is_reached), 0);
        short_run(killer.own, &outcome);
        assert_false(uv_is_active((uv_handle_t *)&turn)); /* it has struck */
        if (killer.while_clients_connect)
            assert_string_equal(outcome.ended.text, "it ended while its clients connected: server "
                                                    "1: redis-server was killed by signal 9");
        else
            assert_int_equal(outcome.ended.code, FAIL_NONE);
        if (killer.while_clients_connect)
            assert_string_equal(outcome.doubt.text, outcome.ended.text);
        assert_int_equal(summary.sections > 0, !killer.while_clients_connect);
    }
    kill_server_of(killer.own);
    short_run(killer.own, &outcome);
    assert_true(outcome.ended.code == FAIL_NONE && summary.sections > 0);
    uv_close((uv_handle_t *)&turn, NULL);
    live_free(killer.own);
}

static void a_replica_that_dies_between_two_runs_is_replaced(void **state)
{
    (void)state;
    struct live *own = own_servers();
    struct stress_outcome outcome;
    struct failure why;
    for (int run = 0; run < 2; run++) {
        struct stress_options options = options_of("set-nx-px-wait");
        options.duration_us = 60 * (int64_t)SECOND_US;
        summary.stop_after = 1000;
        assert_int_equal(live_stress(own, &options, &outcome, &why), FAIL_NONE);
        assert_true(outcome.ended.code == FAIL_NONE && summary.sections > 0);
        if (run == 0)
            kill_process(&own->servers.rows[0].replica);
    }
    live_free(own);
}

/* --- descriptors: in a child, for a limit cannot be raised again --- */

static int with_descriptors(rlim_t limit, int clients)
{
    int status;
    int child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct live *own;
        struct live_options how = {.steering = REAL_TIME};
        struct stress_options options = options_of("set-nx-px-cad");
        struct stress_outcome outcome;
        struct failure why;
        const struct rlimit few = {limit, limit};
        if (setrlimit(RLIMIT_NOFILE, &few) || live_new(&own, &how, &why))
            _exit(99);
        options.clients = clients;
        enum fail fail = live_stress(own, &options, &outcome, &why);
        live_free(own);
        int attempts = 0;
        for (int i = 0; i < clients; i++)
            attempts += summary.attempts[i] > 0;
        if (fail)
            _exit(strstr(why.text, "raise the limit") ? (int)fail : 98);
        bool is_whole = attempts == clients && outcome.clients == clients &&
                        summary.counter == summary.sections;
        _exit(is_whole ? 0 : 97);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* 40 connections, a tenth of them for those that were given up. */
static void all_clients_are_connected_or_none(void **state)
{
    (void)state;
    assert_int_equal(with_descriptors(320, 36), 0);
    assert_int_equal(with_descriptors(320, 37), FAIL_UNAVAILABLE);
    /* A process holds the proxy's ends, and 100 are left for those that are just dialled. */
    assert_int_equal(with_descriptors(500, 120), 0);
    assert_int_equal(with_descriptors(500, 181), FAIL_UNAVAILABLE);
    assert_int_equal(with_descriptors(320, 200), FAIL_UNAVAILABLE);
    assert_int_equal(with_descriptors(200, 1), FAIL_UNAVAILABLE);
}

/* 40 connections for 36 clients, and half of their commands late by two seconds: a client whose
 * connection was left, and for which there is no other, waits for one no longer than for an answer.
 * Else its lease, which counts from the call, would be over before its request leaves. */
static void a_time_out_counts_from_the_call_also_without_a_connection(void **state)
{
    (void)state;
    int status;
    int child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct live *own;
        struct live_options how = {.steering = REAL_TIME};
        struct stress_options options = options_of("set-nx-px-cad");
        struct stress_outcome outcome;
        struct failure why;
        const struct rlimit few = {320, 320};
        options.clients = 36;
        options.delay_ppm = 500000;
        options.delay_us = 2 * SECOND_US;
        options.timeout_us = SECOND_US / 10;
        options.duration_us = 3 * SECOND_US;
        if (setrlimit(RLIMIT_NOFILE, &few) || live_new(&own, &how, &why) ||
            live_stress(own, &options, &outcome, &why))
            _exit(99);
        live_free(own);
        bool has_given_up = summary.faults[CHOICE_GIVE_UP] > summary.delays / 4;
        _exit(has_given_up && summary.longest_us < SECOND_US / 2 ? 0 : 97);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_ends_it_early),
        cmocka_unit_test(progress_comes_every_second),
        cmocka_unit_test(a_run_that_is_held_up_goes_on),
        cmocka_unit_test(a_dead_server_is_told),
        cmocka_unit_test(a_server_that_dies_before_its_clients_begin_ends_one_run),
        cmocka_unit_test(a_server_that_dies_at_the_very_end_loses_nothing),
        cmocka_unit_test(a_replica_that_dies_between_two_runs_is_replaced),
        cmocka_unit_test(all_clients_are_connected_or_none),
        cmocka_unit_test(a_time_out_counts_from_the_call_also_without_a_connection),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
