/* directed_flights.c - messages of the directed real world: found, sent, voided. See directed.h. */
#include "live/directed.h"

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
    switch (wanted) {
    case FLIGHT_REQUEST: /* an abandoned one can still arrive, late */
        return flight->message.state == MESSAGE_REQUEST;
    case FLIGHT_REPLY:
        return flight->message.state == MESSAGE_REPLY;
    case FLIGHT_VOID:
        return flight->message.state == MESSAGE_VOID;
    case FLIGHT_WAITED:
        return !flight->message.is_abandoned;
    }
    return false;
}

/* A verb is named in a choice by its text: "SET" is both forms of it. */
static bool same_name(enum verb a, enum verb b)
{
    return a == b || strcmp(verb_name(a), verb_name(b)) == 0;
}

struct flight *directed_find(struct directed *directed, const struct choice *choice,
                             enum flight_wanted wanted, struct failure *failure)
{
    struct actor *actor = &directed->actors[choice->client];
    for (int i = 0; i < actor->flights_count; i++) {
        struct flight *flight = &actor->flights[i];
        if (flight->message.server == choice->server &&
            same_name(flight->message.command.verb, choice->verb) && flight_is(flight, wanted))
            return flight;
    }
    failure_set(failure, FAIL_UNKNOWN, "%s has no %s at server %d that is %s",
                directed->run->names[choice->client], verb_name(choice->verb), choice->server + 1,
                wanted_words[wanted]);
    return NULL;
}

void directed_send(struct directed *directed, const struct flight *flight)
{
    const struct message *message = &flight->message;
    struct actor *actor = &directed->actors[message->client];
    struct wire **wire = &actor->wires[message->server][message->lane];
    assert(actor->flights_count < MESSAGES_MAX);
    struct flight *added = &actor->flights[actor->flights_count++];
    *added = *flight;
    added->message.state = MESSAGE_REQUEST;
    struct event sent = directed_flight_event(directed, EVENT_SEND, added);
    directed_write(directed, &sent);
    if (!*wire &&
        wire_new(wire, &directed->live->stations[message->server], actor, &directed->trouble))
        return;
    added->call = wire_send(*wire, actor, &message->command, directed->prefix);
}

void directed_remove(struct directed *directed, struct flight *flight)
{
    struct actor *actor = &directed->actors[flight->message.client];
    size_t at = (size_t)(flight - actor->flights);
    assert(at < (size_t)actor->flights_count);
    actor->flights_count--;
    memmove(flight, flight + 1, ((size_t)actor->flights_count - at) * sizeof *flight);
}

static bool is_on(const struct message *message, int server, enum lane lane)
{
    return message->server == server && message->lane == lane;
}

const struct flight *directed_before(const struct directed *directed, const struct flight *flight,
                                     enum message_state state)
{
    const struct message *message = &flight->message;
    const struct actor *actor = &directed->actors[message->client];
    for (const struct flight *other = actor->flights; other < flight; other++)
        if (is_on(&other->message, message->server, message->lane) && other->message.state == state)
            return other;
    return NULL;
}

void directed_cut(struct directed *directed, int client, int server, enum lane lane)
{
    struct actor *actor = &directed->actors[client];
    int kept = 0;
    for (int i = 0; i < actor->flights_count; i++) {
        struct flight flight = actor->flights[i];
        if (is_on(&flight.message, server, lane)) {
            if (flight.message.is_abandoned)
                continue;
            flight.message.state = MESSAGE_VOID;
            flight.call = NULL;
        }
        actor->flights[kept++] = flight;
    }
    actor->flights_count = kept;
    if (actor->wires[server][lane])
        wire_cut(actor->wires[server][lane]);
    actor->wires[server][lane] = NULL;
}
