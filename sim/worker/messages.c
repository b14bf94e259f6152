/* messages.c - what stands at the proxies: requests and replies of workers, held, let go.
 * See session.h. */
#include "base/memory.h"
#include "worker/session_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the list --- */

static void append(struct session *session, struct wire_message *message)
{
    if (session->last)
        session->last->next = message;
    else
        session->first = message;
    session->last = message;
}

/* Requests of one step left over connections of which nobody can tell which one came first, as they
 * may just have been made: those to different servers stand in the order of the servers. */
static void insert(struct session *session, struct wire_message *message)
{
    struct wire_message **at = &session->first;
    while (*at && ((*at)->client != message->client || (*at)->is_offered || (*at)->is_published ||
                   (*at)->server <= message->server))
        at = &(*at)->next;
    if (!*at)
        session->last = message;
    message->next = *at;
    *at = message;
}

/* The first request on that connection, or its reply; NULL: there is none. */
static struct wire_message *first_on(const struct session *session, const struct wire *wire)
{
    struct wire_message *message = session->first;
    while (message && (message->wire != wire || message->is_published))
        message = message->next;
    return message;
}

static struct wire_message *message_new(const struct listener *listener, struct wire *wire,
                                        struct proxy_request *request)
{
    struct session *session = listener->session;
    const struct worker_slot *slot = &session->clients[listener->client];
    struct wire_message *message = memory_new(1, sizeof *message);
    message->client = listener->client;
    message->server = listener->server;
    (void)snprintf(message->name, sizeof message->name, "%s",
                   request->name[0] ? request->name : "?");
    message->ordinal =
        session_next_ordinal(session, listener->client, listener->server, message->name);
    message->length = request->length;
    message->bytes = memory_bytes(request->bytes, request->length);
    message->attempt = slot->attempt;
    message->op = slot->op;
    message->held = request;
    message->wire = wire;
    message->is_silent = wire->is_half_open;
    wire->has_begun = true;
    message->is_behind = first_on(session, wire) != NULL;
    insert(session, message);
    return message;
}

void session_forget(struct session *session, struct wire_message *message)
{
    struct wire_message **at = &session->first, *before = NULL;
    while (*at != message) {
        before = *at;
        at = &(*at)->next;
    }
    *at = message->next;
    if (session->last == message)
        session->last = before;
    if (message->held)
        message->held->owner = NULL;
    wire_twin_release(message->twin);
    free(message->bytes);
    free(message->reply);
    free(message);
}

struct wire_message *session_messages(const struct session *session)
{
    return session->first;
}

void session_add_published(struct wire *wire, struct session *session, const char *bytes,
                           size_t length)
{
    struct wire_message *message = memory_new(1, sizeof *message);
    *message = (struct wire_message){.client = wire->client,
                                     .server = wire->server,
                                     .name = "MESSAGE",
                                     .transit = TRANSIT_REPLY,
                                     .is_published = true,
                                     .wire = wire,
                                     .bytes = memory_bytes("", 0),
                                     .reply = memory_bytes(bytes, length),
                                     .reply_length = length};
    message->ordinal = session_next_ordinal(session, wire->client, wire->server, message->name);
    append(session, message);
    if (session->events.executed)
        session->events.executed(session->events.context, message);
}

/* --- the proxies' hooks --- */

static void hook_opened(void *context, struct proxy_link *link, int peer_port, void **link_owner)
{
    struct listener *listener = context;
    struct wire *wire = memory_new(1, sizeof *wire);
    (void)peer_port;
    *wire = (struct wire){.next = listener->session->wires,
                          .link = link,
                          .client = listener->client,
                          .server = listener->server};
    listener->session->wires = wire;
    listener->session->activity++;
    *link_owner = wire;
}

static void hook_dials(void *context, int port, int own_port)
{
    const struct listener *listener = context;
    servers_note_dial(&listener->session->servers, port, own_port);
}

static void left_for_server(struct session *session, struct wire *wire,
                            const struct proxy_request *request)
{
    if (!request->expects_reply)
        return;
    session->outstanding++;
    wire->outstanding++;
    (void)snprintf(session->waited_for, sizeof session->waited_for, "%s", request->name);
}

static void tell_passed(const struct listener *listener, const struct proxy_request *request,
                        const char *why)
{
    const struct session_events *events = &listener->session->events;
    if (events->passed)
        events->passed(events->context, listener->client, listener->server, request->name, why);
}

