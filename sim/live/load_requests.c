/* load_requests.c - commands of a stress run on their way: queued before their server, struck by
 * faults, given up. See stress.h. */
#include "live/stress.h"

#include "base/memory.h"
#include "live/read_order.h"

#include <assert.h>
#include <stdlib.h>

enum {
    RETRY_US = 5000,
    NEXT_TURN_US = 1, /* a timer that is set so rings behind one turn of the loop */
};

/* --- events --- */

static struct event load_request_event(struct load_request *request, enum event_kind kind)
{
    const int64_t now_us = stress_now_us(request->stress);
    return (struct event){.kind = kind,
                          .time_us = now_us,
                          .from_us = now_us,
                          .client = request->client,
                          .server = request->server,
                          .lock = request->lock,
                          .attempt = request->attempt,
                          .op = request->op,
                          .lane = request->lane,
                          .command = request->command,
                          .token = request->token};
}

void load_request_fault(struct load_request *request, enum fault fault, int64_t amount_us)
{
    struct event event = load_request_event(request, EVENT_FAULT);
    event.amount_us = amount_us;
    event.fault = fault;
    stress_write(request->stress, &event);
}

/* --- life and death --- */

static void load_request_unlink(struct load_request *request)
{
    struct load_request **at = &request->load_client->requests;
    while (*at && *at != request)
        at = &(*at)->next;
    assert(*at);
    *at = request->next;
}

/* Out of everything; not while it is in a queue or with a server. */
void load_request_free(struct load_request *request)
{
    struct stress *stress = stress_of(request);
    timers_remove(&stress->timers, &request->timeout.timer);
    timers_remove(&stress->timers, &request->delay.timer);
    load_request_let_on(request);
    load_request_queue_ends(request);
    load_request_unlink(request);
    free(request);
}

void load_request_dequeue(struct load_request *request)
{
    struct queue *queue = &stress_of(request)->queues[request->server];
    struct load_request *before = NULL;
    for (struct load_request *at = queue->first; at != request; at = at->after)
        before = at;
    if (before)
        before->after = request->after;
    else
        queue->first = request->after;
    if (queue->last == request)
        queue->last = before;
    load_request_queue_ends(request);
}

/* Some are with it: may the next one go there, too? */
static bool may_join(const struct stress *stress, const struct queue *queue, int server)
{
    return stress->live->endpoints[server].order && !queue->due;
}

/* Without a proxy nobody stops it on its way: it goes now, and no sooner, so that nothing is with a
 * server whose keys or connections go. */
static void goes(struct load_request *request)
{
    const char *prefix = stress_of(request)->prefixes[request->lock];
    request->exchange = connection_send(request->connection, request, &request->command, prefix);
}

/* The first that the server does not hold back; NULL: none. */
static struct load_request *next_of(const struct queue *queue)
{
    struct load_request *request = queue->first;
    while (request && outage_holds(queue, request)) {
        load_request_hold_back(request);
        request = request->after;
    }
    return request;
}

void load_requests_pump(struct stress *stress, int server)
{
    struct queue *queue = &stress->queues[server];
    struct load_request *request;
    if (!queue->running)
        outage_begin_due(queue);
    while (!stress->failure.code && (!queue->running || may_join(stress, queue, server)) &&
           (request = next_of(queue))) {
        load_request_dequeue(request);
        load_request_let_on(request);
        queue->running++;
        request->place = PLACE_RUNNING;
        if (stress->options->is_direct)
            goes(request);
        else
            exchange_execute(request->exchange);
    }
}

static void enqueue(struct load_request *request)
{
    struct stress *stress = stress_of(request);
    struct queue *queue = &stress->queues[request->server];
    request->place = PLACE_QUEUED;
    request->after = NULL;
    if (queue->last)
        queue->last->after = request;
    else
        queue->first = request;
    queue->last = request;
    if (queue->running && !may_join(stress, queue, request->server))
        load_request_queue_begins(request);
    load_requests_pump(stress, request->server);
}

/* --- what the endpoint tells --- */

