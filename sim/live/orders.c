/* orders.c - commands of a stress run on their way: queued before their server, struck by faults,
 * given up. See stress.h. */
#include "live/stress.h"

#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RETRY_US = 5000,
};

/* --- events --- */

struct event order_event(struct order *order, enum event_kind kind)
{
    struct event event = stress_event(order->player->stress, kind, order->player, order->server);
    event.lock = order->lock;
    event.attempt = order->attempt;
    event.op = order->op;
    event.lane = order->lane;
    event.command = order->command;
    event.token = order->token;
    return event;
}

void order_fault(struct order *order, const char *name, int64_t amount_us)
{
    struct event event = order_event(order, EVENT_FAULT);
    event.amount_us = amount_us;
    (void)snprintf(event.fault, sizeof event.fault, "%s", name);
    stress_write(order->player->stress, &event);
}

/* --- life and death --- */

static void order_unlink(struct order *order)
{
    struct order **at = &order->player->orders;
    while (*at && *at != order)
        at = &(*at)->next;
    assert(*at);
    *at = order->next;
}

/* Out of everything; not while it is in a queue or with a server. */
void order_free(struct order *order)
{
    struct stress *stress = stress_of(order);
    timers_remove(&stress->timers, &order->timeout.timer);
    timers_remove(&stress->timers, &order->delay.timer);
    order_unlink(order);
    free(order);
}

void order_dequeue(struct order *order)
{
    struct queue *queue = &stress_of(order)->queues[order->server];
    struct order *before = NULL;
    for (struct order *at = queue->first; at != order; at = at->after)
        before = at;
    if (before)
        before->after = order->after;
    else
        queue->first = order->after;
    if (queue->last == order)
        queue->last = before;
}

static void pump(struct stress *stress, int server)
{
    struct queue *queue = &stress->queues[server];
    struct order *order = queue->first;
    if (queue->running || !order)
        return;
    queue->first = order->after;
    if (!queue->first)
        queue->last = NULL;
    queue->running = order;
    order->place = PLACE_RUNNING;
    call_execute(order->call);
}

static void enqueue(struct order *order)
{
    struct stress *stress = stress_of(order);
    struct queue *queue = &stress->queues[order->server];
    order->place = PLACE_QUEUED;
    order->after = NULL;
    if (queue->last)
        queue->last->after = order;
    else
        queue->first = order;
    queue->last = order;
    pump(stress, order->server);
}

/* --- what the station tells --- */

static void delay_before_ends(struct alarm *alarm)
{
    enqueue(alarm->owner);
}

static void delay_after_ends(struct alarm *alarm)
{
    struct order *order = alarm->owner;
    call_hear(order->call);
}

static void order_delayed(struct order *order, void (*then)(struct alarm *))
{
    struct stress *stress = stress_of(order);
    stress->struck[STRUCK_DELAY]++;
    order_fault(order, "delay", order->delay_us);
    order->delay.rings = then;
    stress_alarm(stress, &order->delay, order->delay_us);
}

static void came(struct call *call)
{
    struct order *order = call->owner;
    struct stress *stress = stress_of(order);
    if (stress->trouble.code)
        return;
    if (order->strike == STRIKE_REQUEST && !order->is_abandoned) {
        stress->struck[STRUCK_REQUEST]++;
        order_fault(order, choice_name(CHOICE_LOSE_REQUEST), 0);
        lane_end(order->player, order->wire, order, MOMENT_LOST);
    } else if (order->strike == STRIKE_DELAY_BEFORE) {
        order->place = PLACE_DELAYED;
        order_delayed(order, delay_before_ends);
    } else {
        enqueue(order);
    }
}

/* Nobody waits for it; its connection ends now, when it was to. */
static void late_one_executed(struct order *order)
{
    struct wire *wire = order->wire;
    if (!order->ends_wire) {
        call_hear(order->call);
        return;
    }
    order_free(order);
    wire_cut(wire);
}

static void executed(struct call *call)
{
    struct order *order = call->owner;
    if (!order || stress_of(order)->trouble.code)
        return;
    struct stress *stress = stress_of(order);
    struct queue *queue = &stress->queues[order->server];
    assert(queue->running == order);
    queue->running = NULL;
    order->place = PLACE_ANSWERED;
    struct event event = order_event(order, EVENT_EXECUTE);
    event.reply = call->reply;
    event.from_us = call->released_us - stress->began_us;
    stress_write(stress, &event);
    int server = order->server;
    if (order->is_abandoned) {
        late_one_executed(order);
    } else if (order->strike == STRIKE_REPLY) {
        stress->struck[STRUCK_REPLY]++;
        order_fault(order, choice_name(CHOICE_LOSE_REPLY), 0);
        lane_end(order->player, order->wire, order, MOMENT_LOST);
    } else if (order->strike == STRIKE_DELAY_AFTER) {
        order_delayed(order, delay_after_ends);
    } else {
        call_hear(call);
    }
    pump(stress, server);
}

/* The client stops waiting, also for a connection; it does not use the one that it had asked on any
 * more. */
static void timed_out(struct alarm *alarm)
{
    struct order *order = alarm->owner;
    struct player *player = order->player;
    if (player->is_paused) { /* who is stalled notices later */
        stress_alarm(player->stress, alarm, 1000);
        return;
    }
    order_fault(order, choice_name(CHOICE_GIVE_UP), 0);
    order->is_abandoned = true;
    const struct order given_up = *order;
    if (order->place == PLACE_UNSENT)
        order_free(order);
    else if (order->wire)
        order->wire->is_left = true;
    player_told(player, &given_up, MOMENT_TIMEOUT, NULL);
}

