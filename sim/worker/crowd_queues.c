/* crowd_queues.c - commands of a crowd at their server: one at a time, looked at while they are
 * executed, struck by faults, heard. See crowd.h. */
#include "worker/crowd_state.h"

#include "base/memory.h"
#include "worker/session_state.h"
#include "worker/wire_words.h"

#include <stdlib.h>
#include <string.h>

enum {
    GRANULE_US = 1000,         /* a server counts whole milliseconds */
    ANSWER_LIMIT_US = 3000000, /* a server answers at once */
};

/* --- outages --- */

void queue_open(struct crowd_queue *queue)
{
    struct crowd *crowd = queue->crowd;
    struct failure why;
    if (queue->reach == REACH_OPEN)
        return;
    timers_remove(&crowd->timers, &queue->outage.timer);
    for (int i = 0; queue->reach == REACH_REFUSED && i < crowd->options->clients; i++)
        if (proxy_accept(crowd->members[i].listeners[queue->server].proxy, &why))
            crowd_fail(crowd, &why);
    queue->reach = REACH_OPEN;
    crowd_fault(crowd, NULL, queue->server, FAULT_REACHABLE, 0);
}

static void outage_ends(struct crowd_timer *timer)
{
    queue_open(timer->owner);
}

static void refuse(struct crowd_queue *queue)
{
    struct crowd *crowd = queue->crowd;
    struct failure why;
    for (int i = 0; i < crowd->options->clients; i++) {
        struct member *member = &crowd->members[i];
        for (struct member_wire *wire = member->wires, *next; wire; wire = next) {
            next = wire->next;
            if (wire->server == queue->server)
                wire_cut(wire, NULL);
        }
        if (proxy_refuse(member->listeners[queue->server].proxy, &why))
            crowd_doubt(crowd, &why);
    }
}

/* A process that begins is not to find its server gone. */
static bool is_any_new(const struct crowd *crowd)
{
    bool is_any = false;
    for (int i = 0; i < crowd->options->clients; i++)
        is_any |= crowd->members[i].place == MEMBER_BEGINS;
    return is_any;
}

/* True: it has begun. */
static bool begins_outage(struct crowd_queue *queue, struct order *order)
{
    struct crowd *crowd = queue->crowd;
    const bool is_refusal = order->strike == STRUCK_REFUSAL;
    if ((!is_refusal && order->strike != STRUCK_SILENCE) || crowd->is_ending || is_any_new(crowd))
        return false;
    crowd->struck[order->strike]++;
    crowd_fault(crowd, NULL, queue->server,
                is_refusal ? FAULT_REFUSING_SERVER : FAULT_SILENT_SERVER, 0);
    queue->reach = is_refusal ? REACH_REFUSED : REACH_SILENT;
    queue->outage = (struct crowd_timer){.rings = outage_ends, .owner = queue};
    crowd_timer_set(crowd, &queue->outage, order->strike_us);
    order->strike = STRUCK_COUNT;
    if (is_refusal)
        refuse(queue);
    return true;
}

/* --- execution --- */

static struct key_watch *watch_of(const struct order *order)
{
    return &order->member->crowd->queues[order->server].watches[order->member->lock];
}

static void done_for(const struct order *order, const struct failure *why)
{
    if (why->code == FAIL_UNKNOWN)
        crowd_doubt(order->member->crowd, why);
    else
        crowd_fail(order->member->crowd, why);
}

/* Nobody waits for it any more, but it was on its way: over a connection of ours. */
static enum fail execute_late(struct order *order, struct failure *failure)
{
    struct crowd *crowd = order->member->crowd;
    struct server_wire *wire = &crowd->queues[order->server].late;
    const struct proxy_address address = servers_address(&crowd->servers, order->server);
    struct spoken_reply spoken;
    if ((!wire->context && server_wire_open(wire, address.host, address.port, failure)) ||
        server_wire_say(wire, order->bytes, order->length, failure) ||
        server_wire_hear(wire, 1, &spoken, failure))
        return failure->code;
    order->reply = memory_new(spoken.used + 1, 1);
    memcpy(order->reply, spoken.bytes, spoken.used);
    order->reply_length = spoken.used;
    return FAIL_NONE;
}

static enum fail execute_access(struct order *order, struct failure *failure)
{
    struct crowd *crowd = order->member->crowd;
    const struct proxy_address address = servers_address(&crowd->servers, order->server);
    const enum fail fail = guarded_ask(
        &crowd->queues[order->server].section, address.host, address.port,
        crowd->locks[order->member->lock].guarded_prefix, &order->access, &order->heard, failure);
    if (fail)
        return fail;
    struct event event = order_event(order, EVENT_EXECUTE);
    event.from_us = order->from_us;
    crowd_write(crowd, &event);
    order_write(order, EVENT_HEAR);
    return FAIL_NONE;
}

