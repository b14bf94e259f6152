/* stress.c - the free run: its loop, clock and timers, the faults' dice, the end. See stress.h and
 * live.h. */
#include "live/stress.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "live/control.h"
#include "proxy/carrier.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DRAIN_LIMIT_US = 2000000, /* after the end, for what is under way */
    PROGRESS_EVERY_US = 1000000,
    SPIN_US = 20, /* not worth a sleep */
    LOOK_LEAST_US = 1000,
};

/* --- time, events, dice --- */

int64_t stress_now_us(const struct stress *stress)
{
    return monotonic_us() - stress->began_us;
}

struct event stress_event(struct stress *stress, enum event_kind kind,
                          const struct load_client *load_client, int server)
{
    int64_t now_us = stress_now_us(stress);
    return (struct event){.kind = kind,
                          .time_us = now_us,
                          .from_us = now_us,
                          .client = load_client->number,
                          .server = server,
                          .lock = load_client->lock,
                          .attempt = load_client->client.attempt,
                          .token = load_client->client.lease.token};
}

void stress_write(struct stress *stress, struct event *event)
{
    event->index = stress->events++;
    if (stress->options->sink.take)
        stress->options->sink.take(stress->options->sink.context, event);
}

uint64_t stress_draw(const struct stress *stress, int client, enum draw draw, int64_t n)
{
    /* Streams of their own, away from those that tokens are drawn from. */
    uint64_t stream = ((uint64_t)client + 1) << 32 | (uint64_t)draw;
    return random_at(stress->options->seed, stream, (uint64_t)n);
}

int64_t stress_spread(uint64_t drawn, int64_t mean_us)
{
    return mean_us > 0 ? (int64_t)(drawn % (2 * (uint64_t)mean_us + 1)) : 0;
}

void stress_timer(struct stress *stress, struct load_timer *timer, int64_t in_us)
{
    timers_push(&stress->timers, &timer->timer, stress_now_us(stress) + in_us);
}

/* --- the loop --- */

static void ring_timers(struct stress *stress)
{
    struct timer *timer;
    int64_t now_us = stress_now_us(stress);
    while (!stress->failure.code && (timer = timers_pop(&stress->timers, now_us))) {
        struct load_timer *rung = (struct load_timer *)timer;
        stress->rings_late_us = stress_now_us(stress) - timer->due_us;
        rung->rings(rung);
    }
    stress->rings_late_us = 0;
}

void stress_meanwhile(void *context)
{
    ring_timers(context);
}

/* What clients and proxies have for each other goes on before anybody waits. */
static void move(struct stress *stress)
{
    for (int i = 0; i < stress->options->servers && !stress->failure.code; i++)
        endpoint_move(&stress->live->endpoints[i]);
}

/* So long it waits for others, if need be: then what holds us up is seen to a part of a lease. */
static int64_t patience_us(const struct stress *stress)
{
    return stress->options->lease_us / LOOKS_A_LEASE + LOOK_LEAST_US;
}

static bool is_owed(const struct stress *stress)
{
    return stress->carriers && carriers_owe(stress->carriers);
}

/* One turn: what is due, then what has come; sleeps at most until the next timer or until_us. */
static void turn(struct stress *stress, int64_t until_us)
{
    ring_timers(stress);
    move(stress);
    int64_t next_us = timers_next_us(&stress->timers);
    next_us = next_us < until_us ? next_us : until_us;
    uv_loop_t *loop = &stress->live->loop;
    const int64_t now_us = stress_now_us(stress), look_us = now_us + patience_us(stress);
    next_us = next_us < look_us ? next_us : look_us;
    held_up_turn(&stress->held_up, is_owed(stress) ? 0 : next_us - now_us);
    if (next_us - now_us < SPIN_US) {
        (void)uv_run(loop, UV_RUN_NOWAIT);
        return;
    }
    wakeup_by(&stress->live->wakeup, stress->began_us + next_us);
    (void)uv_run(loop, UV_RUN_ONCE);
}

static bool is_stopped(const struct stress *stress)
{
    return stress->options->stop && *stress->options->stop;
}

