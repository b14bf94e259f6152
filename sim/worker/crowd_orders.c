/* crowd_orders.c - commands of a crowd come to the proxies, and get in line before their server.
 * See crowd.h.
 *
 * Proxies' hooks only note what has come; all else happens in crowd_pump() (crowd_queues.c), where
 * nothing of the proxy is under way. */
#include "worker/crowd_state.h"

#include "base/memory.h"
#include "worker/session_state.h"
#include "worker/wire_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLIND_US = 50000 }; /* what was let go on a connection that ended is executed by then */

/* --- events --- */

struct event order_event(const struct order *order, enum event_kind kind)
{
    struct event event = crowd_event(order->member->crowd, kind, order->member, order->server);
    event.attempt = order->attempt;
    event.op = order->is_access              ? OP_ACCESS
               : order->op == WORKER_EXTEND  ? OP_EXTEND
               : order->op == WORKER_RELEASE ? OP_RELEASE
                                             : OP_ACQUIRE;
    event.lane = order->lane;
    event.reply = order->heard;
    event.command = order->access;
    event.opaque = order->is_access ? NULL : &order->opaque;
    return event;
}

void order_write(const struct order *order, enum event_kind kind)
{
    struct event event = order_event(order, kind);
    if (kind == EVENT_SEND)
        event.reply = (struct reply){0};
    crowd_write(order->member->crowd, &event);
}

void order_struck(const struct order *order, enum fault fault, int64_t amount_us)
{
    struct event event = order_event(order, EVENT_FAULT);
    event.fault = fault;
    event.amount_us = amount_us;
    event.reply = (struct reply){0};
    crowd_write(order->member->crowd, &event);
}

/* --- held back by a fault --- */

bool order_is_waited_for(const struct order *order)
{
    return order->wire || order->is_access;
}

void order_hold_back(struct order *order)
{
    if (order->is_held_back || !order_is_waited_for(order))
        return;
    order->is_held_back = true;
    member_wait_begins(order->member);
}

void order_let_on(struct order *order)
{
    if (order->is_held_back)
        member_wait_ends(order->member);
    order->is_held_back = false;
}

/* --- life and death --- */

static void take_out(struct order *order)
{
    struct order **at = &order->member->orders;
    while (*at != order)
        at = &(*at)->next;
    *at = order->next;
}

void order_dequeue(struct order *order)
{
    order_queue_ends(order);
    struct crowd_queue *queue = &order->member->crowd->queues[order->server];
    struct order *before = NULL, *at = queue->first;
    for (; at && at != order; at = at->after)
        before = at;
    if (!at)
        return;
    if (before)
        before->after = order->after;
    else
        queue->first = order->after;
    if (queue->last == order)
        queue->last = before;
}

void order_free(struct order *order)
{
    struct crowd *crowd = order->member->crowd;
    struct crowd_queue *queue = &crowd->queues[order->server];
    timers_remove(&crowd->timers, &order->delay.timer);
    order_let_on(order);
    order_dequeue(order);
    if (queue->running == order)
        queue->running = NULL;
    take_out(order);
    if (order->held)
        order->held->owner = NULL;
    free(order->bytes);
    free(order->reply);
    free(order);
}

void orders_drop(struct member *member)
{
    while (member->orders)
        order_free(member->orders);
}

void orders_heal(struct member *member)
{
    for (struct order *order = member->orders; order; order = order->next)
        order->strike = STRUCK_COUNT;
}

bool member_is_busy(const struct member *member)
{
    const struct order *order = member->orders;
    while (order && order->place != ORDER_RUNNING)
        order = order->next;
    return order != NULL;
}

static void enqueue(struct order *order)
{
    struct crowd_queue *queue = &order->member->crowd->queues[order->server];
    order->place = ORDER_QUEUED;
    order->after = NULL;
    if (queue->last)
        queue->last->after = order;
    else
        queue->first = order;
    queue->last = order;
    order_queue_begins(order);
}