/* What is lost before it comes there. */
static bool is_lost(const struct order *order)
{
    const bool is_cut_off =
        !order->held && (strcmp(order->opaque.name, "EXEC") == 0 ||
                         wire_words_read(order->bytes, order->length).requests != 1);
    return order->strike == STRUCK_REQUEST || is_cut_off;
}

static void lose(struct order *order)
{
    struct crowd *crowd = order->member->crowd;
    order_struck(order, FAULT_LOSE_REQUEST, 0);
    crowd->struck[STRUCK_REQUEST] += order->strike == STRUCK_REQUEST;
    if (order->wire)
        wire_cut(order->wire, order);
    else
        order_free(order);
}

static void begin(struct crowd_queue *queue, struct order *order)
{
    struct failure why;
    struct crowd *crowd = queue->crowd;
    redisContext *control = servers_control(&crowd->servers, order->server);
    queue->running = order;
    queue->running_until_us = crowd_now_us(crowd) + ANSWER_LIMIT_US;
    order->place = ORDER_RUNNING;
    enum fail fail =
        key_watch_before(watch_of(order), control, &crowd->locks[order->member->lock].key,
                         KEY_WATCH_REAL_TIME, &order->before, &why);
    order->from_us = crowd_now_us(crowd);
    if (!fail && order->held)
        proxy_request_forward(order->held);
    else if (!fail)
        fail = execute_late(order, &why);
    if (fail)
        done_for(order, &why);
}

/* A connection keeps its order: one that is late holds up those behind it. */
static bool is_held_up(const struct order *order)
{
    const struct order *at = order->member->orders;
    while (order->wire && at != order && (at->wire != order->wire || at->place > ORDER_QUEUED))
        at = at->next;
    return order->wire && at != order;
}

static struct order *next_of(const struct crowd_queue *queue)
{
    struct order *order = queue->first;
    while (order && is_held_up(order))
        order = order->after;
    return order;
}

/* The next one goes to the server, or is struck. True: something has happened. */
static bool go_on(struct crowd_queue *queue)
{
    struct order *order = next_of(queue);
    struct failure why;
    for (struct order *at = queue->first; at && queue->reach != REACH_OPEN; at = at->after)
        order_hold_back(at);
    if (!order || queue->reach != REACH_OPEN)
        return false;
    if (begins_outage(queue, order))
        return true;
    order_dequeue(order);
    order_let_on(order);
    order->from_us = crowd_now_us(queue->crowd);
    if (order->is_handshake) {
        order->held->owner = NULL;
        struct proxy_request *held = order->held;
        order->held = NULL;
        order_free(order);
        proxy_request_forward(held);
    } else if (order->is_access) {
        struct member *member = order->member;
        if (execute_access(order, &why)) {
            done_for(order, &why);
            return false;
        }
        const struct order ended = *order;
        order_free(order);
        member_moment(member);
        member_accessed(member, &ended);
    } else if (is_lost(order)) {
        lose(order);
    } else {
        begin(queue, order);
    }
    return true;
}

/* --- its end --- */

/* What the key had left when it was looked at is less than what it was given: by the time that has
 * passed since, which is known up to how long the command took. A lease that it may be, it is. */
static void give_lease(const struct order *order, struct key_effect *effect)
{
    const struct crowd *crowd = order->member->crowd;
    const int64_t least_us = effect->ttl_us, lease_us = crowd->options->lease_us;
    effect->ttl_us += GRANULE_US + crowd_now_us(crowd) - order->from_us;
    if (least_us <= lease_us && lease_us <= effect->ttl_us)
        effect->ttl_us = lease_us;
}