static void tell_progress(const struct stress *stress, int64_t now_us)
{
    const struct stress_options *options = stress->options;
    if (options->progress)
        options->progress(options->progress_context,
                          &(struct stress_progress){.elapsed_us = now_us,
                                                    .operations = stress->operations,
                                                    .grants = stress->grants,
                                                    .is_healing = stress->is_healing,
                                                    .p99_us = histogram_at(stress->latency, 990)});
}

static void look_for_enough(struct stress *stress)
{
    const struct stress_options *options = stress->options;
    if (options->is_enough && options->is_enough(options->is_enough_context))
        stress->has_seen_enough = true;
}

/* A run without a time heals when it has been told to end; a second signal ends the program. */
static bool is_over(const struct stress *stress)
{
    const bool is_due = stress->is_healing && !stress->options->duration_us;
    return stress->has_seen_enough || (is_stopped(stress) && !is_due);
}

static void run_until(struct stress *stress, int64_t end_us)
{
    int64_t now_us = stress_now_us(stress), checked_us = now_us, told_us = now_us;
    while (!stress->failure.code && !is_over(stress) && now_us < end_us) {
        int64_t until_us = checked_us + CHECK_EVERY_US;
        turn(stress, until_us < end_us ? until_us : end_us);
        now_us = stress_now_us(stress);
        if (now_us >= until_us) {
            checked_us = now_us;
            load_life_check(stress);
            load_life_check_answers(stress);
            look_for_enough(stress);
        }
        if (now_us < told_us + PROGRESS_EVERY_US)
            continue;
        told_us = now_us;
        load_life_compare_clocks(stress);
        tell_progress(stress, now_us);
    }
}

/* No more faults are drawn; those that go on end. What a client meets then it must get over. */
static void heal(struct stress *stress)
{
    const int64_t heal_us = stress->options->heal_us;
    const bool is_cut_short = stress_is_cut_short(stress->options, stress_now_us(stress));
    if (!heal_us || is_cut_short || stress->has_seen_enough || stress->failure.code)
        return;
    stress->is_healing = true;
    outages_end(stress);
    run_until(stress, stress_now_us(stress) + heal_us);
}

static bool is_at_rest(const struct stress *stress)
{
    for (int i = 0; i < stress->options->servers; i++)
        if (stress->queues[i].running)
            return false;
    for (int i = 0; i < stress->options->clients; i++) {
        enum phase phase = stress->load_clients[i].client.phase;
        if (phase != PHASE_IDLE && phase != PHASE_DEAD)
            return false;
    }
    return true;
}

/* No new attempts; what is under way comes to its end, or stays open. A server that does not answer
 * is waited for as ever. */
static void drain(struct stress *stress)
{
    stress->is_ending = true;
    int64_t now_us = stress_now_us(stress), checked_us = now_us;
    const int64_t limit_us = now_us + DRAIN_LIMIT_US;
    load_life_forget_silence(stress);
    while (!stress->failure.code && !is_at_rest(stress) &&
           (now_us < limit_us || load_life_is_silent(stress))) {
        turn(stress, checked_us + CHECK_EVERY_US);
        now_us = stress_now_us(stress);
        if (now_us < checked_us + CHECK_EVERY_US)
            continue;
        checked_us = now_us;
        load_life_check_answers(stress);
    }
}

/* --- before --- */

static enum fail have_servers(struct stress *stress, bool wants_replica, struct failure *failure)
{
    const struct stress_options *options = stress->options;
    char key[LOCK_KEY_MAX];
    if (!options->is_cluster)
        return live_prepare(stress->live, options->servers, wants_replica, options->locks,
                            &stress_connection_events, failure);
    load_cluster_key(stress, 0, key);
    return live_prepare_cluster(stress->live, key, options->locks, &stress_connection_events,
                                failure);
}

/* Nothing has begun: for one of ours that has ended since the last run there is another. */
static enum fail prepare_servers(struct stress *stress, bool wants_replica, struct failure *failure)
{
    struct live *live = stress->live;
    struct failure how;
    const struct stress_options *options = stress->options;
    stress->prefixes = memory_new((size_t)options->locks, sizeof *stress->prefixes);
    for (int i = 0; i < options->locks; i++)
        (options->is_cluster ? live_cluster_prefix : live_lock_prefix)(stress->live, i,
                                                                       stress->prefixes[i]);
    servers_bury(&live->servers);
    enum fail fail = have_servers(stress, wants_replica, failure);
    if (fail == FAIL_UNAVAILABLE && !live->servers.is_foreign && live->servers.count) {
        (void)live_server_died(live, &how); /* how one did was told, or it is not seen yet */
        servers_bury(&live->servers);
        fail = have_servers(stress, wants_replica, failure);
    }
    return !fail && options->is_cluster ? load_cluster_begin(stress, failure) : fail;
}

