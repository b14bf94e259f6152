/* directed_flights.c - messages of the directed real world: found, sent, voided. See directed.h.
 *
 * A connection is a wire. A client's lane to a server uses one at a time; one that it has left,
 * because it timed out on it, stays until its last message is over, and so does a copy's own. */
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

/* Connects where *wire is NULL, and sends; what goes wrong is kept as the world's trouble. */
static void send_on(struct directed *directed, struct flight *flight, struct wire **wire)
{
    const struct message *message = &flight->message;
    struct actor *actor = &directed->actors[message->client];
    if (!*wire &&
        wire_new(wire, &directed->live->stations[message->server], actor, &directed->trouble))
        return;
    flight->call = wire_send(*wire, actor, &message->command, directed->prefix);
}

static struct flight *flight_add(struct actor *actor, const struct flight *flight)
{
    assert(actor->flights_count < MESSAGES_MAX);
    struct flight *added = &actor->flights[actor->flights_count++];
    *added = *flight;
    return added;
}

static struct wire **lane_wire(struct directed *directed, const struct message *message)
{
    return &directed->actors[message->client].wires[message->server][message->lane];
}

void directed_send(struct directed *directed, const struct flight *flight)
{
    struct flight *added = flight_add(&directed->actors[flight->message.client], flight);
    added->message.state = MESSAGE_REQUEST;
    struct event sent = directed_flight_event(directed, EVENT_SEND, added);
    directed_write(directed, &sent);
    send_on(directed, added, lane_wire(directed, &added->message));
}

void directed_copy(struct directed *directed, const struct flight *flight)
{
    struct wire *own = NULL;
    struct flight *copy = flight_add(&directed->actors[flight->message.client], flight);
    copy->message.is_abandoned = true;
    send_on(directed, copy, &own);
}

/* Does a message of the client's use the wire? */
static bool is_used(const struct actor *actor, const struct wire *wire)
{
    for (int i = 0; i < actor->flights_count; i++)
        if (actor->flights[i].call && actor->flights[i].call->wire == wire)
            return true;
    return false;
}

/* A wire that is no lane's, and that no message uses any more, has nothing to live for. */
static void end_if_unused(struct actor *actor, struct wire *wire)
{
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (actor->wires[server][lane] == wire)
                return;
    if (!is_used(actor, wire))
        wire_cut(wire);
}

void directed_remove(struct directed *directed, struct flight *flight)
{
    struct actor *actor = &directed->actors[flight->message.client];
    struct call *call = flight->call;
    size_t at = (size_t)(flight - actor->flights);
    assert(at < (size_t)actor->flights_count);
    actor->flights_count--;
    memmove(flight, flight + 1, ((size_t)actor->flights_count - at) * sizeof *flight);
    if (!call)
        return;
    struct wire *wire = call->wire;
    call_let_go(call);
    end_if_unused(actor, wire);
}

const struct message *directed_before(const struct directed *directed, const struct flight *flight)
{
    const struct actor *actor = &directed->actors[flight->message.client];
    for (const struct flight *other = actor->flights; other < flight; other++)
        if (other->call && flight->call && other->call->wire == flight->call->wire &&
            other->message.state == flight->message.state)
            return &other->message;
    return NULL;
}

void directed_leave(struct directed *directed, const struct flight *flight)
{
    struct wire **wire = lane_wire(directed, &flight->message);
    if (flight->call && flight->call->wire == *wire)
        *wire = NULL;
}

/* What was in flight on the wire becomes void, what nobody waits for is gone. */
static void wire_lost(struct actor *actor, const struct wire *wire)
{
    int kept = 0;
    for (int i = 0; i < actor->flights_count; i++) {
        struct flight flight = actor->flights[i];
        if (flight.call && flight.call->wire == wire) {
            flight.message.state = MESSAGE_VOID;
            flight.call = NULL;
            if (flight.message.is_abandoned)
                continue;
        }
        actor->flights[kept++] = flight;
    }
    actor->flights_count = kept;
}

static void cut(struct actor *actor, struct wire *wire)
{
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (actor->wires[server][lane] == wire)
                actor->wires[server][lane] = NULL;
    wire_lost(actor, wire);
    wire_cut(wire);
}

void directed_cut(struct directed *directed, const struct flight *flight)
{
    if (flight->call)
        cut(&directed->actors[flight->message.client], flight->call->wire);
}

void directed_cut_all(struct directed *directed, int client, int server)
{
    struct actor *actor = &directed->actors[client];
    for (int lane = 0; lane < LANE_COUNT; lane++)
        if (actor->wires[server][lane])
            cut(actor, actor->wires[server][lane]);
    for (int i = 0; i < actor->flights_count;) {
        const struct flight *flight = &actor->flights[i];
        if (flight->call && flight->message.server == server) {
            cut(actor, flight->call->wire);
            i = 0; /* those behind it have moved */
        } else {
            i++;
        }
    }
}

int directed_wires(const struct directed *directed, int server)
{
    int count = 0;
    for (int client = 0; client < directed->run->clients; client++) {
        const struct actor *actor = &directed->actors[client];
        for (int lane = 0; lane < LANE_COUNT; lane++)
            count += actor->wires[server][lane] != NULL;
        for (int i = 0; i < actor->flights_count; i++) {
            const struct flight *flight = &actor->flights[i];
            if (!flight->call || flight->message.server != server ||
                flight->call->wire == actor->wires[server][flight->message.lane])
                continue;
            bool is_first = true;
            for (int j = 0; j < i; j++)
                if (actor->flights[j].call && actor->flights[j].call->wire == flight->call->wire)
                    is_first = false;
            count += is_first;
        }
    }
    return count;
}
