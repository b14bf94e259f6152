/* test_live_stress_stopped.c - a free run in which a process that it needs is stopped (SIGSTOP),
 * and neither ends nor answers, or in which one command alone is never answered: the run ends all
 * the same. */
#include "proxy/carrier_parts.h"
#include "proxy/internal.h"
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
    must_be_told(&outcome, "was not answered within 5 s"); /* a command, or TIME */
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
    static uv_prepare_t turn; /* the loop lets go of it later */
    assert_int_equal(uv_prepare_init(&live->loop, &turn), 0);
    uv_unref((uv_handle_t *)&turn);
    assert_int_equal(uv_prepare_start(&turn, stop_while_clients_connect), 0);
    const enum fail fail = live_stress(live, &options, &outcome, &why);
    uv_close((uv_handle_t *)&turn, NULL);
    assert_int_equal(fail, FAIL_NONE);
    assert_true(outcome.was_stopped && outcome.clients < CLIENTS);
    must_be_told(&outcome, not_before_its_end);
}

/* --- a command --- */

static struct proxy_link *silenced;
static int64_t heard_by_then; /* of clients' commands */

/* Of the first link on which one is with the server. */
static void silence_one(uv_prepare_t *turn)
{
    struct proxy_link *link = live->endpoints[0].proxy->links;
    if (summary.events < EVENTS_BEFORE)
        return;
    while (link && (!link->first || link->is_over))
        link = link->next;
    if (!link)
        return;
    proxy_link_silence(link);
    silenced = link;
    heard_by_then = summary.kinds[EVENT_HEAR];
    (void)uv_prepare_stop(turn);
}

static enum fail stress_with_a_silence(const struct stress_options *options,
                                       struct stress_outcome *outcome)
{
    uv_prepare_t turn;
    struct failure why;
    silenced = NULL;
    assert_int_equal(uv_prepare_init(&live->loop, &turn), 0);
    uv_unref((uv_handle_t *)&turn);
    assert_int_equal(uv_prepare_start(&turn, silence_one), 0);
    (void)alarm(HUNG_S);
    const enum fail fail = live_stress(live, options, outcome, &why);
    (void)alarm(0);
    uv_close((uv_handle_t *)&turn, NULL);
    (void)uv_run(&live->loop, UV_RUN_NOWAIT); /* which lets go of it */
    assert_non_null(silenced);
    return fail;
}

/* Whether all others stand behind it (in real time), or their replies do. */
static void a_command_that_is_never_answered_ends_the_run(void **state)
{
    (void)state;
    for (int is_short = 0; is_short < 2; is_short++) {
        struct stress_options options = options_of("set-nx-px-cad");
        struct stress_outcome outcome;
        options.duration_us = is_short ? SECOND_US : 3600 * (int64_t)SECOND_US;
        options.timeout_us = SECOND_US / 10;
        assert_int_equal(stress_with_a_silence(&options, &outcome), FAIL_NONE);
        must_be_told(&outcome, "server 1: ");
        must_be_told(&outcome, "was not answered within 5 s");
        assert_true(summary.kinds[EVENT_HEAR] <= heard_by_then + CLIENTS);
    }
}

static void come_to_the_signal(uv_timer_t *looks)
{
    if (!silenced)
        return;
    summary.stop = SIGINT;
    (void)uv_timer_stop(looks);
}

static void a_signal_ends_the_wait_for_a_command(void **state)
{
    (void)state;
    static uv_timer_t looks;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    options.duration_us = 3600 * (int64_t)SECOND_US;
    silenced = NULL;
    assert_int_equal(uv_timer_init(&live->loop, &looks), 0);
    assert_int_equal(uv_timer_start(&looks, come_to_the_signal, 10, 10), 0);
    uv_unref((uv_handle_t *)&looks);
    assert_int_equal(stress_with_a_silence(&options, &outcome), FAIL_NONE);
    uv_close((uv_handle_t *)&looks, NULL);
    must_be_told(&outcome, "was not answered before the run was told to end");
}

enum { SLOW_TICKS = 250, TICK_MS = 10 };

static int ticks;

static void answer_at_last(uv_timer_t *looks)
{
    if (!silenced || ++ticks < SLOW_TICKS)
        return;
    proxy_link_speak(silenced);
    (void)uv_timer_stop(looks);
    summary.until_sections = summary.sections + 50;
}

static void a_command_that_is_slow_is_waited_for(void **state)
{
    (void)state;
    static uv_timer_t looks;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    options.duration_us = 3600 * (int64_t)SECOND_US;
    ticks = 0;
    silenced = NULL;
    assert_int_equal(uv_timer_init(&live->loop, &looks), 0);
    assert_int_equal(uv_timer_start(&looks, answer_at_last, TICK_MS, TICK_MS), 0);
    uv_unref((uv_handle_t *)&looks);
    assert_int_equal(stress_with_a_silence(&options, &outcome), FAIL_NONE);
    assert_false(uv_is_active((uv_handle_t *)&looks));
    uv_close((uv_handle_t *)&looks, NULL);
    assert_int_equal(outcome.ended.code, FAIL_NONE);
    assert_int_equal(outcome.doubt.code, FAIL_NONE);
    assert_int_equal(summary.counter, summary.sections);
}

/* --- a process that holds the proxy's ends of connections --- */

static const struct carrier *first_carrier(void)
{
    return &live->endpoints[0].proxy->carriers->rows[0];
}

static int carrier_pid; /* of the one that was stopped */

static void stop_carrier(void)
{
    carrier_pid = first_carrier()->pid;
    assert_int_equal(kill(carrier_pid, SIGSTOP), 0);
}

