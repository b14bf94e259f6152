/* lanes.c - the connections of a stress run's clients: used, left with what was given up on them,
 * ended. See stress.h.
 *
 * A client has one connection a server and lane. One that it gave up on something on is left: it
 * lives on until that has come back, and is never used again, for the server still keeps what was
 * done on it. A WATCH that was left behind would abort the transaction of a later attempt. */
#include "live/stress.h"

#include <assert.h>

enum { SPARE_PART = 20 }; /* of the connections: for those that are just ending */

void lanes_forget(struct player *player, const struct wire *wire)
{
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (player->wires[server][lane] == wire)
                player->wires[server][lane] = NULL;
}

static bool lane_is_used(const struct player *player, const struct wire *wire)
{
    for (const struct order *order = player->orders; order; order = order->next)
        if (order->wire == wire)
            return true;
    return false;
}

/* Commands that had to wait for a connection, oldest first. */
static void lane_send_unsent(struct player *player, int server, enum lane lane)
{
    struct order *order = player->orders;
    while (order) {
        struct order *next = order->next;
        if (order->place == PLACE_UNSENT && order->server == server && order->lane == lane)
            order_go(order);
        order = next;
    }
}

void lane_settle(struct player *player, struct wire *wire, int server, enum lane lane)
{
    if (!wire->is_left || lane_is_used(player, wire))
        return;
    lanes_forget(player, wire);
    wire_cut(wire);
    lane_send_unsent(player, server, lane);
}

/* Takes an order off a connection that ends; true: it is with the server, and runs there to its
 * end. */
static bool order_detach(struct order *order)
{
    struct stress *stress = stress_of(order);
    timers_remove(&stress->timers, &order->timeout.timer);
    timers_remove(&stress->timers, &order->delay.timer);
    order->is_cut_off = true;
    if (order->place == PLACE_RUNNING) {
        order->ends_wire = true;
        return true;
    }
    if (order->place == PLACE_QUEUED)
        order_dequeue(order);
    order->call->owner = NULL;
    order->call = NULL;
    order->wire = NULL;
    return false;
}

static struct order *next_cut_off(const struct player *player)
{
    struct order *order = player->orders;
    while (order && !order->is_cut_off)
        order = order->next;
    return order;
}

void lane_end(struct player *player, struct wire *wire, const struct order *struck,
              enum moment_kind kind)
{
    struct order *order;
    bool is_running = false;
    lanes_forget(player, wire);
    for (order = player->orders; order; order = order->next)
        if (order->wire == wire)
            is_running |= order_detach(order);
    if (!is_running)
        wire_cut(wire);
    while ((order = next_cut_off(player))) {
        const struct order gone = *order;
        bool is_struck = order == struck, is_told = !order->is_abandoned;
        order->is_cut_off = false;
        order->is_abandoned = true;
        if (is_told && !is_struck && player->place != PLAYER_DEAD)
            order_fault(order, choice_name(CHOICE_GIVE_UP), 0);
        if (!order->ends_wire)
            order_free(order);
        if (is_told)
            player_told(player, &gone, is_struck ? kind : MOMENT_LOST, NULL);
        lane_send_unsent(player, gone.server, gone.lane);
    }
}

void lanes_hang_up(struct player *player)
{
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++) {
            struct wire *wire = player->wires[server][lane];
            if (wire && !lane_is_used(player, wire)) {
                player->wires[server][lane] = NULL;
                wire_cut(wire);
            }
        }
}

void lanes_drop(struct player *player)
{
    for (struct order *order = player->orders; order; order = order->next)
        order->is_abandoned = true;
    /* Every wire that an order is on ends; then those that nothing is on. */
    for (;;) {
        struct order *order = player->orders;
        while (order && order->ends_wire)
            order = order->next;
        if (!order)
            break;
        if (!order->wire)
            order_free(order); /* not sent, or cut off already */
        else
            lane_end(player, order->wire, NULL, MOMENT_LOST);
    }
    lanes_hang_up(player);
}

int64_t lanes_alive(const struct stress *stress)
{
    int64_t alive = 0;
    for (int i = 0; i < stress->options->servers; i++) {
        const struct station *station = &stress->live->stations[i];
        int64_t links = proxy_links_count(station->proxy);
        alive += links > station->wires ? links : station->wires;
    }
    return alive;
}

bool lanes_have_room(const struct stress *stress)
{
    return lanes_alive(stress) + stress->wires_max / SPARE_PART < stress->wires_max;
}
