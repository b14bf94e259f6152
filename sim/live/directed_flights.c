/* directed_flights.c - messages of the directed real world: found, sent, voided. See directed.h.
 *
 * A connection is a connection. A client's lane to a server uses one at a time; one that it has
 * left, because it timed out on it, stays until its last message is over, and so does a copy's own.
 */
#include "live/directed.h"

#include "scenario/naming.h"

#include <assert.h>
#include <string.h>

struct flight *directed_find(struct directed *directed, const struct choice *choice,
                             struct failure *failure)
{
    struct actor *actor = &directed->actors[choice->client];
    int found =
        naming_find_or_say(choice, &actor->flights[0].message, sizeof actor->flights[0],
                           actor->flights_count, directed->run->names[choice->client], failure);
    return found < 0 ? NULL : &actor->flights[found];
}

/* Connects where *connection is NULL, and sends; what goes wrong is kept as the world's trouble. */
static void send_on(struct directed *directed, struct flight *flight,
                    struct connection **connection)
{
    const struct message *message = &flight->message;
    struct actor *actor = &directed->actors[message->client];
    if (!*connection && connection_new(connection, &directed->live->endpoints[message->server],
                                       actor, &directed->trouble))
        return;
    flight->exchange = connection_send(*connection, actor, &message->command, directed->prefix);
}

static struct flight *flight_add(struct actor *actor, const struct flight *flight)
{
    assert(actor->flights_count < MESSAGES_MAX);
    struct flight *added = &actor->flights[actor->flights_count++];
    *added = *flight;
    return added;
}

static struct connection **lane_connection(struct directed *directed, const struct message *message)
{
    return &directed->actors[message->client].connections[message->server][message->lane];
}

void directed_send(struct directed *directed, const struct flight *flight)
{
    struct flight *added = flight_add(&directed->actors[flight->message.client], flight);
    added->message.state = MESSAGE_REQUEST;
    struct event sent = directed_flight_event(directed, EVENT_SEND, added);
    directed_write(directed, &sent);
    send_on(directed, added, lane_connection(directed, &added->message));
}

void directed_copy(struct directed *directed, const struct flight *flight)
{
    struct connection *own = NULL;
    struct flight *copy = flight_add(&directed->actors[flight->message.client], flight);
    copy->message.is_abandoned = true;
    send_on(directed, copy, &own);
}

/* Does a message of the client's use the connection? */
static bool is_used(const struct actor *actor, const struct connection *connection)
{
    for (int i = 0; i < actor->flights_count; i++)
        if (actor->flights[i].exchange && actor->flights[i].exchange->connection == connection)
            return true;
    return false;
}

/* A connection that is no lane's, and that no message uses any more, has nothing to live for. */
static void end_if_unused(struct actor *actor, struct connection *connection)
{
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (actor->connections[server][lane] == connection)
                return;
    if (!is_used(actor, connection))
        connection_cut(connection);
}

void directed_remove(struct directed *directed, struct flight *flight)
{
    struct actor *actor = &directed->actors[flight->message.client];
    struct exchange *exchange = flight->exchange;
    size_t at = (size_t)(flight - actor->flights);
    assert(at < (size_t)actor->flights_count);
    actor->flights_count--;
    memmove(flight, flight + 1, ((size_t)actor->flights_count - at) * sizeof *flight);
    if (!exchange)
        return;
    struct connection *connection = exchange->connection;
    exchange_let_go(exchange);
    end_if_unused(actor, connection);
}

const struct message *directed_before(const struct directed *directed, const struct flight *flight)
{
    const struct actor *actor = &directed->actors[flight->message.client];
    for (const struct flight *other = actor->flights; other < flight; other++)
        if (other->exchange && flight->exchange &&
            other->exchange->connection == flight->exchange->connection &&
            other->message.state == flight->message.state)
            return &other->message;
    return NULL;
}

void directed_leave(struct directed *directed, const struct flight *flight)
{
    struct connection **connection = lane_connection(directed, &flight->message);
    if (flight->exchange && flight->exchange->connection == *connection)
        *connection = NULL;
}

/* What was in flight on the connection becomes void, what nobody waits for is gone. */
static void connection_lost(struct actor *actor, const struct connection *connection)
{
    int kept = 0;
    for (int i = 0; i < actor->flights_count; i++) {
        struct flight flight = actor->flights[i];
        if (flight.exchange && flight.exchange->connection == connection) {
            flight.message.state = MESSAGE_VOID;
            flight.exchange = NULL;
            if (flight.message.is_abandoned)
                continue;
        }
        actor->flights[kept++] = flight;
    }
    actor->flights_count = kept;
}

static void cut(struct actor *actor, struct connection *connection)
{
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (actor->connections[server][lane] == connection)
                actor->connections[server][lane] = NULL;
    connection_lost(actor, connection);
    connection_cut(connection);
}

void directed_cut(struct directed *directed, const struct flight *flight)
{
    if (flight->exchange)
        cut(&directed->actors[flight->message.client], flight->exchange->connection);
}

void directed_cut_all(struct directed *directed, int client, int server)
{
    struct actor *actor = &directed->actors[client];
    for (int lane = 0; lane < LANE_COUNT; lane++)
        if (actor->connections[server][lane])
            cut(actor, actor->connections[server][lane]);
    for (int i = 0; i < actor->flights_count;) {
        const struct flight *flight = &actor->flights[i];
        if (flight->exchange && flight->message.server == server) {
            cut(actor, flight->exchange->connection);
            i = 0; /* those behind it have moved */
        } else {
            i++;
        }
    }
}

int directed_connections(const struct directed *directed, int server)
{
    int count = 0;
    for (int client = 0; client < directed->run->clients; client++) {
        const struct actor *actor = &directed->actors[client];
        for (int lane = 0; lane < LANE_COUNT; lane++)
            count += actor->connections[server][lane] != NULL;
        for (int i = 0; i < actor->flights_count; i++) {
            const struct flight *flight = &actor->flights[i];
            if (!flight->exchange || flight->message.server != server ||
                flight->exchange->connection == actor->connections[server][flight->message.lane])
                continue;
            bool is_first = true;
            for (int j = 0; j < i; j++)
                if (actor->flights[j].exchange &&
                    actor->flights[j].exchange->connection == flight->exchange->connection)
                    is_first = false;
            count += is_first;
        }
    }
    return count;
}