static enum fail prepare(struct stress *stress, struct failure *failure)
{
    const struct stress_options *options = stress->options;
    assert(!stress_can(stress->live, options, failure));
    const bool wants_replica = (options->scheme->needs_replica || options->failover_ppm ||
                                options->sentinel_failover_ppm) &&
                               !stress->live->servers.is_foreign;
    if (!stress->live->wakeup.is_open &&
        wakeup_open(&stress->live->wakeup, &stress->live->loop, failure))
        return failure->code;
    if (load_room(stress, &stress->room, failure))
        return failure->code;
    if (prepare_servers(stress, wants_replica, failure))
        return failure->code;
    if (options->scheme->needs_replica && servers_has_replica(&stress->live->servers, failure))
        return failure->code;
    load_order_follow(stress);
    if (load_carriers_begin(stress, failure) || load_send_thread_begin(stress, failure))
        return failure->code;
    if (load_order_go_direct(stress, failure) || load_order_go_near(stress, failure))
        return failure->code;
    stress->run = (struct run){.scheme = options->scheme,
                               .clients = options->clients,
                               .servers = options->servers,
                               .lease_us = options->lease_us,
                               .seed = options->seed};
    stress->latency = memory_new(1, sizeof *stress->latency);
    stress->load_clients = memory_new((size_t)options->clients, sizeof *stress->load_clients);
    stress->healing = memory_new((size_t)options->locks, sizeof *stress->healing);
    timers_init(&stress->timers);
    for (int i = 0; i < options->clients; i++)
        load_client_init(&stress->load_clients[i], stress, i);
    return FAIL_NONE;
}

