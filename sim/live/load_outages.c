/* load_outages.c - servers that clients cannot reach for a while in a stress run: silent, or
 * refusing connections; and servers that lose their keys, or end all connections. See stress.h.
 *
 * A silent server executes nothing, and nothing of it reaches a client; its connections stay. One
 * that refuses has its connections reset, and nobody listens where clients connect: their attempts
 * fail with ECONNREFUSED. What a server is executing when it is to go out of reach is answered
 * first; so it is before its keys go, and the history says between which commands they went. */
#include "live/stress.h"

#include <assert.h>

enum { PAUSED_AGAIN_US = 1000 };

/* --- outages --- */

static void write_fault(struct stress *stress, int server, enum fault fault, int64_t amount_us)
{
    const struct load_client nobody = {.stress = stress, .number = -1};
    struct event event = stress_event(stress, EVENT_FAULT, &nobody, server);
    event.fault = fault;
    event.amount_us = amount_us;
    stress_write(stress, &event);
}

static void write_outage(const struct queue *queue, enum fault fault)
{
    write_fault(queue->stress, queue->server, fault, 0);
}

void outage_draw(const struct load_request *request)
{
    struct stress *stress = stress_of(request);
    struct queue *queue = &stress->queues[request->server];
    if (queue->reach != REACH_OPEN || queue->due != REACH_OPEN || stress->is_ending)
        return;
    queue->stress = stress;
    queue->server = request->server;
    if (request->strike == STRIKE_FLUSH_ALL) {
        queue->is_flush_due = true;
        return;
    }
    if (request->strike == STRIKE_CLIENT_KILL) {
        queue->is_kill_due = true;
        return;
    }
    queue->due = request->strike == STRIKE_REFUSAL ? REACH_REFUSED : REACH_SILENT;
    queue->due_us = 1 + request->delay_us;
}

/* No failure: it is told of as what it is, and the run has no verdict. */
static void doubt(struct stress *stress, const struct failure *why)
{
    if (!stress->doubt.code)
        stress->doubt = *why;
}

static void open_again(struct queue *queue)
{
    struct failure why;
    if (queue->reach == REACH_REFUSED && live_accept(queue->stress->live, queue->server, &why) &&
        !queue->stress->failure.code)
        queue->stress->failure = why;
    queue->reach = REACH_OPEN;
}

static void outage_ends(struct load_timer *timer)
{
    struct queue *queue = timer->owner;
    open_again(queue);
    write_outage(queue, FAULT_REACHABLE);
    load_requests_pump(queue->stress, queue->server);
}

void outages_end(struct stress *stress)
{
    for (int i = 0; i < stress->options->servers; i++) {
        struct queue *queue = &stress->queues[i];
        queue->due = REACH_OPEN;
        queue->is_flush_due = queue->is_kill_due = false;
        if (queue->reach == REACH_OPEN)
            continue;
        timers_remove(&stress->timers, &queue->outage.timer);
        outage_ends(&queue->outage);
    }
}

static void reset_all(const struct queue *queue)
{
    for (int i = 0; i < queue->stress->options->clients; i++)
        lanes_reset(&queue->stress->load_clients[i], queue->server);
}

static void refuse(struct queue *queue)
{
    struct stress *stress = queue->stress;
    struct failure why;
    queue->has_refused = true;
    if (live_refuse(stress->live, queue->server, &why))
        doubt(stress, &why);
    reset_all(queue);
}

/* Told only when it is shown that the keys are gone. */
static void flush_due(struct queue *queue)
{
    struct stress *stress = queue->stress;
    struct failure why;
    const bool is_due = queue->is_flush_due && !stress->is_ending;
    queue->is_flush_due = false;
    if (!is_due)
        return;
    if (servers_flush_keys(&stress->live->servers, queue->server, &why)) {
        doubt(stress, &why);
        return;
    }
    stress->struck[STRUCK_FLUSH_ALL]++;
    write_outage(queue, FAULT_FLUSH_ALL);
}

/* Told only when the server says that it has ended some; of those that nobody uses any more it may
 * have ended others. */
static void kill_due(struct queue *queue)
{
    struct stress *stress = queue->stress;
    struct failure why;
    const bool is_due = queue->is_kill_due && !stress->is_ending;
    queue->is_kill_due = false;
    if (!is_due)
        return;
    if (servers_kill_clients(&stress->live->servers, queue->server, 1, &why)) {
        doubt(stress, &why);
        return;
    }
    stress->struck[STRUCK_CLIENT_KILL]++;
    write_outage(queue, FAULT_CLIENT_KILL);
    reset_all(queue);
}

void outage_begin_due(struct queue *queue)
{
    if (queue->is_flush_due)
        flush_due(queue);
    if (queue->is_kill_due)
        kill_due(queue);
    const enum server_reach due = queue->due;
    struct stress *stress = queue->stress;
    queue->due = REACH_OPEN;
    if (due == REACH_OPEN || stress->is_ending)
        return;
    queue->reach = due;
    stress->struck[due == REACH_REFUSED ? STRUCK_REFUSAL : STRUCK_SILENCE]++;
    write_outage(queue, due == REACH_REFUSED ? FAULT_REFUSING_SERVER : FAULT_SILENT_SERVER);
    queue->outage = (struct load_timer){.rings = outage_ends, .owner = queue};
    stress_timer(stress, &queue->outage, queue->due_us);
    if (due == REACH_REFUSED)
        refuse(queue);
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
    write_fault(stress, server, FAULT_SERVER_DRIFT, gains_us);
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