static void delay_before_ends(struct load_timer *timer)
{
    load_request_let_on(timer->owner);
    enqueue(timer->owner);
}

enum { SILENT_AGAIN_US = 1000 };

static void delay_after_ends(struct load_timer *timer)
{
    struct load_request *request = timer->owner;
    struct stress *stress = stress_of(request);
    const enum server_reach reach = stress->queues[request->server].reach;
    if (reach == REACH_SILENT || reach == REACH_REFUSED) { /* it stays where it is */
        stress_timer(stress, timer, SILENT_AGAIN_US);
        return;
    }
    load_request_let_on(request);
    exchange_deliver(request->exchange);
}

static void load_request_delayed(struct load_request *request, void (*then)(struct load_timer *))
{
    struct stress *stress = stress_of(request);
    load_request_hold_back(request);
    stress->struck[load_request_is_past_lease(request) ? STRUCK_PAST_LEASE : STRUCK_DELAY]++;
    load_request_fault(request, FAULT_DELAY, request->delay_us);
    request->delay.rings = then;
    stress_timer(stress, &request->delay, request->delay_us);
}

static void came(struct load_request *request)
{
    struct stress *stress = stress_of(request);
    if (stress->failure.code)
        return;
    if (request->strike == STRIKE_REQUEST && !request->is_abandoned) {
        stress->struck[STRUCK_REQUEST]++;
        load_request_fault(request, FAULT_LOSE_REQUEST, 0);
        lane_end(request->load_client, request->connection, request, MOMENT_LOST);
    } else if (request->strike == STRIKE_SERVER) {
        outage_draw(request);
        enqueue(request);
    } else if (request->strike == STRIKE_DELAY_BEFORE ||
               request->strike == STRIKE_PAST_LEASE_BEFORE) {
        request->place = PLACE_DELAYED;
        load_request_delayed(request, delay_before_ends);
    } else {
        enqueue(request);
    }
}

static void arrived(struct exchange *exchange)
{
    came(exchange->owner);
}

/* Nobody waits for it; its connection ends now, when it was to. */
static void late_one_executed(struct load_request *request)
{
    struct connection *connection = request->connection;
    if (!request->ends_connection) {
        exchange_deliver(request->exchange);
        return;
    }
    struct load_client *load_client = request->load_client;
    load_request_free(request);
    if (!lane_is_executing(load_client, connection))
        connection_cut(connection);
}

/* The master is not the one: its client hears where to go. What was drawn for before it went has
 * struck, and what is to strike behind it does so where it is executed. */
static void sent_on(struct load_request *request)
{
    if (request->strike == STRIKE_SERVER || request->strike == STRIKE_DELAY_BEFORE ||
        request->strike == STRIKE_PAST_LEASE_BEFORE)
        request->strike = STRIKE_NONE;
    if (request->is_abandoned)
        late_one_executed(request);
    else
        exchange_deliver(request->exchange);
}

/* It has executed, after all that has been concluded of that server. */
static void conclude(struct load_request *request)
{
    struct stress *stress = stress_of(request);
    struct exchange *exchange = request->exchange;
    struct queue *queue = &stress->queues[request->server];
    assert(request->place == PLACE_RUNNING && queue->running > 0);
    queue->running--;
    queue->silent = 0;
    request->place = PLACE_ANSWERED;
    if (load_cluster_redirects(request)) {
        sent_on(request);
        return;
    }
    load_cluster_note_watch(request);
    struct event event = load_request_event(request, EVENT_EXECUTE);
    const int64_t from_us =
        exchange->read_us > exchange->released_us ? exchange->read_us : exchange->released_us;
    event.reply = exchange->reply;
    event.from_us = from_us - stress->began_us;
    if (!stress->doubt.code)
        (void)exchange_check_answer(exchange, request->server, &stress->doubt);
    stress_write(stress, &event);
    if (request->is_abandoned) {
        late_one_executed(request);
    } else if (request->strike == STRIKE_REPLY) {
        stress->struck[STRUCK_REPLY]++;
        load_request_fault(request, FAULT_LOSE_REPLY, 0);
        lane_end(request->load_client, request->connection, request, MOMENT_LOST);
    } else if (request->strike == STRIKE_DELAY_AFTER ||
               request->strike == STRIKE_PAST_LEASE_AFTER) {
        load_request_delayed(request, delay_after_ends);
    } else {
        exchange_deliver(exchange);
    }
}

