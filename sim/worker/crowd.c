/* crowd.c - see crowd.h: its loop, clock and dice; begin and end. */
#include "worker/crowd_state.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/units.h"
#include "live/control.h"
#include "worker/session_state.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICK_MS = 20,
    CHECK_EVERY_US = 100000,
    TELL_EVERY_US = 1000000,
    BEGIN_AT_ONCE = 8,
};
#define BEGIN_LIMIT_US INT64_C(60000000)
#define DRAIN_LIMIT_US INT64_C(3000000)

/* --- time, events, dice --- */

int64_t crowd_now_us(const struct crowd *crowd)
{
    return monotonic_us() - crowd->began_us;
}

struct event crowd_event(const struct crowd *crowd, enum event_kind kind,
                         const struct member *member, int server)
{
    const int64_t now_us = crowd_now_us(crowd);
    return (struct event){.kind = kind,
                          .time_us = now_us,
                          .from_us = now_us,
                          .client = member ? member->number : -1,
                          .server = server,
                          .lock = member ? member->lock : 0,
                          .attempt = member ? member->attempt : 0};
}

void crowd_write(struct crowd *crowd, struct event *event)
{
    const struct event_sink *sink = &crowd->options->sink;
    if (!crowd->is_running)
        return;
    event->index = crowd->events++;
    if (sink->take)
        sink->take(sink->context, event);
}

void crowd_fault(struct crowd *crowd, const struct member *member, int server, enum fault fault,
                 int64_t amount_us)
{
    struct event event = crowd_event(crowd, EVENT_FAULT, member, server);
    event.fault = fault;
    event.amount_us = amount_us;
    crowd_write(crowd, &event);
}

void crowd_timer_set(struct crowd *crowd, struct crowd_timer *timer, int64_t in_us)
{
    timers_push(&crowd->timers, &timer->timer, crowd_now_us(crowd) + in_us);
}

uint64_t crowd_draw(const struct crowd *crowd, int number, enum crowd_draw draw, int64_t n)
{
    const uint64_t stream = ((uint64_t)number + 1) << 32 | (uint64_t)draw;
    return random_at(crowd->options->seed, stream, (uint64_t)n);
}

int64_t crowd_spread(uint64_t drawn, int64_t mean_us)
{
    return mean_us > 0 ? (int64_t)(drawn % (2 * (uint64_t)mean_us + 1)) : 0;
}

void crowd_doubt(struct crowd *crowd, const struct failure *why)
{
    if (!crowd->doubt.code && !crowd->is_closing)
        crowd->doubt = *why;
}

void crowd_fail(struct crowd *crowd, const struct failure *why)
{
    if (!crowd->failure.code && !crowd->is_closing)
        crowd->failure = *why;
}

/* --- the loop --- */

static void ticked(uv_timer_t *timer)
{
    (void)timer;
}

static bool is_stopped(const struct crowd *crowd)
{
    return crowd->options->stop && *crowd->options->stop;
}

/* A run without a time heals when it has been told to end; a second signal ends the program. */
static bool is_over(const struct crowd *crowd)
{
    const bool is_due = crowd->is_healing && !crowd->options->duration_us;
    return crowd->failure.code || crowd->doubt.code || (is_stopped(crowd) && !is_due);
}