static struct order *order_new(struct member *member, int server)
{
    struct order *order = memory_new(1, sizeof *order), **last = &member->orders;
    while (*last)
        last = &(*last)->next;
    *last = order;
    order->member = member;
    order->server = server;
    order->attempt = member->attempt;
    order->strike = STRUCK_COUNT;
    return order;
}

/* --- what comes --- */

/* What of a transaction takes effect is its EXEC; the rest passes, as handshakes do. */
static bool passes(const struct proxy_request *request)
{
    static const char *const names[] = {"MULTI", "WATCH", "UNWATCH", "DISCARD"};
    if (session_is_handshake(request->name))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(request->name, names[i]) == 0)
            return true;
    return request->in_transaction && strcmp(request->name, "EXEC") != 0;
}

static void delay_ends(struct crowd_timer *timer)
{
    order_let_on(timer->owner);
    enqueue(timer->owner);
}

static void draw_strike(struct order *order)
{
    const struct crowd *crowd = order->member->crowd;
    const struct stress_options *options = crowd->options;
    const uint64_t drawn =
        crowd_draw(crowd, order->member->number, CROWD_COMMAND, order->member->commands++);
    const struct {
        enum struck strike;
        uint32_t ppm;
        int64_t mean_us;
    } rows[] = {{STRUCK_REQUEST, options->lose_request_ppm, 0},
                {STRUCK_REPLY, options->lose_reply_ppm, 0},
                {STRUCK_DELAY, options->delay_ppm, options->delay_us},
                {STRUCK_SILENCE, options->silence_ppm, options->silence_us},
                {STRUCK_REFUSAL, options->refuse_ppm, options->refuse_us}};
    uint64_t part = drawn % 1000000;
    for (size_t i = 0; !crowd->is_healing && i < sizeof rows / sizeof *rows; i++) {
        if (part < rows[i].ppm) {
            order->strike = rows[i].strike;
            order->is_late_reply = drawn >> 63;
            order->strike_us = 1 + crowd_spread(drawn >> 20, rows[i].mean_us);
            return;
        }
        part -= rows[i].ppm;
    }
}

void order_delay(struct order *order, void (*then)(struct crowd_timer *))
{
    struct crowd *crowd = order->member->crowd;
    crowd->struck[STRUCK_DELAY]++;
    order_struck(order, FAULT_DELAY, order->strike_us);
    order_hold_back(order);
    order->delay = (struct crowd_timer){.rings = then, .owner = order};
    crowd_timer_set(crowd, &order->delay, order->strike_us);
}

static enum worker_op op_of(const struct member *member)
{
    return !member->asked_id                  ? WORKER_EXTEND
           : member->place == MEMBER_RELEASES ? WORKER_RELEASE
                                              : WORKER_ACQUIRE;
}

static enum proxy_decision hook_request(void *context, void *link_owner,
                                        struct proxy_request *request)
{
    const struct member_listener *listener = context;
    struct member *member = listener->member;
    struct crowd *crowd = member->crowd;
    const bool is_passing = passes(request);
    const char *answer = session_answer_handshake(request);
    request->owner = NULL;
    if (crowd->is_closing || member->place == MEMBER_DEAD)
        return PROXY_HOLD;
    if (answer) {
        proxy_request_answer(request, answer, strlen(answer));
        return PROXY_DROP;
    }
    /* While it begins nothing is judged. */
    const bool is_open = crowd->queues[listener->server].reach == REACH_OPEN;
    if (!crowd->is_running || member->place == MEMBER_BEGINS || (is_passing && is_open))
        return PROXY_PASS;
    struct order *order = order_new(member, listener->server);
    order->wire = link_owner;
    order->held = request;
    order->is_handshake = is_passing;
    request->owner = order;
    if (is_passing) {
        enqueue(order);
        return PROXY_HOLD;
    }
    order->op = op_of(member);
    order->lane = member->asked_id ? LANE_MAIN : LANE_RENEW;
    order->length = request->length;
    order->bytes = memory_new(request->length + 1, 1);
    memcpy(order->bytes, request->bytes, request->length);
    order->opaque = look_opaque(&crowd->locks[member->lock].key, request->name, request->bytes,
                                request->length);
    order_write(order, EVENT_SEND);
    draw_strike(order);
    if (order->strike == STRUCK_DELAY && !order->is_late_reply) {
        order->place = ORDER_DELAYED;
        order_delay(order, delay_ends);
    } else {
        enqueue(order);
    }
    return PROXY_HOLD;
}