static enum proxy_decision hook_request(void *context, void *link_owner,
                                        struct proxy_request *request)
{
    struct listener *listener = context;
    struct session *session = listener->session;
    session->activity++;
    request->owner = NULL;
    if (((struct wire *)link_owner)->is_half_open && session_is_handshake(request->name))
        return PROXY_HOLD; /* for ever: no answer comes */
    const char *answer = session_hear_who(session, link_owner, request);
    if (answer) {
        proxy_request_answer(request, answer, strlen(answer));
        tell_passed(listener, request,
                    *answer != '-' ? "a handshake, not held"
                    : strstr(answer, "NOAUTH")
                        ? "refused: it has not said who it is on this connection"
                        : "wrong: not who init said");
        return PROXY_DROP;
    }
    if (session_is_handshake(request->name)) {
        const bool is_answered = session_repeats_info(session, link_owner, request);
        if (!is_answered)
            left_for_server(session, link_owner, request);
        session_note_handshake(session, listener->client, request);
        tell_passed(listener, request, "a handshake, not held");
        return is_answered ? PROXY_DROP : PROXY_PASS;
    }
    if (transaction_takes(link_owner, request)) {
        tell_passed(listener, request, "of a transaction, which counts at its EXEC");
        return PROXY_DROP;
    }
    struct wire_message *message = message_new(listener, link_owner, request);
    transaction_fill(link_owner, message);
    waiting_fill(message);
    request->owner = message;
    if (session->events.sent)
        session->events.sent(session->events.context, message);
    return PROXY_HOLD;
}

static enum proxy_decision hook_reply(void *context, void *link_owner,
                                      struct proxy_request *request, const char *bytes,
                                      size_t length)
{
    struct listener *listener = context;
    struct session *session = listener->session;
    struct wire_message *message = request->owner;
    struct wire *wire = link_owner;
    session->activity++;
    session->outstanding--;
    wire->outstanding--;
    if (!message) {
        session_remember_info(wire, request, bytes, length);
        return PROXY_PASS;
    }
    message->transit = TRANSIT_REPLY;
    message->reply = memory_bytes(bytes, length);
    message->reply_length = length;
    return PROXY_HOLD;
}

static void leave_wire(struct wire_message *message)
{
    if (message->held)
        message->held->owner = NULL;
    message->held = NULL;
    message->wire = NULL;
    message->is_gone = true;
}

/* What is on it may still be executed, and is heard by nobody; what stands behind that is lost. */
static void leave_all(struct session *session, const struct wire *wire)
{
    struct wire_message *message = session->first;
    while (message) {
        struct wire_message *next = message->next;
        if (message->wire == wire && message->is_behind)
            session_forget(session, message);
        else if (message->wire == wire)
            leave_wire(message);
        message = next;
    }
}

static void note_left(struct session *session, const struct wire *wire)
{
    for (struct wire_message *message = session->first; message; message = message->next)
        message->is_left |= message->wire == wire;
}

/* Has the worker ended it? */
static void note_redial(const struct wire *wire, struct session *session)
{
    if (!wire->is_cut && !wire->is_silent && proxy_link_is_left(wire->link))
        session->clients[wire->client].redials |= 1u << wire->server;
}

static void hook_closed(void *context, void *link_owner)
{
    struct listener *listener = context;
    struct session *session = listener->session;
    struct wire *wire = link_owner;
    session->activity++;
    session->outstanding -= wire->outstanding;
    note_left(session, wire);
    leave_all(session, wire);
    note_redial(wire, session);
    struct wire **at = &session->wires;
    while (*at != wire)
        at = &(*at)->next;
    *at = wire->next;
    wire_twin_release(wire->twin);
    ear_free(wire->ear);
    free(wire->queued);
    free(wire);
}

static void hook_notice(void *context, void *link_owner, const char *words)
{
    struct listener *listener = context;
    struct failure failure = {0};
    (void)link_owner;
    if (listener->session->is_closing || listener->session->dead >> listener->server & 1)
        return;
    (void)failure_set(&failure, FAIL_UNKNOWN, "on the way to server %d: %s", listener->server + 1,
                      words);
    session_fail(listener->session, listener->client, &failure);
}

enum fail listener_open(struct session *session, int client, int server, struct failure *failure)
{
    struct listener *listener = &session->listeners[client][server];
    const struct proxy_address any = {.host = "127.0.0.1"};
    const struct proxy_address upstream = servers_address(&session->servers, server);
    const struct proxy_hooks hooks = {
        .opened = hook_opened,
        .dials = hook_dials,
        .request = hook_request,
        .reply = hook_reply,
        .closed = hook_closed,
        .notice = hook_notice,
        .context = listener,
    };
    *listener = (struct listener){.session = session, .client = client, .server = server};
    if (proxy_new(&listener->proxy, &session->loop, &any, &upstream, &hooks, failure))
        return failure_wrap(failure, "proxy of server %d", server + 1);
    proxy_look_at(listener->proxy, SESSION_LOOKED_AT);
    if (session->options.repeats_info)
        proxy_dial_late(listener->proxy);
    return FAIL_NONE;
}

/* --- moving them --- */