void crowd_turn(struct crowd *crowd, int64_t until_us)
{
    struct timer *timer;
    while (!crowd->failure.code && (timer = timers_pop(&crowd->timers, crowd_now_us(crowd)))) {
        struct crowd_timer *rung = (struct crowd_timer *)timer;
        crowd->rings_late_us = crowd_now_us(crowd) - timer->due_us;
        rung->rings(rung);
    }
    crowd->rings_late_us = 0;
    crowd_pump(crowd);
    const int64_t next_us = timers_next_us(&crowd->timers);
    const int64_t left_us = (next_us < until_us ? next_us : until_us) - crowd_now_us(crowd);
    if (left_us < 1000) {
        held_up_turn(&crowd->held_up, 0);
        (void)uv_run(&crowd->loop, UV_RUN_NOWAIT);
    } else {
        const int64_t sleep_ms = left_us / 1000 < TICK_MS ? left_us / 1000 : TICK_MS;
        held_up_turn(&crowd->held_up, (sleep_ms + 1) * 1000); /* the loop counts whole ones */
        uv_update_time(&crowd->loop);
        (void)uv_timer_start(&crowd->tick, ticked, (uint64_t)sleep_ms, 1);
        (void)uv_run(&crowd->loop, UV_RUN_ONCE);
        (void)uv_timer_stop(&crowd->tick);
    }
    crowd_pump(crowd);
}

static void compare_clocks(struct crowd *crowd)
{
    const struct stress_options *options = crowd->options;
    struct failure why;
    if (crowd->failure.code || crowd->doubt.code)
        return;
    const enum fail fail =
        servers_compare_clocks(&crowd->servers, options->servers, CROWD_CLOCK_ERROR_US, &why);
    if (fail == FAIL_UNKNOWN)
        crowd_doubt(crowd, &why);
    else if (fail)
        crowd_fail(crowd, &why);
    else if (options->proved)
        options->proved(options->proved_context);
}

/* Do all live? The end of a process shows a little later than that of its streams. */
static void check_life(struct crowd *crowd)
{
    struct failure why;
    if (servers_check(&crowd->servers, &why))
        crowd_fail(crowd, &why);
    for (int i = 0; i < crowd->options->clients; i++)
        if (crowd->members[i].worker)
            worker_read(crowd->members[i].worker);
}

static void run_until(struct crowd *crowd, int64_t end_us)
{
    const struct stress_options *options = crowd->options;
    int64_t now_us = crowd_now_us(crowd), checked_us = now_us, told_us = now_us;
    while (!is_over(crowd) && !crowd->has_seen_enough && now_us < end_us) {
        const int64_t until_us = checked_us + CHECK_EVERY_US;
        crowd_turn(crowd, until_us < end_us ? until_us : end_us);
        now_us = crowd_now_us(crowd);
        if (now_us >= until_us) {
            checked_us = now_us;
            check_life(crowd);
            if (options->is_enough && options->is_enough(options->is_enough_context))
                crowd->has_seen_enough = true;
        }
        if (now_us < told_us + TELL_EVERY_US)
            continue;
        told_us = now_us;
        compare_clocks(crowd);
        if (options->progress)
            options->progress(
                options->progress_context,
                &(struct stress_progress){.elapsed_us = now_us,
                                          .operations = crowd->operations,
                                          .grants = crowd->grants,
                                          .is_healing = crowd->is_healing,
                                          .p99_us = histogram_at(&crowd->latency, 990)});
    }
}

static void open_queues(struct crowd *crowd)
{
    for (int i = 0; i < crowd->options->servers; i++)
        queue_open(&crowd->queues[i]);
}

/* No more faults are drawn; those that go on end, but for stalls, and what is late. Who has asked
 * for a lock by then asks for it from then on. */
static void heal(struct crowd *crowd)
{
    const struct stress_options *options = crowd->options;
    const int64_t now_us = crowd_now_us(crowd);
    if (!options->heal_us || stress_is_cut_short(options, now_us) || crowd->has_seen_enough ||
        crowd->failure.code || crowd->doubt.code)
        return;
    crowd->is_healing = true;
    open_queues(crowd);
    for (int i = 0; i < options->clients; i++)
        member_heals(&crowd->members[i]);
    run_until(crowd, now_us + options->heal_us);
}

static bool is_at_rest(const struct crowd *crowd)
{
    for (int i = 0; i < crowd->options->clients; i++) {
        const enum member_place place = crowd->members[i].place;
        if ((place != MEMBER_THINKS && place != MEMBER_DEAD && place != MEMBER_BEGINS) ||
            member_is_busy(&crowd->members[i]))
            return false;
    }
    return true;
}

