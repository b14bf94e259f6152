/* test_live_stress_aimed.c - the free run with faults where a lock breaks most easily, with work in
 * its sections, with an end without faults, and with an end of its own choice; and how long faults
 * keep its clients waiting. */
#include "test/stress_summary.h"

#include <stdlib.h>

/* What a sink of its own sees. */
struct onlooker {
    struct event_sink behind;
    int holder_command[CLIENTS]; /* the client was granted a lock, and did nothing since */
    bool is_releasing[CLIENTS];
    int64_t granted_us[CLIENTS];
    int64_t paused_at_grant, paused_in_release, delays, shortest_delay_us, shortest_hold_us, holds;
    int64_t last_fault_us;
};

static void note_fault(struct onlooker *seen, const struct event *event)
{
    if (event->fault != FAULT_GIVE_UP)
        seen->last_fault_us = event->time_us;
    if (event->fault == FAULT_DELAY && event->amount_us < seen->shortest_delay_us)
        seen->shortest_delay_us = event->amount_us;
    seen->delays += event->fault == FAULT_DELAY;
    if (event->fault != FAULT_PAUSE)
        return;
    seen->paused_at_grant += seen->holder_command[event->client];
    seen->paused_in_release += seen->is_releasing[event->client];
}

static void note_call(struct onlooker *seen, const struct event *event)
{
    const int client = event->client;
    seen->holder_command[client] = 0;
    seen->is_releasing[client] = event->op == OP_RELEASE;
    if (event->op != OP_RELEASE || !seen->granted_us[client])
        return;
    const int64_t held_us = event->time_us - seen->granted_us[client];
    seen->granted_us[client] = 0;
    seen->holds++;
    if (held_us < seen->shortest_hold_us)
        seen->shortest_hold_us = held_us;
}

static void see(void *context, const struct event *event)
{
    struct onlooker *seen = context;
    if (event->kind == EVENT_FAULT && event->client >= 0)
        note_fault(seen, event);
    if (event->kind == EVENT_CALL)
        note_call(seen, event);
    if (event->kind == EVENT_RETURN) {
        const bool is_grant = event->result == RESULT_GRANTED;
        seen->holder_command[event->client] = is_grant;
        seen->is_releasing[event->client] = false;
        if (is_grant)
            seen->granted_us[event->client] = event->time_us;
    }
    seen->behind.take(seen->behind.context, event);
}

static void see_run(struct onlooker *seen, struct stress_options *options)
{
    *seen = (struct onlooker){
        .behind = options->sink, .shortest_delay_us = INT64_MAX, .shortest_hold_us = INT64_MAX};
    options->sink = (struct event_sink){.take = see, .context = seen};
}

static void short_lease(struct stress_options *options)
{
    options->lease_us = scheme_lease_us(options->scheme, 100000);
    options->timeout_us = options->lease_us / 2;
    options->pause_us = options->lease_us * 2;
}

static bool has_deleted_anothers(void *context)
{
    (void)context;
    return checks_so_far(summary.checks, PROPERTY_RELEASE_OWN)->count > 0;
}

/* Runs until another one's lock was deleted. *paused, of seen: the pauses of that kind, which are
 * all that there are in each run; and some there are. */
static void run_until_deleted(struct stress_options *options, struct onlooker *seen,
                              const int64_t *paused)
{
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    const struct event_sink sink = options->sink;
    options->duration_us = 60 * (int64_t)SECOND_US;
    options->is_enough = has_deleted_anothers;
    for (int i = 0; i < RUNS_MAX && counters.foreign_releases == 0; i++) {
        options->seed++;
        options->sink = sink;
        see_run(seen, options);
        checks_agree(options, findings, &counters);
        assert_true(*paused > 0);
        assert_int_equal(*paused, summary.pauses);
        summary.pauses = 0;
    }
    assert_true(counters.foreign_releases > 0);
    assert_int_equal(findings[PROPERTY_RELEASE_OWN].cause, CAUSE_UNLOCK_BUG);
}

/* Each comes behind its grant with nothing between, and is what breaks a blind DEL. */
static void a_pause_right_after_a_grant_breaks_a_blind_delete(void **state)
{
    (void)state;
    struct stress_options options = options_of("lua-setnx-expire-del");
    struct onlooker seen;
    short_lease(&options);
    options.pause_after_grant_ppm = 500000;
    run_until_deleted(&options, &seen, &seen.paused_at_grant);
}

/* GET, compare, DEL: whoever stalls between the two deletes what came meanwhile. */
static void a_stall_between_two_commands_of_a_release_breaks_a_comparing_client(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-ex-get-del");
    struct onlooker seen;
    short_lease(&options);
    options.stall_in_release_ppm = 500000;
    options.pause_us = options.lease_us;
    run_until_deleted(&options, &seen, &seen.paused_in_release);
}