/* All that are answered now, up to the first that is not: what was executed before it is known. */
static void conclude_in_order(struct stress *stress, struct read_order *order,
                              const struct exchange *answered)
{
    struct exchange *first;
    if (!read_order_look(order) || !answered->read_us) {
        failure_set(&stress->failure, FAIL_UNKNOWN,
                    "the order in which server %d executes is lost: %s",
                    answered->connection->endpoint->number + 1,
                    answered->read_us ? "it has read more than is kept of that"
                                      : "it has answered what it was not seen to read");
        return;
    }
    while ((first = read_order_first(order)) && exchange_is_answered(first) &&
           !stress->failure.code) {
        read_order_take(order);
        conclude(first->owner);
    }
}

static void executed(struct exchange *exchange)
{
    struct load_request *request = exchange->owner;
    if (!request || stress_of(request)->failure.code)
        return;
    struct stress *stress = stress_of(request);
    const int server = request->server;
    struct read_order *order = exchange->connection->endpoint->order;
    if (order)
        conclude_in_order(stress, order, exchange);
    else
        conclude(request);
    load_requests_pump(stress, server);
}

/* The client stops waiting, also for a connection; it does not use the one that it had asked on any
 * more. */
static void timed_out(struct load_timer *timer)
{
    struct load_request *request = timer->owner;
    struct load_client *load_client = request->load_client;
    if (load_client->is_paused) { /* who is stalled notices later */
        stress_timer(load_client->stress, timer, 1000);
        return;
    }
    if (load_request_may_be_heard(request)) {
        stress_timer(load_client->stress, timer, NEXT_TURN_US);
        return;
    }
    load_request_fault(request, FAULT_GIVE_UP, 0);
    load_request_let_on(request);
    load_request_queue_ends(request);
    request->is_abandoned = true;
    const struct load_request given_up = *request;
    if (request->place == PLACE_UNSENT)
        load_request_free(request);
    else if (request->connection)
        request->connection->is_left = true;
    load_client_told(load_client, &given_up, MOMENT_TIMEOUT, NULL);
}

static void late_one_heard(struct load_request *request)
{
    const struct load_request gone = *request;
    load_request_free(request);
    exchange_let_go(gone.exchange);
    lane_settle(gone.load_client, gone.connection, gone.node, gone.lane);
}

static void load_request_delivered(struct load_request *request)
{
    if (request->redirect) {
        load_cluster_follow(request);
        return;
    }
    struct load_client *load_client = request->load_client;
    struct exchange *exchange = request->exchange;
    const struct load_request gone = *request;
    const struct reply reply = exchange->reply;
    struct event event = load_request_event(request, EVENT_HEAR);
    event.reply = reply;
    stress_write(load_client->stress, &event);
    load_request_free(request);
    exchange_let_go(exchange);
    lane_settle(load_client, gone.connection, gone.node, gone.lane);
    load_client_told(load_client, &gone, MOMENT_REPLY, &reply);
}

static bool stalls_in_release(const struct load_request *request)
{
    return request->op == OP_RELEASE && !request->redirect &&
           load_client_stalls_releasing(request->load_client);
}

static void delivered(struct exchange *exchange)
{
    struct load_request *request = exchange->owner;
    if (stress_of(request)->failure.code)
        return;
    if (request->is_abandoned)
        late_one_heard(request);
    else if (request->load_client->is_paused || stalls_in_release(request))
        request->is_kept_back = true;
    else
        load_request_delivered(request);
}

void load_requests_resume(struct load_client *load_client)
{
    struct load_request *request = load_client->requests;
    while (request) {
        if (!request->is_kept_back) {
            request = request->next;
            continue;
        }
        request->is_kept_back = false;
        load_request_delivered(request);
        request = load_client->requests; /* what it led to may have changed the list */
    }
}