/* No new attempts; what is under way comes to its end, or stays open. */
static void drain(struct crowd *crowd)
{
    crowd->is_ending = true;
    open_queues(crowd);
    const int64_t limit_us = crowd_now_us(crowd) + DRAIN_LIMIT_US;
    while (!crowd->failure.code && !is_at_rest(crowd) && crowd_now_us(crowd) < limit_us)
        crowd_turn(crowd, limit_us);
}

/* --- begin --- */

static bool are_ready(const struct crowd *crowd, int upto)
{
    for (int i = 0; i < upto; i++)
        if (crowd->members[i].place == MEMBER_BEGINS)
            return false;
    return true;
}

static enum fail wait_for(struct crowd *crowd, int upto, struct failure *failure)
{
    const int64_t limit_us = crowd_now_us(crowd) + BEGIN_LIMIT_US;
    while (!is_over(crowd) && !are_ready(crowd, upto) && crowd_now_us(crowd) < limit_us) {
        crowd_turn(crowd, limit_us);
        check_life(crowd);
    }
    if (crowd->failure.code || crowd->doubt.code) {
        *failure = crowd->failure.code ? crowd->failure : crowd->doubt;
        failure->code = failure->code == FAIL_UNKNOWN ? FAIL_INPUT : failure->code;
        return failure->code;
    }
    if (is_stopped(crowd))
        return failure_set(failure, FAIL_UNKNOWN, "it was interrupted");
    if (!are_ready(crowd, upto))
        return failure_set(failure, FAIL_INPUT, "not all of %d workers are ready within %d s", upto,
                           (int)(BEGIN_LIMIT_US / 1000000));
    return FAIL_NONE;
}

static enum fail begin_members(struct crowd *crowd, struct failure *failure)
{
    const int clients = crowd->options->clients;
    for (int begun = 0; begun < clients;) {
        int upto = begun == 0 ? 1 : begun + BEGIN_AT_ONCE;
        upto = upto > clients ? clients : upto;
        for (int i = begun; i < upto; i++)
            if (member_begin(&crowd->members[i], failure))
                return failure->code;
        if (wait_for(crowd, upto, failure) || (begun == 0 && crowd_has_room(crowd, failure)))
            return failure->code;
        begun = upto;
    }
    return FAIL_NONE;
}

static enum fail open_members(struct crowd *crowd, struct failure *failure)
{
    const struct stress_options *options = crowd->options;
    for (int i = 0; i < options->locks; i++) {
        struct crowd_lock *lock = &crowd->locks[i];
        (void)snprintf(lock->name, sizeof lock->name, "lock%04d", i + 1);
        (void)snprintf(lock->key.name, sizeof lock->key.name, "%s", lock->name);
        (void)snprintf(lock->guarded_prefix, sizeof lock->guarded_prefix, "guarded%04d:", i + 1);
    }
    for (int i = 0; i < options->clients; i++) {
        struct member *member = &crowd->members[i];
        *member = (struct member){.crowd = crowd,
                                  .number = i,
                                  .lock = i % options->locks,
                                  .guarded.number = i + 1,
                                  .crash_in = -1};
        for (int server = 0; server < options->servers; server++)
            if (member_listen(member, server, failure))
                return failure->code;
    }
    return FAIL_NONE;
}

