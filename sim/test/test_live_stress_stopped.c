/* test_live_stress_stopped.c - a free run in which a process that it needs is stopped (SIGSTOP),
 * and neither ends nor answers: the run is told to end, and does. */
#include "test/stress_summary.h"

enum { EVENTS_BEFORE = 300, HUNG_S = 120 };

static void must_be_told(const struct stress_outcome *outcome, const char *words)
{
    if (outcome->ended.code != FAIL_UNKNOWN || !strstr(outcome->ended.text, words))
        fail_msg("%d: %s", outcome->ended.code, outcome->ended.text);
    assert_string_equal(outcome->doubt.text, outcome->ended.text);
}

/* --- a server --- */

static const char not_before_its_end[] = "TIME was not answered before the run was told to end";

static void stop_server(void)
{
    assert_int_equal(kill(live->servers.rows[0].process.pid, SIGSTOP), 0);
    summary.stop = SIGINT;
}

static void stop_server_after_some(void *context, const struct event *event)
{
    summary_take(context, event);
    if (summary.events == EVENTS_BEFORE)
        stop_server();
}

static void a_signal_ends_the_wait_for_a_stopped_server(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    struct failure why;
    options.duration_us = 3600 * (int64_t)SECOND_US;
    options.sink.take = stop_server_after_some;
    (void)alarm(HUNG_S);
    const enum fail fail = live_stress(live, &options, &outcome, &why);
    (void)alarm(0);
    assert_int_equal(fail, FAIL_NONE);
    assert_true(outcome.was_stopped);
    must_be_told(&outcome, not_before_its_end);
}

/* For a run without a time of its own a signal is the end that it was to have: its answers are
 * waited for as ever. */
static void the_end_of_a_run_without_a_time_is_not_hurried(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    struct failure why;
    options.duration_us = 0;
    options.sink.take = stop_server_after_some;
    const enum fail fail = live_stress(live, &options, &outcome, &why);
    assert_int_equal(fail, FAIL_NONE);
    must_be_told(&outcome, "TIME was not answered within 5 s");
}

static void stop_while_clients_connect(uv_prepare_t *turn)
{
    if (!live->is_busy || !live->endpoints[0].connections)
        return;
    stop_server();
    (void)uv_prepare_stop(turn);
}

static void a_signal_ends_the_wait_for_clients_to_connect(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    struct failure why;
    uv_prepare_t turn;
    assert_int_equal(uv_prepare_init(&live->loop, &turn), 0);
    uv_unref((uv_handle_t *)&turn);
    assert_int_equal(uv_prepare_start(&turn, stop_while_clients_connect), 0);
    const enum fail fail = live_stress(live, &options, &outcome, &why);
    uv_close((uv_handle_t *)&turn, NULL);
    assert_int_equal(fail, FAIL_NONE);
    assert_true(outcome.was_stopped && outcome.clients < CLIENTS);
    must_be_told(&outcome, not_before_its_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signal_ends_the_wait_for_a_stopped_server, open_live,
                                        close_live),
        cmocka_unit_test_setup_teardown(the_end_of_a_run_without_a_time_is_not_hurried, open_live,
                                        close_live),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_wait_for_clients_to_connect, open_live,
                                        close_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
