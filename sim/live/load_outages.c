/* load_outages.c - when something strikes the servers of a stress run (server_strikes.def; what it
 * does: load_strikes.c), and how long they are out of reach. See stress.h.
 *
 * A silent server executes nothing, and nothing of it reaches a client; its connections stay. One
 * that refuses has its connections reset, and nobody listens where clients connect: their attempts
 * fail with ECONNREFUSED. One that holds writes executes what cannot write. What a server is
 * executing when it is to be struck is answered first, so the history says between which commands
 * it was. */
#include "live/stress.h"

#include "redis/model.h"

#include <assert.h>

enum { PAUSED_AGAIN_US = 1000 };

/* --- events --- */

void outage_tell(struct stress *stress, int server, int lock, enum fault fault, int64_t amount_us)
{
    const struct load_client nobody = {.stress = stress, .number = -1, .lock = lock};
    struct event event = stress_event(stress, EVENT_FAULT, &nobody, server);
    event.fault = fault;
    event.amount_us = amount_us;
    stress_write(stress, &event);
}

/* No failure: it is told of as what it is, and the run has no verdict. */
static void doubt(struct stress *stress, const struct failure *why)
{
    if (!stress->doubt.code)
        stress->doubt = *why;
}

/* --- the end of what goes on --- */

static enum fail open_again(struct queue *queue, struct failure *failure)
{
    const enum server_reach reach = queue->reach;
    struct live *live = queue->stress->live;
    queue->reach = REACH_OPEN;
    if (reach == REACH_REFUSED)
        return live_accept(live, queue->server, failure);
    return servers_go_on(&live->servers, queue->server, failure);
}

static void outage_ends(struct load_timer *timer)
{
    struct queue *queue = timer->owner;
    struct stress *stress = queue->stress;
    struct failure why;
    const enum fail fail = open_again(queue, &why);
    if (fail == FAIL_UNKNOWN)
        doubt(stress, &why);
    else if (fail && !stress->failure.code)
        stress->failure = why;
    outage_tell(stress, queue->server, 0, FAULT_REACHABLE, 0);
    load_requests_pump(stress, queue->server);
}

void outages_end(struct stress *stress)
{
    for (int i = 0; i < stress->options->servers; i++) {
        struct queue *queue = &stress->queues[i];
        if (queue->later && load_strike_must_end(queue->later)) {
            if (timer_is_set(&queue->outage.timer))
                stress_timer(stress, &queue->outage, 0);
            continue;
        }
        queue->due = SERVER_STRIKE_NONE;
        if (queue->later)
            timers_remove(&stress->timers, &queue->outage.timer);
        queue->later = SERVER_STRIKE_NONE;
        queue->parts = 0;
        if (queue->reach == REACH_OPEN || queue->is_striking)
            continue;
        timers_remove(&stress->timers, &queue->outage.timer);
        outage_ends(&queue->outage);
    }
}

enum fail outages_leave(struct stress *stress, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < stress->options->servers && !fail; i++)
        if (stress->queues[i].reach != REACH_OPEN && !stress->queues[i].is_striking)
            fail = open_again(&stress->queues[i], failure);
    return fail;
}

/* --- its beginning --- */

void outage_draw(const struct load_request *request)
{
    struct stress *stress = stress_of(request);
    struct queue *queue = &stress->queues[request->server];
    if (queue->reach != REACH_OPEN || queue->due || queue->later || stress->is_ending)
        return;
    queue->stress = stress;
    queue->server = request->server;
    queue->lock = request->lock;
    queue->due = request->server_strike;
    queue->due_us = 1 + request->delay_us;
}

static void reset_all(const struct queue *queue)
{
    for (int i = 0; i < queue->stress->options->clients; i++)
        lanes_reset(&queue->stress->load_clients[i], queue->server);
}

/* The next part of one that has several: as soon as nothing is with the server. */
static void comes_later(struct load_timer *timer)
{
    struct queue *queue = timer->owner;
    queue->due = queue->later;
    load_requests_pump(queue->stress, queue->server);
}

static void wait_for_end(struct queue *queue, void (*end)(struct load_timer *))
{
    queue->outage.rings = end;
    stress_timer(queue->stress, &queue->outage, queue->stress->is_healing ? 0 : queue->due_us);
}