static enum fail open_all(struct crowd *crowd, struct failure *failure)
{
    const struct stress_options *options = crowd->options;
    const struct live_options live = {.redis_server = crowd->program->redis_server,
                                      .steering = REAL_TIME};
    int error = uv_loop_init(&crowd->loop);
    if (error < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "libuv: %s", uv_strerror(error));
    crowd->has_loop = true;
    (void)uv_timer_init(&crowd->loop, &crowd->tick);
    held_up_begin(&crowd->held_up, &crowd->loop);
    (void)signal(SIGPIPE, SIG_IGN);
    if (servers_open(&crowd->servers, &live, "", &crowd->loop, &crowd->tick, failure) ||
        servers_prepare(&crowd->servers, options->servers, false, failure) ||
        servers_look_at_clocks(&crowd->servers, options->servers, failure))
        return failure->code;
    (void)snprintf(crowd->helpers, sizeof crowd->helpers, "%s/helpers", crowd->servers.folder.path);
    if (helpers_write(crowd->helpers, failure) || open_members(crowd, failure) ||
        begin_members(crowd, failure))
        return failure->code;
    (void)snprintf(crowd->program->server_version, sizeof crowd->program->server_version, "%.31s",
                   crowd->servers.version);
    return FAIL_NONE;
}

enum fail crowd_new(struct crowd **made, struct worker_program *program,
                    const struct stress_options *options, struct failure *failure)
{
    struct crowd *crowd = memory_new(1, sizeof *crowd);
    *made = NULL;
    crowd->options = options;
    crowd->program = program;
    crowd->began_us = monotonic_us();
    crowd->members = memory_new((size_t)options->clients, sizeof *crowd->members);
    crowd->locks = memory_new((size_t)options->locks, sizeof *crowd->locks);
    crowd->healing = memory_new((size_t)options->locks, sizeof *crowd->healing);
    timers_init(&crowd->timers);
    for (int i = 0; i < options->servers; i++) {
        crowd->queues[i] = (struct crowd_queue){.crowd = crowd, .server = i};
        crowd->queues[i].watches =
            memory_new((size_t)options->locks, sizeof *crowd->queues[i].watches);
    }
    enum fail fail = open_all(crowd, failure);
    if (fail)
        crowd_free(crowd);
    else
        *made = crowd;
    return fail;
}

/* --- run --- */

/* What the counters say in the end: the truth that lost updates are counted against. */
static enum fail read_counters(struct crowd *crowd, struct failure *failure)
{
    const struct proxy_address address = servers_address(&crowd->servers, SERVER_ONE);
    const struct command command = {.verb = VERB_GET, .key = KEY_COUNTER};
    for (int lock = 0; lock < crowd->options->locks; lock++) {
        struct event event = crowd_event(crowd, EVENT_EXECUTE, NULL, SERVER_ONE);
        if (guarded_ask(&crowd->queues[SERVER_ONE].section, address.host, address.port,
                        crowd->locks[lock].guarded_prefix, &command, &event.reply, failure))
            return failure_wrap(failure, "the counter of lock %d at the end", lock + 1);
        event.lock = lock;
        event.op = OP_ACCESS;
        event.command = command;
        event.time_us = crowd_now_us(crowd);
        crowd_write(crowd, &event);
    }
    return FAIL_NONE;
}

/* Who does not answer, though nobody keeps it from that. */
static void count_unanswered(const struct crowd *crowd, struct stress_outcome *outcome)
{
    for (int i = 0; i < crowd->options->clients; i++) {
        const struct member *member = &crowd->members[i];
        const bool is_acquiring = member->place == MEMBER_ACQUIRES;
        const int64_t for_us = crowd_now_us(crowd) - member->asked_us;
        if (!member->asked_id || member_is_busy(member) || for_us < 2 * crowd->options->lease_us ||
            (!is_acquiring && member->place != MEMBER_RELEASES))
            continue;
        if (outcome->unanswered.for_us < for_us) {
            outcome->unanswered.first = i;
            outcome->unanswered.for_us = for_us;
            outcome->unanswered.op = is_acquiring ? OP_ACQUIRE : OP_RELEASE;
        }
        outcome->unanswered.workers++;
    }
}

