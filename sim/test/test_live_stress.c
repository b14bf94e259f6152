/* test_live_stress.c - the free run: what is told of it, that nothing is lost without faults, each
 * fault, early ends, scarce descriptors. */
#include "base/memory.h"
#include "checks/checks.h"
#include "live/stress.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { CLIENTS = 8, SECOND_US = 1000000 };

/* What a run's events come to. */
struct summary {
    struct checks *checks;
    int64_t events, last_us;
    int64_t kinds[EVENT_COUNT];
    int64_t sections; /* counter writes executed */
    int64_t pushes;
    int64_t counter; /* as nobody read it in the end; -1: not */
    int64_t faults[CHOICE_COUNT];
    int64_t pauses, delays;
    bool is_silent;  /* the only server */
    int64_t spoken;  /* executions and replies heard meanwhile, of clients */
    int64_t late;    /* executions of an attempt that was over */
    int64_t deletes; /* transactions around a DEL that were executed */
    int64_t aborts;  /* and of these aborted within lease_us of the SET of their attempt */
    int64_t lease_us;
    int64_t until_deletes, until_sections; /* ends after so many; 0: not */
    int64_t stop_after;                    /* events; 0: never */
    bool until_struck;                     /* ends once every fault has struck */
    volatile int stop;
    int kill_pid; /* killed after stop_after events instead */
    int attempts[CLIENTS_MAX];
    int64_t set_us[CLIENTS_MAX], call_us[CLIENTS_MAX];
    int64_t longest_us; /* from the call of an operation to a request of it */
};

static void count_fault(struct summary *summary, const struct event *event)
{
    summary->pauses += event->fault == FAULT_PAUSE;
    summary->delays += event->fault == FAULT_DELAY;
    if (event->fault == FAULT_SILENT_SERVER || event->fault == FAULT_REACHABLE)
        summary->is_silent = event->fault == FAULT_SILENT_SERVER;
    for (int i = 0; i < CHOICE_COUNT; i++)
        summary->faults[i] += event->fault == choice_fault((enum choice_kind)i);
}

static bool has_struck_all(const struct summary *summary)
{
    return summary->pauses > 0 && summary->delays > 0 && summary->late > 0 &&
           summary->faults[CHOICE_LOSE_REPLY] > 0 && summary->faults[CHOICE_LOSE_REQUEST] > 0 &&
           summary->faults[CHOICE_CRASH] > 0 && summary->faults[CHOICE_GIVE_UP] > 0;
}

static void count_release(struct summary *summary, const struct event *event)
{
    int64_t *set_us = &summary->set_us[event->client];
    if (event->command.verb == VERB_SET_NX_PX)
        *set_us = event->from_us;
    if (event->command.verb != VERB_MULTI_DEL)
        return;
    if (++summary->deletes == summary->until_deletes)
        summary->stop = 1;
    summary->aborts +=
        event->reply.kind == REPLY_NIL && event->time_us < *set_us + summary->lease_us;
}

static void summary_take(void *context, const struct event *event)
{
    struct summary *summary = context;
    const struct command *command = &event->command;
    assert_int_equal(event->index, summary->events++);
    assert_true(event->from_us <= event->time_us);
    summary->last_us = event->time_us;
    summary->kinds[event->kind]++;
    if (event->kind == EVENT_FAULT)
        count_fault(summary, event);
    summary->spoken += summary->is_silent && event->kind == EVENT_EXECUTE && event->client >= 0;
    if (event->kind == EVENT_CALL) {
        summary->attempts[event->client] = event->attempt;
        summary->call_us[event->client] = event->time_us;
    }
    if (event->kind == EVENT_SEND) {
        int64_t waited_us = event->time_us - summary->call_us[event->client];
        if (waited_us > summary->longest_us)
            summary->longest_us = waited_us;
    }
    if (event->kind == EVENT_EXECUTE && event->client < 0) {
        summary->counter = event->reply.kind == REPLY_VALUE ? event->reply.value : 0;
    } else if (event->kind == EVENT_EXECUTE) {
        bool is_section = command->key == KEY_COUNTER && command->verb == VERB_SET;
        if (is_section && ++summary->sections == summary->until_sections)
            summary->stop = 1;
        summary->pushes += command->verb == VERB_RPUSH;
        summary->late += event->attempt < summary->attempts[event->client];
        if (event->attempt == summary->attempts[event->client])
            count_release(summary, event);
    }
    if (summary->checks)
        checks_event(summary->checks, event);
    if (summary->until_struck && has_struck_all(summary))
        summary->stop = 1;
    if (summary->stop_after && summary->events == summary->stop_after) {
        if (summary->kill_pid)
            assert_int_equal(kill(summary->kill_pid, SIGKILL), 0);
        else
            summary->stop = 1;
    }
}

static struct live *live;
static struct summary summary;

static struct stress_options options_of(const char *scheme)
{
    memset(&summary, 0, sizeof summary);
    summary.counter = -1;
    struct stress_options options = {.scheme = scheme_named(scheme),
                                     .clients = CLIENTS,
                                     .servers = 1,
                                     .locks = 1,
                                     .duration_us = SECOND_US,
                                     .seed = 1,
                                     .timeout_us = 20 * SECOND_US,
                                     .think_us = 500,
                                     .sink = {.take = summary_take, .context = &summary},
                                     .stop = &summary.stop};
    options.lease_us = scheme_lease_us(options.scheme, 20 * SECOND_US);
    return options;
}