static enum proxy_decision hook_reply(void *context, void *link_owner,
                                      struct proxy_request *request, const char *bytes,
                                      size_t length)
{
    struct order *order = request->owner;
    (void)context;
    (void)link_owner;
    if (!order || order->reply)
        return PROXY_PASS;
    order->reply = memory_new(length + 1, 1);
    memcpy(order->reply, bytes, length);
    order->reply_length = length;
    return PROXY_HOLD;
}

static void hook_opened(void *context, struct proxy_link *link, int peer_port, void **link_owner)
{
    const struct member_listener *listener = context;
    struct member_wire *wire = memory_new(1, sizeof *wire);
    (void)peer_port;
    *wire = (struct member_wire){.next = listener->member->wires,
                                 .member = listener->member,
                                 .server = listener->server,
                                 .link = link};
    listener->member->wires = wire;
    *link_owner = wire;
}

/* It has ended, by us or by its client: who waits no more has given up. */
static void leave(struct order *order, bool is_told)
{
    order->held = NULL;
    order->wire = NULL;
    order_let_on(order);
    order_queue_ends(order);
    if (!order->is_handshake && !is_told)
        order_struck(order, FAULT_GIVE_UP, 0);
}

static void hook_closed(void *context, void *link_owner)
{
    const struct member_listener *listener = context;
    struct member_wire *wire = link_owner;
    for (struct order *order = listener->member->orders, *next; order; order = next) {
        next = order->next;
        if (order->wire != wire)
            continue;
        leave(order, false);
        if (order->place == ORDER_RUNNING && !order->reply)
            order->member->crowd->queues[order->server].running_until_us =
                crowd_now_us(order->member->crowd) + BLIND_US;
        else if (order->is_handshake || order->place == ORDER_ANSWERED)
            order_free(order);
    }
    struct member_wire **at = &listener->member->wires;
    while (*at != wire)
        at = &(*at)->next;
    *at = wire->next;
    free(wire);
}

enum fail member_listen(struct member *member, int server, struct failure *failure)
{
    struct member_listener *listener = &member->listeners[server];
    const struct proxy_address any = {.host = "127.0.0.1"};
    const struct proxy_address upstream = servers_address(&member->crowd->servers, server);
    const struct proxy_hooks hooks = {.opened = hook_opened,
                                      .request = hook_request,
                                      .reply = hook_reply,
                                      .closed = hook_closed,
                                      .context = listener};
    *listener = (struct member_listener){.member = member, .server = server};
    return proxy_new(&listener->proxy, &member->crowd->loop, &any, &upstream, &hooks, failure);
}

void member_access(struct member *member, const struct command *command)
{
    struct order *order = order_new(member, SERVER_ONE);
    order->is_access = true;
    order->access = *command;
    order_write(order, EVENT_SEND);
    enqueue(order);
}

/* --- connections that end --- */

void wire_cut(struct member_wire *wire, const struct order *struck)
{
    for (struct order *order = wire->member->orders, *next; order; order = next) {
        next = order->next;
        if (order->wire != wire)
            continue;
        if (order->held)
            order->held->owner = NULL;
        leave(order, order == struck);
        order_free(order);
    }
    proxy_link_cut(wire->link, PROXY_RST);
}