static void broken(struct connection *connection)
{
    struct load_client *load_client = connection->owner;
    if (!load_client)
        return; /* one of ours that asks who answers */
    struct stress *stress = load_client->stress;
    if (stress->queues[connection->endpoint->number].is_going) {
        lane_lose(load_client, connection);
        return;
    }
    if (connection->was_refused && outage_refused(stress, connection->endpoint->number)) {
        lane_lose(load_client, connection);
        return;
    }
    if (!stress->failure.code)
        failure_set(&stress->failure, FAIL_UNAVAILABLE, "a connection to server %d ended%s%s",
                    connection->endpoint->number + 1,
                    connection->endpoint->complaint[0] ? ": " : "",
                    connection->endpoint->complaint);
    lanes_forget(load_client, connection);
    for (struct load_request *request = load_client->requests; request; request = request->next)
        if (request->connection == connection)
            request->connection = NULL;
}

const struct connection_events stress_connection_events = {
    .arrived = arrived, .executed = executed, .delivered = delivered, .broken = broken};

/* --- sending --- */

/* Now, or when a connection is free. What cannot be sent at all ends the run: it is in
 * stress->failure. */
void load_request_go(struct load_request *request)
{
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
    struct load_client *load_client = request->load_client;
    struct stress *stress = load_client->stress;
    struct connection **connection = &load_client->connections[request->node][request->lane];
    request->place = PLACE_UNSENT;
    timers_remove(&stress->timers, &request->delay.timer);
    /* A new connection, where there is room for one; else it waits until the one that was left
     * ends, and lane_settle() takes it up. */
    if (*connection && (*connection)->is_left && !lanes_have_room(stress)) {
        load_request_queue_begins(request);
        return;
    }
    if (*connection && (*connection)->is_left)
        *connection = NULL;
    if (!*connection && !lanes_can_dial(stress)) {
        load_request_queue_begins(request);
        stress_timer(stress, &request->delay, lanes_dial_again_us(stress));
        return;
    }
    if (request->is_asking && *connection && (*connection)->first) {
        load_request_queue_begins(request);
        stress_timer(stress, &request->delay,
                     RETRY_US); /* it goes behind ASKING, and nothing else */
        return;
    }
    load_request_queue_ends(request);
    request->place = PLACE_UNDERWAY;
    struct event event = load_request_event(request, EVENT_SEND);
    if (!request->followed)
        stress_write(stress, &event);
    if (!*connection && connection_new(connection, &stress->live->endpoints[request->node],
                                       load_client, &stress->failure))
        return;
    request->connection = *connection;
    if (request->is_asking)
        connection_pass(*connection, asking, sizeof asking - 1);
    if (stress->options->is_direct)
        came(request);
    else
        goes(request);
}

static void try_again(struct load_timer *timer)
{
    load_request_go(timer->owner);
}

void load_request_send(struct load_client *load_client, const struct request *wanted)
{
    struct stress *stress = load_client->stress;
    if (stress->failure.code)
        return;
    struct load_request *request = memory_new(1, sizeof *request);
    *request = (struct load_request){.stress = stress,
                                     .load_client = load_client,
                                     .client = load_client->number,
                                     .server = wanted->server,
                                     .node = load_cluster_node(load_client, wanted->server),
                                     .lane = wanted->lane,
                                     .op = wanted->op,
                                     .command = wanted->command,
                                     .lock = load_client->lock,
                                     .attempt = load_client->client.attempt,
                                     .token = load_client->client.lease.token};
    struct load_request **last = &load_client->requests;
    while (*last)
        last = &(*last)->next;
    *last = request;
    if (wanted->op == OP_RELEASE && load_client->has_stalled_releasing) {
        load_client->has_stalled_releasing = false;
        stress->struck[STRUCK_IN_RELEASE]++;
    }
    load_request_draw(request);
    request->timeout = (struct load_timer){.rings = timed_out, .owner = request};
    request->delay = (struct load_timer){.rings = try_again, .owner = request};
    stress_timer(stress, &request->timeout, stress->options->timeout_us);
    load_request_go(request);
}
