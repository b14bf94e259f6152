/* flights.c - messages in flight of the simulated world: found, added, broken. See state.h.
 *
 * A connection is a client, a server and a lane; it keeps the order of what travels on it, as TCP
 * does. */
#include "world/state.h"

#include <assert.h>
#include <string.h>

static const char *const wanted_words[] = {
    [FLIGHT_REQUEST] = "a request on its way",
    [FLIGHT_REPLY] = "a reply on its way",
    [FLIGHT_VOID] = "a lost command",
    [FLIGHT_WAITED] = "a command that it waits for",
};

static bool flight_is(const struct flight *flight, enum flight_wanted wanted)
{
    const struct message *message = &flight->message;
    switch (wanted) {
    case FLIGHT_REQUEST: /* an abandoned one can still arrive, late */
        return message->state == MESSAGE_REQUEST;
    case FLIGHT_REPLY:
        return message->state == MESSAGE_REPLY;
    case FLIGHT_VOID:
        return message->state == MESSAGE_VOID;
    case FLIGHT_WAITED:
        return !message->is_abandoned;
    }
    return false;
}

/* A verb is named in a choice by its text: "SET" is both forms of it. */
static bool same_name(enum verb a, enum verb b)
{
    return a == b || strcmp(verb_name(a), verb_name(b)) == 0;
}

struct flight *flight_find(struct simulated *sim, const struct choice *choice,
                           enum flight_wanted wanted, struct failure *failure)
{
    struct actor *actor = &sim->actors[choice->client];
    for (int i = 0; i < actor->flights_count; i++) {
        struct flight *flight = &actor->flights[i];
        if (flight->message.server == choice->server &&
            same_name(flight->message.command.verb, choice->verb) && flight_is(flight, wanted))
            return flight;
    }
    failure_set(failure, FAIL_UNKNOWN, "%s has no %s at server %d that is %s",
                sim->run->names[choice->client], verb_name(choice->verb), choice->server + 1,
                wanted_words[wanted]);
    return NULL;
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

static bool same_connection(const struct message *a, const struct message *b)
{
    return a->client == b->client && a->server == b->server && a->lane == b->lane;
}

const struct flight *flight_before(const struct simulated *sim, const struct flight *flight,
                                   enum message_state state)
{
    const struct actor *actor = &sim->actors[flight->message.client];
    for (const struct flight *other = actor->flights; other < flight; other++)
        if (same_connection(&other->message, &flight->message) && other->message.state == state)
            return other;
    return NULL;
}

void connection_break(struct simulated *sim, int client, int server, enum lane lane)
{
    struct actor *actor = &sim->actors[client];
    const struct message broken = {.client = client, .server = server, .lane = lane};
    int kept = 0;
    for (int i = 0; i < actor->flights_count; i++) {
        struct flight flight = actor->flights[i];
        if (same_connection(&flight.message, &broken)) {
            if (flight.message.is_abandoned)
                continue;
            flight.message.state = MESSAGE_VOID;
        }
        actor->flights[kept++] = flight;
    }
    actor->flights_count = kept;
    memset(&sim->stations[server].watches[client][lane], 0, sizeof(struct model_watch));
}