static enum fail look(struct order *order, struct effects *effects, bool *is_any,
                      struct failure *failure)
{
    struct crowd *crowd = order->member->crowd;
    struct crowd_lock *lock = &crowd->locks[order->member->lock];
    struct lock_key *key = &lock->key;
    redisContext *control = servers_control(&crowd->servers, order->server);
    struct key_state behind;
    unsigned writes;
    if ((order->op == WORKER_ACQUIRE && look_for_key(control, lock->name, key, failure)) ||
        key_watch_behind(watch_of(order), control, key, KEY_WATCH_REAL_TIME, &behind, &writes,
                         failure))
        return failure->code;
    const struct exchange_seen exchange = {.request = order->bytes,
                                           .request_length = order->length,
                                           .reply = order->reply,
                                           .reply_length = order->reply_length};
    const bool is_refusal = order->reply && look_refuses(&exchange, key->name);
    if (key_watch_level(watch_of(order), writes, is_refusal && order->op == WORKER_ACQUIRE,
                        &order->before, &behind, failure))
        return failure->code;
    const struct execution_seen seen = {.before = &order->before,
                                        .behind = &behind,
                                        .writes = writes,
                                        .op = order->op,
                                        .is_error = order->heard.kind == REPLY_ERROR,
                                        .is_refusal = is_refusal};
    *is_any =
        writes || (order->opaque.keys >> KEY_LOCK & 1) || look_has_changed(&order->before, &behind);
    if (*is_any)
        look_compare(&seen, effects);
    if (*is_any && effects->on[0].has_ttl)
        give_lease(order, &effects->on[0]);
    return FAIL_NONE;
}

static void hear(struct order *order)
{
    struct member *member = order->member;
    struct proxy_request *held = order->held;
    if (held) {
        order_write(order, EVENT_HEAR);
        held->owner = NULL;
        order->held = NULL;
    }
    order_free(order);
    member_moment(member);
    if (held)
        proxy_reply_forward(held);
}

static void reply_comes(struct crowd_timer *timer)
{
    struct order *order = timer->owner;
    struct crowd *crowd = order->member->crowd;
    if (crowd->queues[order->server].reach == REACH_SILENT)
        crowd_timer_set(crowd, timer, 1000);
    else
        hear(order);
}

static void told(struct order *order)
{
    struct crowd *crowd = order->member->crowd;
    order->place = ORDER_ANSWERED;
    if (order->held && order->strike == STRUCK_REPLY) {
        crowd->struck[STRUCK_REPLY]++;
        order_struck(order, FAULT_LOSE_REPLY, 0);
        wire_cut(order->wire, order);
    } else if (order->held && order->strike == STRUCK_DELAY && order->is_late_reply) {
        order_delay(order, reply_comes);
    } else {
        hear(order);
    }
}

/* Its connection ended under it: what it has done is seen at the key. */
static bool was_blind(struct order *order)
{
    struct effects none;
    struct failure why;
    bool is_any = false;
    order->heard = (struct reply){.kind = REPLY_NIL};
    order->opaque.keys = 0;
    if (look(order, &none, &is_any, &why))
        done_for(order, &why);
    else if (is_any)
        crowd_doubt(order->member->crowd,
                    &(struct failure){.code = FAIL_UNKNOWN,
                                      .text = "a worker left in the middle of a command: what the "
                                              "server answered nobody knows"});
    return is_any;
}

/* What is with the server has been answered, or never will be. True: something has happened. */
static bool come_back(struct crowd_queue *queue)
{
    struct crowd *crowd = queue->crowd;
    struct order *order = queue->running;
    struct failure why = {0};
    struct effects effects = {0};
    bool is_any;
    if (!order->reply && crowd_now_us(crowd) < queue->running_until_us)
        return false;
    if (!order->reply && !order->held) {
        if (!was_blind(order))
            order_struck(order, FAULT_LOSE_REQUEST, 0);
        order_free(order);
        return true;
    }
    if (!order->reply) {
        (void)failure_set(&why, FAIL_UNKNOWN,
                          "server %d has not answered %s within %d s: a command that waits at the "
                          "server cannot be tested yet",
                          order->server + 1, order->opaque.name, ANSWER_LIMIT_US / 1000000);
        done_for(order, &why);
        return false;
    }
    order->heard = look_reply(order->reply, order->reply_length);
    queue->running = NULL;
    if (look(order, &effects, &is_any, &why)) {
        done_for(order, &why);
        return false;
    }
    struct event event = order_event(order, EVENT_EXECUTE);
    event.from_us = order->from_us;
    event.effects = &effects;
    crowd_write(crowd, &event);
    member_moment(order->member);
    told(order);
    return true;
}

void crowd_pump(struct crowd *crowd)
{
    for (bool is_any = true; is_any;) {
        is_any = false;
        for (int i = 0; i < crowd->options->servers; i++) {
            struct crowd_queue *queue = &crowd->queues[i];
            while (!crowd->failure.code && !crowd->doubt.code &&
                   (queue->running ? come_back(queue) : go_on(queue)))
                is_any = true;
        }
    }
    for (int i = 0; i < crowd->options->clients && crowd->is_running; i++)
        member_crash_if_due(&crowd->members[i]);
}