static void late_one_heard(struct order *order)
{
    const struct order gone = *order;
    order_free(order);
    call_let_go(gone.call);
    lane_settle(gone.player, gone.wire, gone.server, gone.lane);
}

static void order_heard(struct order *order)
{
    struct player *player = order->player;
    struct call *call = order->call;
    const struct order gone = *order;
    const struct reply reply = call->reply;
    struct event event = order_event(order, EVENT_HEAR);
    event.reply = reply;
    stress_write(player->stress, &event);
    order_free(order);
    call_let_go(call);
    lane_settle(player, gone.wire, gone.server, gone.lane);
    player_told(player, &gone, MOMENT_REPLY, &reply);
}

/* Its time-out rang while this process had to wait for the machine. */
static bool is_overdue(const struct order *order)
{
    return !order->is_abandoned && !order->player->is_paused &&
           timer_is_set(&order->timeout.timer) &&
           order->timeout.timer.due_us <= stress_now_us(stress_of(order));
}

static void heard(struct call *call)
{
    struct order *order = call->owner;
    if (stress_of(order)->trouble.code)
        return;
    if (is_overdue(order)) {
        timers_remove(&stress_of(order)->timers, &order->timeout.timer);
        timed_out(&order->timeout);
        order = call->owner;
        if (!order)
            return; /* what it led to has ended the connection */
    }
    if (order->is_abandoned)
        late_one_heard(order);
    else if (order->player->is_paused)
        order->is_kept_back = true;
    else
        order_heard(order);
}

void orders_resume(struct player *player)
{
    struct order *order = player->orders;
    while (order) {
        if (!order->is_kept_back) {
            order = order->next;
            continue;
        }
        order->is_kept_back = false;
        order_heard(order);
        order = player->orders; /* what it led to may have changed the list */
    }
}

static void broken(struct wire *wire)
{
    struct player *player = wire->owner;
    struct stress *stress = player->stress;
    if (!stress->trouble.code)
        failure_set(&stress->trouble, FAIL_UNAVAILABLE, "server %d closed a connection%s%s",
                    wire->station->number + 1, wire->station->trouble[0] ? ": " : "",
                    wire->station->trouble);
    lanes_forget(player, wire);
    for (struct order *order = player->orders; order; order = order->next)
        if (order->wire == wire)
            order->wire = NULL;
}

const struct wire_events stress_wire_events = {
    .came = came, .executed = executed, .heard = heard, .broken = broken};

/* --- sending --- */

static void draw_strike(struct order *order)
{
    const struct stress *stress = stress_of(order);
    const struct stress_options *options = stress->options;
    uint64_t drawn =
        stress_draw(stress, order->player->number, DRAW_COMMAND, order->player->commands++);
    uint64_t part = drawn % 1000000;
    const uint64_t request = options->lose_request_ppm;
    const uint64_t reply = request + options->lose_reply_ppm;
    const uint64_t delay = reply + options->delay_ppm;
    if (part < request)
        order->strike = STRIKE_REQUEST;
    else if (part < reply)
        order->strike = STRIKE_REPLY;
    else if (part < delay)
        order->strike = drawn >> 63 ? STRIKE_DELAY_BEFORE : STRIKE_DELAY_AFTER;
    order->delay_us = stress_spread(drawn >> 20, options->delay_us);
}

/* Now, or when a connection is free. What cannot be sent at all ends the run: it is in
 * stress->trouble. */
void order_go(struct order *order)
{
    struct player *player = order->player;
    struct stress *stress = player->stress;
    struct wire **wire = &player->wires[order->server][order->lane];
    order->place = PLACE_UNSENT;
    timers_remove(&stress->timers, &order->delay.timer);
    /* A new connection, where there is room for one; else it waits until the one that was left
     * ends, and lane_settle() takes it up. */
    if (*wire && (*wire)->is_left && !lanes_have_room(stress))
        return;
    if (*wire && (*wire)->is_left)
        *wire = NULL;
    if (!*wire && lanes_alive(stress) >= stress->wires_max) {
        stress_alarm(stress, &order->delay, RETRY_US);
        return;
    }
    order->place = PLACE_UNDERWAY;
    struct event event = order_event(order, EVENT_SEND);
    stress_write(stress, &event);
    if (!*wire && wire_new(wire, &stress->live->stations[order->server], player, &stress->trouble))
        return;
    order->wire = *wire;
    order->call = wire_send(*wire, order, &order->command, stress->prefixes[order->lock]);
}

static void try_again(struct alarm *alarm)
{
    order_go(alarm->owner);
}

void order_send(struct player *player, int server, enum lane lane, enum operation op,
                const struct command *command)
{
    struct stress *stress = player->stress;
    if (stress->trouble.code)
        return;
    struct order *order = memory_new(1, sizeof *order);
    *order = (struct order){.player = player,
                            .server = server,
                            .lane = lane,
                            .op = op,
                            .command = *command,
                            .lock = player->lock,
                            .attempt = player->client.attempt,
                            .token = player->client.lease.token};
    struct order **last = &player->orders;
    while (*last)
        last = &(*last)->next;
    *last = order;
    draw_strike(order);
    order->timeout = (struct alarm){.rings = timed_out, .owner = order};
    order->delay = (struct alarm){.rings = try_again, .owner = order};
    stress_alarm(stress, &order->timeout, stress->options->timeout_us);
    order_go(order);
}
