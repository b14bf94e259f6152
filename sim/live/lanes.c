/* lanes.c - the connections of a stress run's clients: used, left with what was given up on them,
 * ended. See stress.h.
 *
 * A client has one connection a server and lane. One that it gave up on something on is left: it
 * lives on until that has come back, and is never used again, for the server still keeps what was
 * done on it. A WATCH that was left behind would abort the transaction of a later attempt. */
#include "live/stress.h"

#include "proxy/carrier.h"

enum {
    SPARE_PART = 20, /* of the connections: for those that are just ending */
    DIAL_AGAIN_US = 5000,
};

void lanes_forget(struct load_client *load_client, const struct connection *connection)
{
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (load_client->connections[server][lane] == connection)
                load_client->connections[server][lane] = NULL;
}

static bool lane_is_used(const struct load_client *load_client, const struct connection *connection)
{
    for (const struct load_request *request = load_client->requests; request;
         request = request->next)
        if (request->connection == connection)
            return true;
    return false;
}

bool lane_is_executing(const struct load_client *load_client, const struct connection *connection)
{
    for (const struct load_request *request = load_client->requests; request;
         request = request->next)
        if (request->connection == connection && request->place == PLACE_RUNNING)
            return true;
    return false;
}

/* Commands that had to wait for a connection, oldest first. */
static void lane_send_unsent(struct load_client *load_client, int server, enum lane lane)
{
    struct load_request *request = load_client->requests;
    while (request) {
        struct load_request *next = request->next;
        if (request->place == PLACE_UNSENT && request->node == server && request->lane == lane)
            load_request_go(request);
        request = next;
    }
}

void lane_settle(struct load_client *load_client, struct connection *connection, int server,
                 enum lane lane)
{
    if (!connection->is_left || lane_is_used(load_client, connection))
        return;
    lanes_forget(load_client, connection);
    connection_cut(connection);
    lane_send_unsent(load_client, server, lane);
}

/* Takes an order off a connection that ends; true: it is with the server, and runs there to its
 * end. */
static bool load_request_detach(struct load_request *request)
{
    struct stress *stress = stress_of(request);
    timers_remove(&stress->timers, &request->timeout.timer);
    timers_remove(&stress->timers, &request->delay.timer);
    request->is_cut_off = true;
    if (request->place == PLACE_RUNNING) {
        request->ends_connection = true;
        return true;
    }
    if (request->place == PLACE_QUEUED)
        load_request_dequeue(request);
    if (request->exchange)
        request->exchange->owner = NULL;
    request->exchange = NULL;
    request->connection = NULL;
    return false;
}

static struct load_request *next_cut_off(const struct load_client *load_client)
{
    struct load_request *request = load_client->requests;
    while (request && !request->is_cut_off)
        request = request->next;
    return request;
}

void lane_end(struct load_client *load_client, struct connection *connection,
              const struct load_request *struck, enum moment_kind kind)
{
    struct load_request *request;
    bool is_running = false;
    lanes_forget(load_client, connection);
    for (request = load_client->requests; request; request = request->next)
        if (request->connection == connection)
            is_running |= load_request_detach(request);
    if (!is_running)
        connection_cut(connection);
    while ((request = next_cut_off(load_client))) {
        const struct load_request gone = *request;
        bool is_struck = request == struck, is_told = !request->is_abandoned;
        request->is_cut_off = false;
        request->is_abandoned = true;
        if (is_told && !is_struck && load_client->place != LOAD_DEAD)
            load_request_fault(request, FAULT_GIVE_UP, 0);
        if (!request->ends_connection)
            load_request_free(request);
        if (is_told)
            load_client_told(load_client, &gone, is_struck ? kind : MOMENT_LOST, NULL);
        lane_send_unsent(load_client, gone.node, gone.lane);
    }
}

void lane_lose(struct load_client *load_client, struct connection *connection)
{
    lanes_forget(load_client, connection);
    for (struct load_request *request = load_client->requests, *next; request; request = next) {
        next = request->next;
        if (request->connection == connection)
            load_request_lose(request);
    }
}

static struct connection *connection_to(const struct load_client *load_client, int server)
{
    for (int lane = 0; lane < LANE_COUNT; lane++)
        if (load_client->connections[server][lane])
            return load_client->connections[server][lane];
    for (const struct load_request *request = load_client->requests; request;
         request = request->next)
        if (request->connection && request->node == server)
            return request->connection;
    return NULL;
}

void lanes_reset(struct load_client *load_client, int server)
{
    struct connection *connection;
    while ((connection = connection_to(load_client, server))) {
        lane_lose(load_client, connection);
        connection_cut(connection);
    }
    for (int lane = 0; lane < LANE_COUNT; lane++)
        lane_send_unsent(load_client, server, (enum lane)lane);
}

/* Closes the load client's connections that nothing is on. */
static void lanes_hang_up(struct load_client *load_client)
{
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++) {
            struct connection *connection = load_client->connections[server][lane];
            if (connection && !lane_is_used(load_client, connection)) {
                load_client->connections[server][lane] = NULL;
                connection_cut(connection);
            }
        }
}

void lanes_drop(struct load_client *load_client)
{
    for (struct load_request *request = load_client->requests; request; request = request->next)
        request->is_abandoned = true;
    /* Every connection that an order is on ends; then those that nothing is on. */
    for (;;) {
        struct load_request *request = load_client->requests;
        while (request && request->ends_connection)
            request = request->next;
        if (!request)
            break;
        if (!request->connection)
            load_request_free(request); /* not sent, or cut off already */
        else
            lane_end(load_client, request->connection, NULL, MOMENT_LOST);
    }
    lanes_hang_up(load_client);
}

/* Connections that there are, those that are just ending too, on either side. */
static int64_t lanes_alive(const struct stress *stress)
{
    int64_t alive = 0;
    for (int i = 0; i < stress->options->servers; i++) {
        const struct endpoint *endpoint = &stress->live->endpoints[i];
        alive += proxy_links_count(endpoint->proxy) + endpoint->connections - endpoint->linked;
    }
    return alive;
}

bool lanes_have_room(const struct stress *stress)
{
    const int64_t most = stress->room.connections;
    return lanes_alive(stress) + most / SPARE_PART < most;
}

/* Of a connection that a carrier holds two sockets are there; all else of it is ours. */
bool lanes_can_dial(const struct stress *stress)
{
    const struct carriers *carriers = stress->carriers;
    const int64_t carried = carriers ? carriers_held(carriers) / 2 : 0;
    const int64_t closing = carriers ? (carriers_used(carriers) + 1) / 2 - carried : 0;
    const int64_t alive = lanes_alive(stress);
    return alive - carried < stress->room.dials && alive + closing < stress->room.connections;
}

/* Each asks as often as there is room for it, on average: where all have lost theirs at once, that
 * is seldom. */
int64_t lanes_dial_again_us(const struct stress *stress)
{
    const int64_t wanted = stress->options->clients - lanes_alive(stress);
    return wanted > 0 ? DIAL_AGAIN_US + DIAL_AGAIN_US * wanted / stress->room.dials : DIAL_AGAIN_US;
}
