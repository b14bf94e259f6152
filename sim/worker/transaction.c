/* transaction.c - what belongs to a connection, WATCH and transactions, executed beside it.
 *
 * What MULTI queues takes no effect before EXEC, so it is answered here and kept; EXEC is the one
 * message of them all. It, and what is watched for it, go over a connection of our own to the same
 * server, the twin of that of the worker: it lives as long as anything that may still come over it,
 * so that a transaction which is late, and whose worker has left, finds what it watches. */
#include "base/memory.h"
#include "live/control.h"
#include "proxy/proxy.h"
#include "worker/server_wire.h"
#include "worker/session_state.h"
#include "worker/wire_words.h"

#include <stdlib.h>
#include <string.h>

struct wire_twin {
    int holders;
    struct server_wire wire;
};

void wire_twin_keep(struct wire_twin *twin)
{
    if (twin)
        twin->holders++;
}

void wire_twin_release(struct wire_twin *twin)
{
    if (!twin || --twin->holders)
        return;
    server_wire_close(&twin->wire);
    free(twin);
}

/* A transaction that is refused ends what is watched for it, as one that is executed does. */
void wire_twin_end_watch(struct wire_twin *twin)
{
    if (twin)
        server_wire_close(&twin->wire);
}

/* --- what is queued --- */

static void queue(struct wire *wire, const char *bytes, size_t length)
{
    wire->queued = memory_resize(wire->queued, wire->queued_length + length, 1);
    memcpy(wire->queued + wire->queued_length, bytes, length);
    wire->queued_length += length;
}

static void forget_queue(struct wire *wire)
{
    free(wire->queued);
    wire->queued = NULL;
    wire->queued_length = 0;
}

bool transaction_takes(struct wire *wire, struct proxy_request *request)
{
    static const char ok[] = "+OK\r\n", queued[] = "+QUEUED\r\n";
    const bool begins = strcmp(request->name, "MULTI") == 0;
    if (!begins && (!wire->queued || strcmp(request->name, "EXEC") == 0 ||
                    strcmp(request->name, "DISCARD") == 0))
        return false;
    queue(wire, request->bytes, request->length);
    proxy_request_answer(request, begins ? ok : queued, begins ? sizeof ok - 1 : sizeof queued - 1);
    return true;
}

static void give_bytes(struct wire_message *message, const char *bytes, size_t length)
{
    message->bytes = memory_resize(message->bytes, length + 1, 1);
    memcpy(message->bytes, bytes, length);
    message->bytes[length] = '\0';
    message->length = length;
}

void transaction_fill(struct wire *wire, struct wire_message *message)
{
    static const char unwatch[] = "*1\r\n$7\r\nUNWATCH\r\n";
    const bool ends = wire->queued && strcmp(message->name, "EXEC") == 0;
    const bool is_dropped = wire->queued && strcmp(message->name, "DISCARD") == 0;
    message->requests = 1;
    if (!ends && !is_dropped && strcmp(message->name, "WATCH") != 0 &&
        strcmp(message->name, "UNWATCH") != 0)
        return;
    if (ends) {
        queue(wire, message->bytes, message->length);
        give_bytes(message, wire->queued, wire->queued_length);
        message->requests = wire_words_read(message->bytes, message->length).requests;
    } else if (is_dropped) {
        give_bytes(message, unwatch, sizeof unwatch - 1);
    }
    forget_queue(wire);
    if (!wire->twin) {
        wire->twin = memory_new(1, sizeof *wire->twin);
        wire_twin_keep(wire->twin);
    }
    message->twin = wire->twin;
    wire_twin_keep(message->twin);
}

/* --- executed --- */

enum fail session_open_beside(struct session *session, int server, struct server_wire *wire,
                              struct failure *failure)
{
    const struct proxy_address address = servers_address(&session->servers, server);
    if (wire->context)
        return FAIL_NONE;
    const enum fail fail = server_wire_open(wire, address.host, address.port, failure);
    servers_note_context(&session->servers, wire->context);
    if (fail || (session_database(session) &&
                 control_do(wire->context, failure, "SELECT %d", session_database(session))))
        return failure->code;
    return server_wire_speak(wire, session_protocol(session), failure);
}

static enum fail talk(struct server_wire *wire, struct wire_message *message,
                      struct failure *failure)
{
    struct spoken_reply spoken;
    if (server_wire_say(wire, message->bytes, message->length, failure) ||
        server_wire_hear(wire, message->requests, &spoken, failure))
        return failure->code;
    message->transit = TRANSIT_REPLY;
    message->reply = memory_new(spoken.used + 1, 1);
    memcpy(message->reply, spoken.bytes, spoken.used);
    message->reply_length = spoken.used;
    return FAIL_NONE;
}

enum fail transaction_execute(struct session *session, struct wire_message *message,
                              struct failure *failure)
{
    struct wire_twin alone = {.holders = 1}, *twin = message->twin ? message->twin : &alone;
    enum fail fail = session_open_beside(session, message->server, &twin->wire, failure);
    if (!fail)
        fail = talk(&twin->wire, message, failure);
    server_wire_close(&alone.wire);
    if (!fail)
        return FAIL_NONE;
    return failure_wrap(failure, "%s to server %d", message->name, message->server + 1);
}