/* A release of one command has no "between": it is not counted as struck. */
static void only_a_stall_with_a_command_behind_it_counts(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        bool has_two;
    } rows[] = {{"set-nx-px-cad", false}, {"watch-multi-del", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stress_options options = options_of(rows[i].scheme);
        struct stress_outcome outcome;
        options.stall_in_release_ppm = 1000000;
        options.pause_us = 1000;
        summary.until_sections = 10;
        options.duration_us = 60 * (int64_t)SECOND_US;
        runs(&options, &outcome);
        assert_true(summary.pauses > 0);
        assert_true((outcome.struck[STRUCK_IN_RELEASE] > 0) == rows[i].has_two);
    }
}

static void a_delay_past_the_lease_is_as_long(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    struct onlooker seen;
    short_lease(&options);
    options.delay_past_lease_ppm = 50000;
    see_run(&seen, &options);
    runs(&options, &outcome);
    assert_true(seen.delays > 0 && seen.shortest_delay_us >= options.lease_us);
    assert_int_equal(outcome.struck[STRUCK_PAST_LEASE], seen.delays);
    assert_int_equal(outcome.struck[STRUCK_DELAY], 0);
}

/* A watchdog's renewals go on under it: no hold ends early, and none is shorter than its work. */
static void a_hold_lasts_as_long_as_its_work(void **state)
{
    (void)state;
    static const char *const rows[] = {"set-nx-px-cad", "watchdog"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stress_options options = options_of(rows[i]);
        struct stress_outcome outcome;
        struct onlooker seen;
        options.duration_us = SECOND_US / 4;
        options.hold = (struct distribution){DISTRIBUTION_UNIFORM, 20000, 30000};
        see_run(&seen, &options);
        runs(&options, &outcome);
        assert_true(seen.holds > 1 && seen.shortest_hold_us >= 20000);
        assert_int_equal(summary.counter, summary.sections);
    }
}

/* --- how long faults keep clients waiting --- */

enum { WAITS = 12, WAIT_THINK_US = 500 };

/* What one client has to wait for at the least, as events tell it. */
struct waits {
    struct event_sink behind;
    struct {
        int64_t from_us, to_us;
    } of[WAITS + 1];
    int count, acquires;
    bool is_waiting; /* for the answer to: */
    int attempt;
    enum verb verb;
};

/* On a slow machine the client may have given up before its command is late. */
static bool is_waited_for(const struct waits *waits, const struct event *event)
{
    return event->fault != FAULT_DELAY || (waits->is_waiting && event->attempt == waits->attempt &&
                                           event->command.verb == waits->verb);
}

static void note_wait(struct waits *waits, const struct event *event)
{
    const bool is_outage = event->fault == FAULT_SILENT_SERVER;
    const bool is_lasting =
        event->fault == FAULT_PAUSE || event->fault == FAULT_DELAY || event->fault == FAULT_CRASH;
    const bool is_end = event->fault == FAULT_GIVE_UP || event->fault == FAULT_REACHABLE;
    int64_t *end_us = waits->count ? &waits->of[waits->count - 1].to_us : NULL;
    if (is_end && end_us && event->time_us < *end_us)
        *end_us = event->time_us;
    if ((!is_outage && !is_lasting) || !is_waited_for(waits, event) || waits->count > WAITS)
        return;
    waits->of[waits->count].from_us = event->time_us;
    waits->of[waits->count++].to_us = is_outage ? INT64_MAX : event->time_us + event->amount_us;
    if (waits->count == WAITS)
        summary.stop = SIGTERM;
}

static void see_waits(void *context, const struct event *event)
{
    struct waits *waits = context;
    if (event->kind == EVENT_FAULT)
        note_wait(waits, event);
    if (event->kind == EVENT_HEAR || (event->kind == EVENT_FAULT && event->fault == FAULT_GIVE_UP))
        waits->is_waiting = false;
    if (event->kind == EVENT_SEND) {
        waits->is_waiting = true;
        waits->attempt = event->attempt;
        waits->verb = event->command.verb;
    }
    waits->acquires += event->kind == EVENT_CALL && event->op == OP_ACQUIRE && !summary.stop;
    waits->behind.take(waits->behind.context, event);
}

static int64_t least_us(const struct waits *waits, int64_t until_us)
{
    int64_t sum_us = 0;
    for (int i = 0; i < waits->count; i++) {
        const int64_t to_us = waits->of[i].to_us < until_us ? waits->of[i].to_us : until_us;
        sum_us += to_us > waits->of[i].from_us ? to_us - waits->of[i].from_us : 0;
    }
    return sum_us;
}

/* All of what strikes it, up to the end of the run, and nothing of what it does by itself: it
 * thinks between its attempts, but behind a crash. */