void session_refuse(struct wire_message *message, const char *bytes, size_t length)
{
    message->refusal = bytes;
    if (message->requests > 1)
        wire_twin_end_watch(message->twin);
    message->transit = TRANSIT_REPLY;
    message->reply = memory_bytes(bytes, length);
    message->reply_length = length;
}

struct wire_message *session_copy(struct session *session, const struct wire_message *message)
{
    struct wire_message *copy = memory_new(1, sizeof *copy);
    *copy = *message;
    copy->next = NULL;
    copy->bytes = memory_bytes(message->bytes, message->length);
    copy->reply = NULL;
    copy->transit = TRANSIT_REQUEST;
    copy->twin = NULL;
    copy->held = NULL;
    leave_wire(copy);
    append(session, copy);
    return copy;
}

static enum fail execute_on_wire(struct session *session, struct wire_message *message,
                                 struct failure *failure)
{
    left_for_server(session, message->wire, message->held);
    proxy_request_forward(message->held);
    if (session_settle(session, failure))
        return failure->code;
    if (message->transit == TRANSIT_REPLY)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN, "%s has not been answered by server %d",
                       message->name, message->server + 1);
}

static enum fail execute(struct session *session, struct wire_message *message,
                         struct failure *failure)
{
    if (message->can_wait)
        return waiting_execute(session, message, failure);
    if (ear_takes(session, message->wire, message->name))
        return ear_execute(session, message, failure);
    /* Its connection is gone, and the request was on its way: on one of its own. */
    if (message->twin || !message->held)
        return transaction_execute(session, message, failure);
    return execute_on_wire(session, message, failure);
}

enum fail session_execute(struct session *session, struct wire_message *message,
                          struct failure *failure)
{
    if (execute(session, message, failure))
        return failure->code;
    const bool is_told = message->held && message->transit == TRANSIT_REPLY;
    if (is_told && session->events.executed)
        session->events.executed(session->events.context, message);
    return ears_listen(session, message->server, failure);
}

enum fail session_deliver(struct session *session, struct wire_message *message,
                          struct failure *failure)
{
    struct proxy_request *held = message->held;
    struct wire *wire = message->wire;
    const char *refusal = message->refusal;
    const size_t length = message->reply_length;
    const bool is_published = message->is_published;
    /* What was not said on its connection the proxy has not seen. */
    const bool is_from_proxy = !message->twin && !message->is_beside && !is_published;
    char *answer = is_from_proxy || refusal ? NULL : memory_bytes(message->reply, length);
    if (session->events.delivered)
        session->events.delivered(session->events.context, message);
    session_forget(session, message);
    struct wire_message *behind = wire ? first_on(session, wire) : NULL;
    if (behind && !is_published)
        behind->is_behind = false;
    if (is_published && wire)
        proxy_link_say(wire->link, answer, length);
    else if (held && refusal)
        proxy_request_answer(held, refusal, length);
    else if (held && answer)
        proxy_request_answer(held, answer, length);
    else if (held)
        proxy_reply_forward(held);
    free(answer);
    return session_settle(session, failure);
}

/* --- connections --- */

void session_set_connection(struct wire_message *message, int connection)
{
    if (message->wire)
        message->wire->connection = connection;
}

static void cut(struct session *session, struct wire *wire)
{
    wire->is_cut = true;
    session->outstanding -= wire->outstanding;
    wire->outstanding = 0;
    leave_all(session, wire);
    proxy_link_cut(wire->link, PROXY_RST);
}

void session_take_left(struct session *session)
{
    for (struct wire *wire = session->wires; wire; wire = wire->next) {
        if (wire->is_cut || wire->is_silent || !proxy_link_is_left(wire->link))
            continue;
        note_left(session, wire);
        note_redial(wire, session);
        cut(session, wire);
    }
}

void session_cut(struct session *session, int client, int connection)
{
    for (struct wire *wire = session->wires; wire; wire = wire->next) {
        const bool is_named = connection && wire->connection == connection;
        if (wire->client == client && !wire->is_cut && (is_named || wire->is_silent))
            cut(session, wire);
    }
}

void session_cut_server(struct session *session, int server)
{
    for (struct wire *wire = session->wires; wire; wire = wire->next)
        if (wire->server == server && !wire->is_cut && !wire->is_silent && !wire->is_half_open)
            cut(session, wire);
}

enum fail session_refuse_all(struct session *session, int server, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    session_cut_server(session, server);
    for (int client = 0; client < session->options.clients && !fail; client++)
        fail = proxy_refuse(session->listeners[client][server].proxy, failure);
    return fail;
}

enum fail session_accept(struct session *session, int server, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int client = 0; client < session->options.clients && !fail; client++)
        fail = proxy_accept(session->listeners[client][server].proxy, failure);
    return fail;
}