/* A server is gone: nothing is concluded from what came behind the last proof. */
static void end_early(struct crowd *crowd, struct stress_outcome *outcome)
{
    char ran[UNITS_TEXT_MAX];
    failure_set(&outcome->ended, FAIL_UNKNOWN, "it ended after %s: %s",
                units_print_duration(outcome->elapsed_us / 1000 * 1000, ran), crowd->failure.text);
    crowd->failure.code = FAIL_NONE;
    if (!crowd->doubt.code)
        crowd->doubt = outcome->ended;
}

enum fail crowd_run(struct crowd *crowd, struct stress_outcome *outcome, struct failure *failure)
{
    const struct stress_options *options = crowd->options;
    *outcome = (struct stress_outcome){.clients = options->clients, .was_one_at_a_time = true};
    control_heed(stress_hurried_by(options));
    crowd->began_us = monotonic_us();
    crowd->is_running = true;
    for (int i = 0; i < options->clients; i++)
        member_start(&crowd->members[i],
                     distribution_at(&options->think, crowd_draw(crowd, i, CROWD_THINK, 0)));
    run_until(crowd, options->duration_us ? options->duration_us : INT64_MAX);
    heal(crowd);
    outcome->elapsed_us = crowd_now_us(crowd);
    healing_count(crowd->healing, options, outcome);
    count_unanswered(crowd, outcome);
    for (int i = 0; i < options->clients; i++)
        outcome->injected_wait_us += injected_wait_us(&crowd->members[i].wait, outcome->elapsed_us);
    outcome->was_stopped = stress_is_cut_short(options, outcome->elapsed_us);
    outcome->has_seen_enough = crowd->has_seen_enough;
    if (outcome->was_stopped)
        compare_clocks(crowd); /* whoever does not answer is not waited for */
    if (!crowd->doubt.code)
        drain(crowd);
    compare_clocks(crowd);
    struct failure why;
    if (!crowd->failure.code && !crowd->doubt.code && read_counters(crowd, &why))
        crowd_fail(crowd, &why);
    control_heed(NULL);
    if (crowd->failure.code == FAIL_UNAVAILABLE)
        end_early(crowd, outcome);
    outcome->doubt = crowd->doubt;
    outcome->latency_us = (struct latency){.p50 = histogram_at(&crowd->latency, 500),
                                           .p99 = histogram_at(&crowd->latency, 990),
                                           .p999 = histogram_at(&crowd->latency, 999),
                                           .max = crowd->latency.max};
    memcpy(outcome->struck, crowd->struck, sizeof outcome->struck);
    if (crowd->failure.code)
        *failure = crowd->failure;
    return crowd->failure.code;
}

/* --- end --- */

static void shut_queue(struct crowd *crowd, int server)
{
    struct crowd_queue *queue = &crowd->queues[server];
    server_wire_close(&queue->late);
    server_wire_close(&queue->section);
    for (int i = 0; queue->watches && i < crowd->options->locks; i++)
        key_watch_forget(&queue->watches[i]);
    free(queue->watches);
}

void crowd_free(struct crowd *crowd)
{
    if (!crowd)
        return;
    const int clients = crowd->options->clients;
    crowd->is_closing = true;
    crowd->is_running = false;
    for (int i = 0; i < clients; i++) {
        worker_free(crowd->members[i].worker);
        for (int server = 0; server < crowd->options->servers; server++)
            if (crowd->members[i].listeners[server].proxy)
                proxy_close(crowd->members[i].listeners[server].proxy, NULL, NULL);
    }
    for (int i = 0; i < SERVERS_MAX; i++)
        shut_queue(crowd, i);
    if (crowd->has_loop) {
        servers_close(&crowd->servers);
        uv_close((uv_handle_t *)&crowd->tick, NULL);
        (void)uv_run(&crowd->loop, UV_RUN_DEFAULT);
        int left = uv_loop_close(&crowd->loop);
        assert(left == 0);
    }
    for (int i = 0; i < clients; i++)
        orders_drop(&crowd->members[i]);
    timers_close(&crowd->timers);
    free(crowd->members);
    free(crowd->locks);
    free(crowd->healing);
    free(crowd);
}