static bool is_hurried; /* a signal comes, too */

static void stop_carrier_after_some(void *context, const struct event *event)
{
    summary_take(context, event);
    if (summary.events != EVENTS_BEFORE)
        return;
    stop_carrier();
    summary.stop = is_hurried ? SIGINT : 0;
}

static struct stress_options carried_options(void)
{
    struct stress_options options = options_of("set-nx-px-cad");
    options.proxy_processes = 2;
    options.duration_us = 3600 * (int64_t)SECOND_US;
    return options;
}

static void must_end(const struct stress_options *options, const char *words)
{
    struct stress_outcome outcome;
    struct failure why;
    carrier_pid = 0;
    (void)alarm(HUNG_S);
    const enum fail fail = live_stress(live, options, &outcome, &why);
    (void)alarm(0);
    assert_int_equal(fail, FAIL_NONE);
    assert_true(carrier_pid > 0 && kill(carrier_pid, 0) < 0); /* nor is it left */
    must_be_told(&outcome, words);
}

static void a_stopped_carrier_ends_the_run(void **state)
{
    (void)state;
    struct stress_options options = carried_options();
    options.sink.take = stop_carrier_after_some;
    must_end(&options, "held connections of the proxy did not answer for 5s");
}

static void a_signal_ends_the_wait_for_a_stopped_carrier(void **state)
{
    (void)state;
    struct stress_options options = carried_options();
    options.sink.take = stop_carrier_after_some;
    is_hurried = true;
    must_end(&options, "held connections of the proxy did not answer for 500ms");
    is_hurried = false;
}

static void stop_carrier_while_clients_connect(uv_prepare_t *turn)
{
    if (!live->is_busy || !first_carrier()->used)
        return;
    stop_carrier();
    (void)uv_prepare_stop(turn);
}

static void a_carrier_may_be_stopped_while_clients_connect(void **state)
{
    (void)state;
    static uv_prepare_t turn; /* the loop lets go of it later */
    struct stress_options options = carried_options();
    options.clients = 64; /* not all of them have one then */
    assert_int_equal(uv_prepare_init(&live->loop, &turn), 0);
    uv_unref((uv_handle_t *)&turn);
    assert_int_equal(uv_prepare_start(&turn, stop_carrier_while_clients_connect), 0);
    must_end(&options, "it ended while its clients connected: a process that held connections of "
                       "the proxy did not answer for 5s");
    uv_close((uv_handle_t *)&turn, NULL);
}

static void stop_carrier_when_all_is_proved(void *context)
{
    (void)context;
    if (carrier_pid)
        return; /* they are compared once more behind it */
    stop_carrier();
    summary.stop = SIGINT;
}

/* All that was to be recorded is; and its clients have yet to leave. */
static void a_carrier_may_be_stopped_at_the_very_end(void **state)
{
    (void)state;
    struct stress_options options = carried_options();
    options.duration_us = SECOND_US / 4; /* no other look at the clocks */
    options.proved = stop_carrier_when_all_is_proved;
    must_end(&options, "held connections of the proxy did not answer for 500ms");
}

static void go_on(uv_timer_t *timer)
{
    if (!carrier_pid || first_carrier()->silent < 10)
        return;
    assert_int_equal(kill(carrier_pid, SIGCONT), 0);
    (void)uv_timer_stop(timer);
    summary.until_sections = summary.sections + 200;
}

static void a_carrier_that_is_stopped_for_a_while_is_waited_for(void **state)
{
    (void)state;
    static uv_timer_t looks;
    struct stress_options options = carried_options();
    struct stress_outcome outcome;
    options.sink.take = stop_carrier_after_some;
    carrier_pid = 0;
    assert_int_equal(uv_timer_init(&live->loop, &looks), 0);
    assert_int_equal(uv_timer_start(&looks, go_on, 10, 10), 0);
    uv_unref((uv_handle_t *)&looks);
    runs(&options, &outcome);
    assert_true(carrier_pid && !uv_is_active((uv_handle_t *)&looks));
    uv_close((uv_handle_t *)&looks, NULL);
    assert_int_equal(outcome.ended.code, FAIL_NONE);
    assert_int_equal(outcome.doubt.code, FAIL_NONE);
    assert_int_equal(summary.counter, summary.sections);
}

static int open_live_in_real_time(void **state)
{
    (void)state;
    const struct live_options options = {.steering = REAL_TIME};
    return live_new(&live, &options, NULL) ? -1 : 0;
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
        cmocka_unit_test_setup_teardown(a_command_that_is_never_answered_ends_the_run, open_live,
                                        close_live),
        cmocka_unit_test_setup_teardown(a_command_that_is_never_answered_ends_the_run,
                                        open_live_in_real_time, close_live),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_wait_for_a_command,
                                        open_live_in_real_time, close_live),
        cmocka_unit_test_setup_teardown(a_command_that_is_slow_is_waited_for, open_live,
                                        close_live),
        cmocka_unit_test_setup_teardown(a_command_that_is_slow_is_waited_for,
                                        open_live_in_real_time, close_live),
        cmocka_unit_test_setup_teardown(a_stopped_carrier_ends_the_run, open_live, close_live),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_wait_for_a_stopped_carrier, open_live,
                                        close_live),
        cmocka_unit_test_setup_teardown(a_carrier_may_be_stopped_while_clients_connect, open_live,
                                        close_live),
        cmocka_unit_test_setup_teardown(a_carrier_may_be_stopped_at_the_very_end, open_live,
                                        close_live),
        cmocka_unit_test_setup_teardown(a_carrier_that_is_stopped_for_a_while_is_waited_for,
                                        open_live, close_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