static void injected_waits_are_those_of_faults(void **state)
{
    (void)state;
    const int64_t hour_us = 3600 * (int64_t)SECOND_US;
    const struct {
        uint32_t pause_ppm, delay_ppm, silence_ppm, crash_ppm;
        int64_t for_us, timeout_us;
    } rows[] = {
        {1000000, 0, 0, 0, 2000, hour_us}, {0, 300000, 0, 0, 2000, hour_us},
        {0, 300000, 0, 0, hour_us, 2000}, /* it gives up */
        {0, 0, 200000, 0, 2000, hour_us},  {0, 0, 0, 100000, 0, hour_us},
        {0, 0, 0, 0, 0, hour_us},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stress_options options = options_of("set-nx-px-cad");
        struct stress_outcome outcome;
        struct waits waits = {.behind = options.sink};
        const bool has_faults = i + 1 < sizeof rows / sizeof *rows;
        options.sink = (struct event_sink){.take = see_waits, .context = &waits};
        options.clients = 1;
        options.lease_us = 2000; /* who crashes is dead for about half of it */
        options.pause_ppm = rows[i].pause_ppm;
        options.delay_ppm = rows[i].delay_ppm;
        options.silence_ppm = rows[i].silence_ppm;
        options.crash_ppm = rows[i].crash_ppm;
        options.pause_us = options.delay_us = options.silence_us = rows[i].for_us;
        options.timeout_us = rows[i].timeout_us;
        options.think = (struct distribution){DISTRIBUTION_CONSTANT, WAIT_THINK_US, 0};
        options.duration_us = hour_us; /* a slow machine takes longer, no more */
        summary.stop_after = has_faults ? 0 : 200;
        runs(&options, &outcome);
        const int thoughts = waits.acquires - 1 - (rows[i].crash_ppm ? waits.count : 0);
        assert_int_equal(outcome.injected_wait_us > 0, has_faults);
        assert_true(outcome.injected_wait_us >= least_us(&waits, outcome.elapsed_us));
        assert_true(outcome.injected_wait_us <=
                    outcome.elapsed_us - thoughts * (int64_t)WAIT_THINK_US);
    }
}

/* It is stalled while its command is late: it waits once. */
static void two_reasons_to_wait_are_one_wait(void **state)
{
    (void)state;
    struct injected_wait wait = {0};
    injected_wait_begins(&wait, 10);
    injected_wait_begins(&wait, 12);
    injected_wait_ends(&wait, 15);
    assert_int_equal(injected_wait_us(&wait, 17), 7);
    injected_wait_ends(&wait, 20);
    assert_int_equal(injected_wait_us(&wait, 30), 10);
    injected_wait_begins(&wait, 40);
    injected_wait_ends(&wait, 41);
    assert_int_equal(injected_wait_us(&wait, 50), 11);
}

/* --- the end --- */

static void nothing_strikes_while_it_heals(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    struct onlooker seen;
    short_lease(&options);
    options.pause_ppm = options.delay_ppm = options.crash_ppm = 50000;
    options.pause_after_grant_ppm = options.delay_past_lease_ppm = 50000;
    options.silence_ppm = 1000;
    options.silence_us = 10 * (int64_t)SECOND_US; /* it would not end by itself */
    options.delay_us = 1000;
    options.duration_us = options.heal_us = SECOND_US / 2;
    see_run(&seen, &options);
    runs(&options, &outcome);
    assert_true(seen.last_fault_us > 0 && seen.last_fault_us < outcome.elapsed_us - SECOND_US / 4);
    assert_true(outcome.elapsed_us >= SECOND_US && !outcome.was_stopped);
    assert_int_equal(outcome.healed_of, 1);
    assert_int_equal(outcome.unhealed, 0);
}

/* Who crashes behind SETNX leaves a key for ever: faults have ended, and nobody gets the lock. */
static void a_lock_that_does_not_heal_is_counted(void **state)
{
    (void)state;
    struct stress_options options = options_of("setnx-del");
    struct stress_outcome outcome;
    short_lease(&options); /* it has none; patience counts in it */
    options.lease_us = 100000;
    options.crash_ppm = 500000;
    options.duration_us = SECOND_US / 4;
    options.heal_us = SECOND_US / 2;
    runs(&options, &outcome);
    assert_int_equal(outcome.healed_of, 1);
    assert_int_equal(outcome.unhealed, 1);
}

static bool is_tenth(void *context)
{
    int *asked = context;
    return ++*asked == 10;
}

static void who_has_seen_enough_ends_it(void **state)
{
    (void)state;
    struct stress_options options = options_of("set-nx-px-cad");
    struct stress_outcome outcome;
    int asked = 0;
    options.duration_us = 0; /* no end of its own */
    options.heal_us = 3600 * (int64_t)SECOND_US;
    options.is_enough = is_tenth;
    options.is_enough_context = &asked;
    runs(&options, &outcome);
    assert_int_equal(asked, 10);
    assert_true(outcome.has_seen_enough && !outcome.was_stopped);
    assert_int_equal(summary.counter, summary.sections); /* the end is read as ever */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_right_after_a_grant_breaks_a_blind_delete),
        cmocka_unit_test(a_stall_between_two_commands_of_a_release_breaks_a_comparing_client),
        cmocka_unit_test(only_a_stall_with_a_command_behind_it_counts),
        cmocka_unit_test(a_delay_past_the_lease_is_as_long),
        cmocka_unit_test(a_hold_lasts_as_long_as_its_work),
        cmocka_unit_test(two_reasons_to_wait_are_one_wait),
        cmocka_unit_test(injected_waits_are_those_of_faults),
        cmocka_unit_test(nothing_strikes_while_it_heals),
        cmocka_unit_test(a_lock_that_does_not_heal_is_counted),
        cmocka_unit_test(who_has_seen_enough_ends_it),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