static void runs(const struct stress_options *options, struct stress_outcome *outcome)
{
    struct failure why = {0};
    if (live_stress(live, options, outcome, &why))
        fail_msg("%s", why.text);
}

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

/* The order of executions is known so well that the checks find no fault in a scheme that has none.
 */
static void checks_agree(struct stress_options *options, struct finding *findings,
                         struct counters *counters)
{
    struct stress_outcome outcome;
    char(*names)[NAME_MAX_BYTES] = memory_new((size_t)options->clients, NAME_MAX_BYTES);
    struct history_head head = {.clients = options->clients,
                                .servers = options->servers,
                                .locks = options->locks,
                                .names = names,
                                .lease_us = options->lease_us,
                                .unit_us = options->scheme->unit_us,
                                .clock_error_us = live_clock_error_us(live),
                                .seed = options->seed};
    strcpy(head.scheme, options->scheme->name);
    /* It may not be the first run of its test. */
    summary.events = 0;
    memset(summary.attempts, 0, sizeof summary.attempts);
    summary.checks = checks_new(&head);
    runs(options, &outcome);
    checks_finish(summary.checks, summary.last_us, findings, counters);
    checks_free(summary.checks);
    free(names);
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
    } rows[] = {{"set-nx-px-cad", 1, 1}, {"watchdog", 1, 3}, {"redlock", 3, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stress_options options = options_of(rows[i].scheme);
        struct stress_outcome outcome;
        options.servers = rows[i].servers;
        options.locks = rows[i].locks;
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

/* A machine may be so busy that hardly anything happens in a run: then one more is made. */
enum { RUNS_MAX = 20 };

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

/* Of a lock that reads no clock but its server's, clocks and silences change no verdict. */
static void silences_and_drifting_clocks_are_told(void **state)
{
    (void)state;
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    struct stress_options options = options_of("set-nx-px-cad");
    options.lease_us = scheme_lease_us(options.scheme, 100000);
    options.timeout_us = 20000;
    options.silence_ppm = 10000;
    options.silence_us = 50000;
    options.drift_ppm = 500000;
    for (int i = 0; i < RUNS_MAX && summary.faults[CHOICE_REACH] < 3; i++) {
        options.seed++;
        summary.is_silent = false;
        checks_agree(&options, findings, &counters);
        assert_int_not_equal(findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_VIOLATED);
        assert_int_not_equal(findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_VIOLATED);
    }
    assert_true(summary.faults[CHOICE_REACH] >= 3);
    assert_true(summary.faults[CHOICE_SILENCE] >= summary.faults[CHOICE_REACH]);
    assert_true(summary.faults[CHOICE_CLIENT_DRIFT] > 0);
    assert_true(summary.faults[CHOICE_GIVE_UP] > 0);
    assert_int_equal(summary.spoken, 0);
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
    options.think_us = 100000;
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

static void progress_is_told(void *context, int64_t elapsed_us, int64_t operations, int64_t grants)
{
    int *told = context;
    assert_true(elapsed_us > 0 && operations > 0 && grants > 0 && grants < operations);
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
    options.think_us = 10000;
    options.duration_us = SECOND_US / 2;
    is_held_up = true;
    (void)alarm(60); /* it hung for ever */
    runs(&options, &outcome);
    (void)alarm(0);
    is_held_up = false;
    assert_true(outcome.elapsed_us >= SECOND_US / 2);
}

static void a_dead_server_is_told(void **state)
{
    (void)state;
    struct live *own;
    struct live_options how = {.steering = REAL_TIME};
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    struct failure why;
    assert_int_equal(live_new(&own, &how, &why), FAIL_NONE);
    options.duration_us = SECOND_US / 4;
    assert_int_equal(live_stress(own, &options, &outcome, &why), FAIL_NONE);
    options = options_of("set-nx-px-cad");
    options.duration_us = 60 * (int64_t)SECOND_US;
    summary.stop_after = 300;
    summary.kill_pid = own->servers.rows[0].process.pid;
    assert_int_equal(live_stress(own, &options, &outcome, &why), FAIL_UNAVAILABLE);
    assert_non_null(strstr(why.text, "redis-server was killed by signal 9"));
    live_free(own);
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

static int open_live(void **state)
{
    (void)state;
    struct live_options options = {.steering = REAL_TIME};
    return live_new(&live, &options, NULL) ? -1 : 0;
}

static int close_live(void **state)
{
    (void)state;
    live_free(live);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_depend_on_nothing_else),
        cmocka_unit_test(nothing_is_lost_without_faults),
        cmocka_unit_test(every_fault_strikes_and_is_told),
        cmocka_unit_test(a_safe_scheme_only_overruns),
        cmocka_unit_test(silences_and_drifting_clocks_are_told),
        cmocka_unit_test(a_blind_delete_is_found),
        cmocka_unit_test(no_watch_outlives_its_attempt),
        cmocka_unit_test(many_locks_are_shared),
        cmocka_unit_test(a_stop_ends_it_early),
        cmocka_unit_test(progress_comes_every_second),
        cmocka_unit_test(a_run_that_is_held_up_goes_on),
        cmocka_unit_test(a_dead_server_is_told),
        cmocka_unit_test(all_clients_are_connected_or_none),
        cmocka_unit_test(a_time_out_counts_from_the_call_also_without_a_connection),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
