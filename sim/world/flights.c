/* flights.c - messages in flight of the simulated world: found, added, broken. See state.h.
 *
 * A connection keeps the order of what travels on it, as TCP does. A client's lane to a server uses
 * one at a time, number 0 here. One that it has left, because it timed out on it, has another
 * number, and so has that of a copy: what is on it waits for nothing that is sent elsewhere. */
#include "world/state.h"

#include "scenario/naming.h"

#include <assert.h>
#include <string.h>

struct flight *flight_find(struct simulated *sim, const struct choice *choice,
                           struct failure *failure)
{
    struct actor *actor = &sim->actors[choice->client];
    int found = naming_find_or_say(choice, &actor->flights[0].message, sizeof actor->flights[0],
                                   actor->flights_count, sim->run->names[choice->client], failure);
    return found < 0 ? NULL : &actor->flights[found];
}

void flight_add(struct simulated *sim, const struct flight *flight)
{
    struct actor *actor = &sim->actors[flight->message.client];
    assert(actor->flights_count < MESSAGES_MAX);
    actor->flights[actor->flights_count++] = *flight;
}

void flight_remove(struct simulated *sim, struct flight *flight)
{
    struct actor *actor = &sim->actors[flight->message.client];
    size_t at = (size_t)(flight - actor->flights);
    assert(at < (size_t)actor->flights_count);
    actor->flights_count--;
    memmove(flight, flight + 1, ((size_t)actor->flights_count - at) * sizeof *flight);
}

static bool same_connection(const struct flight *a, const struct flight *b)
{
    return a->message.client == b->message.client && a->message.server == b->message.server &&
           a->message.lane == b->message.lane && a->connection == b->connection;
}

const struct message *flight_before(const struct simulated *sim, const struct flight *flight)
{
    const struct actor *actor = &sim->actors[flight->message.client];
    for (const struct flight *other = actor->flights; other < flight; other++)
        if (same_connection(other, flight) && other->message.state == flight->message.state)
            return &other->message;
    return NULL;
}

static struct model_watch *lane_watch(struct simulated *sim, const struct message *message)
{
    return &sim->servers[message->server].watches[message->client][message->lane];
}

struct model_watch *flight_watch(struct simulated *sim, struct flight *flight)
{
    return flight->connection == 0 ? lane_watch(sim, &flight->message) : &flight->watch;
}

void connection_leave(struct simulated *sim, const struct flight *flight)
{
    const struct flight left = *flight;
    struct actor *actor = &sim->actors[left.message.client];
    struct model_watch *watch = lane_watch(sim, &left.message);
    if (left.connection != 0)
        return;
    int number = ++actor->connections;
    for (int i = 0; i < actor->flights_count; i++)
        if (same_connection(&actor->flights[i], &left)) {
            actor->flights[i].connection = number;
            actor->flights[i].watch = *watch;
        }
    memset(watch, 0, sizeof *watch);
}

void connection_part(struct simulated *sim, struct flight *flight)
{
    flight->connection = ++sim->actors[flight->message.client].connections;
    memset(&flight->watch, 0, sizeof flight->watch);
}

/* What becomes of a flight whose connection is gone; false: nothing is left of it. */
static bool flight_break(struct flight *flight)
{
    flight->message.state = MESSAGE_VOID;
    return !flight->message.is_abandoned;
}

void connection_break(struct simulated *sim, const struct flight *flight)
{
    const struct flight broken = *flight;
    struct actor *actor = &sim->actors[broken.message.client];
    int kept = 0;
    for (int i = 0; i < actor->flights_count; i++) {
        struct flight other = actor->flights[i];
        if (!same_connection(&other, &broken) || flight_break(&other))
            actor->flights[kept++] = other;
    }
    actor->flights_count = kept;
    if (broken.connection == 0)
        memset(lane_watch(sim, &broken.message), 0, sizeof(struct model_watch));
}

void connections_break(struct simulated *sim, int server)
{
    for (int client = 0; client < sim->run->clients; client++) {
        struct actor *actor = &sim->actors[client];
        int kept = 0;
        for (int i = 0; i < actor->flights_count; i++) {
            struct flight flight = actor->flights[i];
            if (flight.message.server != server || flight_break(&flight))
                actor->flights[kept++] = flight;
        }
        actor->flights_count = kept;
    }
    memset(sim->servers[server].watches, 0, sizeof sim->servers[server].watches);
}