/* Told only when it is shown that it has struck. How far it is within reach behind that. */
static enum server_reach strike(struct queue *queue, enum server_strike due)
{
    const struct server_strike_row *row = &server_strike_rows[due];
    const enum fault fault = choice_fault(row->choice);
    const bool is_last = load_strike_is_last(queue, due);
    struct stress *stress = queue->stress;
    struct failure why;
    bool is_struck = true;
    const enum fail fail = load_strike(queue, due, &is_struck, &why);
    if (fail == FAIL_UNKNOWN && !queue->is_going)
        doubt(stress, &why);
    else if (fail)
        stress->failure = why;
    queue->is_going = false;
    queue->later = fail || is_last ? SERVER_STRIKE_NONE : due;
    queue->parts = queue->later ? queue->parts + 1 : 0;
    if (queue->later && is_struck)
        wait_for_end(queue, comes_later);
    if (fail || !is_struck || queue->later)
        return REACH_OPEN;
    stress->struck[row->struck]++;
    if (fault_breaks(fault) == FAULT_BREAKS_ALL)
        reset_all(queue);
    if (load_strike_end(queue, due, &why))
        stress->failure = why;
    const enum server_reach reach = load_strike_reach(due);
    if (reach != REACH_OPEN)
        wait_for_end(queue, outage_ends);
    return reach;
}

static void strikes(struct load_timer *timer)
{
    struct queue *queue = timer->owner;
    struct stress *stress = queue->stress;
    const enum server_strike due = queue->due;
    if (stress->is_striking) { /* of another server; that one runs the loop */
        stress_timer(stress, timer, PAUSED_AGAIN_US);
        return;
    }
    stress->is_striking = true;
    stress->live->servers.meanwhile = stress_meanwhile;
    stress->live->servers.meanwhile_context = stress;
    queue->due = SERVER_STRIKE_NONE;
    const bool is_over = !due || stress->is_ending;
    queue->reach = is_over ? REACH_OPEN : strike(queue, due);
    stress->live->servers.meanwhile = NULL;
    queue->is_striking = stress->is_striking = false;
    load_requests_pump(stress, queue->server);
}

/* At the next turn: a strike may take a while, or run the loop, which is calling us now. */
void outage_begin_due(struct queue *queue)
{
    if (!queue->due || queue->is_striking)
        return;
    queue->is_striking = true;
    queue->reach = REACH_SILENT;
    queue->outage = (struct load_timer){.rings = strikes, .owner = queue};
    stress_timer(queue->stress, &queue->outage, 0);
}

bool outage_holds(const struct queue *queue, const struct load_request *request)
{
    return queue->reach == REACH_READ_ONLY ? model_may_write(request->command.verb)
                                           : queue->reach != REACH_OPEN;
}

bool outage_refused(struct stress *stress, int server)
{
    stress->connections_refused += stress->queues[server].has_refused;
    return stress->queues[server].has_refused;
}

/* --- clocks --- */

/* Half the most at least: less could be this machine's doing. */
void server_drifts(struct stress *stress, int server)
{
    uint64_t drawn = stress_draw(stress, stress->options->clients + server, DRAW_DRIFT, 0);
    struct failure why;
    if (drawn % 1000000 >= stress->options->server_drift_ppm)
        return;
    int64_t gains_us = DRIFT_US / 2 + (int64_t)((drawn >> 24) % (DRIFT_US / 2 + 1));
    if (drawn >> 63)
        gains_us = -gains_us;
    if (servers_set_rate(&stress->live->servers, server, gains_us, &why)) {
        doubt(stress, &why);
        return;
    }
    stress->struck[STRUCK_SERVER_DRIFT]++;
    outage_tell(stress, server, 0, FAULT_SERVER_DRIFT, gains_us);
}

/* --- what was under way when a connection went --- */

/* A client that stalls notices later. */
static void loss_noticed(struct load_timer *timer)
{
    struct load_request *request = timer->owner;
    struct load_client *load_client = request->load_client;
    const struct load_request gone = *request;
    if (load_client->is_paused) {
        stress_timer(load_client->stress, timer, PAUSED_AGAIN_US);
        return;
    }
    load_request_fault(request, FAULT_GIVE_UP, 0);
    load_request_free(request);
    load_client_told(load_client, &gone, MOMENT_LOST, NULL);
}

void load_request_lose(struct load_request *request)
{
    struct stress *stress = stress_of(request);
    assert(request->place != PLACE_RUNNING);
    if (request->place == PLACE_QUEUED)
        load_request_dequeue(request);
    timers_remove(&stress->timers, &request->delay.timer);
    if (request->exchange)
        request->exchange->owner = NULL;
    request->exchange = NULL;
    request->connection = NULL;
    request->is_kept_back = false;
    request->place = PLACE_LOST;
    if (request->is_abandoned) {
        load_request_free(request);
        return;
    }
    request->timeout.rings = loss_noticed;
    stress_timer(stress, &request->timeout, 0);
}