static void begin(struct stress *stress)
{
    const struct stress_options *options = stress->options;
    struct timespec wall;
    stress->began_us = monotonic_us();
    held_up_begin(&stress->held_up, &stress->live->loop);
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    for (int i = 0; i < options->servers; i++) {
        stress->live->endpoints[i].is_eager =
            !stress->carriers; /* what these have is not here yet */
        server_drifts(stress, i);
    }
    for (int i = 0; i < options->clients; i++) {
        struct load_client *load_client = &stress->load_clients[i];
        load_client->client.epoch_us = (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000;
        load_client_drifts(load_client);
        load_client_begin(load_client);
    }
}

/* --- after --- */

static redisReply *counter_of(struct stress *stress, int lock, struct failure *failure)
{
    if (stress->options->is_cluster)
        return load_cluster_counter(stress, lock, failure);
    return control_ask(servers_control(&stress->live->servers, 0), failure, "GET %s%s",
                       stress->prefixes[lock], key_name(KEY_COUNTER));
}

/* What the counters say in the end, as executions of nobody: the truth that lost updates are
 * counted against. */
static enum fail read_counters(struct stress *stress, struct failure *failure)
{
    const struct load_client nobody = {.stress = stress, .number = -1};
    for (int lock = 0; lock < stress->options->locks; lock++) {
        redisReply *got = counter_of(stress, lock, failure);
        if (!got)
            return failure_wrap(failure, "the counter of lock %d at the end", lock + 1);
        struct event event = stress_event(stress, EVENT_EXECUTE, &nobody, 0);
        event.lock = lock;
        event.op = OP_ACCESS;
        event.command = (struct command){.verb = VERB_GET, .key = KEY_COUNTER};
        event.reply = (struct reply){.kind = REPLY_NIL};
        if (got->type == REDIS_REPLY_STRING)
            event.reply = (struct reply){.kind = REPLY_VALUE, .value = atoll(got->str)};
        freeReplyObject(got);
        stress_write(stress, &event);
    }
    return FAIL_NONE;
}

/* What is asked of the servers when all is over. One that dies meanwhile ends the run, too. */
static enum fail take_leave(struct stress *stress, struct stress_outcome *outcome,
                            struct failure *failure)
{
    if (!outages_leave(stress, &stress->failure))
        (void)read_counters(stress, &stress->failure);
    return load_life_end(stress, outcome, failure);
}

static enum fail finish(struct stress *stress, struct stress_outcome *outcome,
                        struct failure *failure)
{
    (void)live_finish(stress->live, &stress->failure);
    return load_life_end(stress, outcome, failure);
}

static void fill_outcome(const struct stress *stress, struct stress_outcome *outcome)
{
    outcome->clients = stress->greeted;
    outcome->doubt = stress->doubt;
    const struct stress_options *options = stress->options;
    outcome->was_stopped = stress_is_cut_short(options, outcome->elapsed_us);
    outcome->has_seen_enough = stress->has_seen_enough;
    healing_count(stress->healing, options, outcome);
    outcome->latency_us = (struct latency){.p50 = histogram_at(stress->latency, 500),
                                           .p99 = histogram_at(stress->latency, 990),
                                           .p999 = histogram_at(stress->latency, 999),
                                           .max = stress->latency->max};
    outcome->connections_refused = stress->connections_refused;
    outcome->moved = stress->live->servers.cluster.moved;
    outcome->asked = stress->live->servers.cluster.asked;
    outcome->was_one_at_a_time = !stress->is_ordered;
    memcpy(outcome->struck, stress->struck, sizeof outcome->struck);
}

static void hang_up(struct stress *stress)
{
    const struct stress_options *options = stress->options;
    for (int i = 0; stress->load_clients && i < options->clients; i++) {
        struct load_client *load_client = &stress->load_clients[i];
        for (struct load_request *request = load_client->requests, *next; request; request = next) {
            next = request->next;
            if (request->connection)
                connection_cut(request->connection);
            free(request);
        }
        for (int server = 0; server < options->servers; server++)
            for (int lane = 0; lane < LANE_COUNT; lane++)
                if (load_client->connections[server][lane])
                    connection_cut(load_client->connections[server][lane]);
    }
}

static void clean_up(struct stress *stress)
{
    load_order_drop(stress);
    for (int i = 0; i < stress->options->servers; i++)
        stress->live->endpoints[i].is_eager = false;
    timers_close(&stress->timers);
    load_cluster_end(stress);
    free(stress->load_clients);
    free(stress->prefixes);
    free(stress->healing);
    free(stress->latency);
}

static enum fail run(struct stress *stress, struct stress_outcome *outcome, struct failure *failure)
{
    const struct stress_options *options = stress->options;
    if (load_greet(stress, failure))
        return load_life_unbegun(stress, outcome, failure);
    memory_use_huge_pages();
    begin(stress);
    run_until(stress, options->duration_us ? options->duration_us : INT64_MAX);
    heal(stress);
    outcome->elapsed_us = stress_now_us(stress);
    outcome->injected_wait_us = load_waits_us(stress, outcome->elapsed_us);
    if (stress_is_cut_short(options, outcome->elapsed_us))
        load_life_compare_clocks(stress); /* whoever does not answer is not waited for */
    drain(stress);
    load_life_check_carriers(stress);
    load_life_compare_clocks(stress);
    return load_life_end(stress, outcome, failure);
}

enum fail live_stress(struct live *live, const struct stress_options *options,
                      struct stress_outcome *outcome, struct failure *failure)
{
    struct failure local, *why = failure ? failure : &local;
    struct stress stress = {.live = live, .options = options, .near.listener = -1};
    assert(options->clients > 0 && options->locks > 0 && options->servers > 0);
    memset(outcome, 0, sizeof *outcome);
    control_heed(stress_hurried_by(options));
    enum fail fail = prepare(&stress, why);
    if (!fail)
        fail = run(&stress, outcome, why);
    hang_up(&stress);
    live_wait_for_connections(live);
    load_send_thread_end(&stress);
    outcome->proxy_processes = load_room_processes(options);
    outcome->proxy_processes_cpu_us = load_carriers_end(&stress);
    if (!fail && !outcome->ended.code)
        fail = take_leave(&stress, outcome, why);
    if (!fail && !outcome->ended.code)
        fail = finish(&stress, outcome, why);
    else if (live->is_busy)
        (void)live_finish(live, &local);
    if (!fail)
        fill_outcome(&stress, outcome);
    if (outcome->ended.code)
        servers_bury(&live->servers);
    clean_up(&stress);
    control_heed(NULL);
    return fail;
}
