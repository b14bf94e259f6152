/* wire.c - see wire.h: the client's side, and what becomes of a wire. The proxy's side is in
 * station.c.
 *
 * The adapter between hiredis and libuv is our own: a reset connection makes libuv report an error
 * instead of "readable", and the one that comes with hiredis 0.14 ignores errors, so that its
 * client would wait for ever. */
#include "live/wire.h"

#include "base/memory.h"
#include "live/control.h"
#include "live/station.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the end of a wire --- */

static void call_free(struct call *call)
{
    for (int i = 0; i < call->requests; i++)
        if (call->replies[i])
            freeReplyObject(call->replies[i]);
    free(call);
}

/* A wire goes when hiredis, libuv and the proxy have all let go of it. */
void wire_let_go(struct wire *wire)
{
    if (wire->async || wire->poll_is_open || wire->link)
        return;
    struct station *station = wire->station;
    if (station->by_port[wire->port] == wire)
        station->by_port[wire->port] = NULL;
    while (wire->first) {
        struct call *next = wire->first->next;
        call_free(wire->first);
        wire->first = next;
    }
    station->wires--;
    free(wire);
}

void wire_broke(struct wire *wire)
{
    if (wire->is_cut || wire->is_told)
        return;
    wire->is_told = true;
    if (wire->station->events && wire->station->events->broken)
        wire->station->events->broken(wire);
    wire->owner = NULL;
    for (struct call *call = wire->first; call; call = call->next)
        call->owner = NULL;
}

void wire_cut(struct wire *wire)
{
    if (wire->is_cut)
        return;
    wire->is_cut = true;
    wire->owner = NULL;
    for (struct call *call = wire->first; call; call = call->next)
        call->owner = NULL;
    if (wire->link)
        proxy_link_cut(wire->link, PROXY_RST);
    else if (wire->async)
        redisAsyncFree(wire->async);
}

void calls_leave(struct wire *wire)
{
    struct call *call;
    while ((call = wire->first) && !call->owner && call_is_heard(call) && call_is_answered(call)) {
        wire->first = call->next;
        if (wire->last == call)
            wire->last = NULL;
        if (wire->arriving == call)
            wire->arriving = call->next;
        call_free(call);
    }
}

/* --- hiredis on libuv --- */

static void poll_closed(uv_handle_t *handle)
{
    struct wire *wire = handle->data;
    wire->poll_is_open = false;
    wire_let_go(wire);
}

static void poll_ready(uv_poll_t *poll, int status, int events)
{
    struct wire *wire = poll->data;
    /* After an error a read is what makes hiredis learn of it. */
    if (wire->async && (status < 0 || (events & UV_READABLE)))
        redisAsyncHandleRead(wire->async);
    if (wire->async && status == 0 && (events & UV_WRITABLE))
        redisAsyncHandleWrite(wire->async);
}

static void poll_wants(struct wire *wire, int events)
{
    wire->polled = events;
    if (events)
        (void)uv_poll_start(&wire->poll, events, poll_ready);
    else
        (void)uv_poll_stop(&wire->poll);
}

static void add_read(void *data)
{
    struct wire *wire = data;
    if (!(wire->polled & UV_READABLE))
        poll_wants(wire, wire->polled | UV_READABLE);
}

static void remove_read(void *data)
{
    struct wire *wire = data;
    poll_wants(wire, wire->polled & ~UV_READABLE);
}

static void add_write(void *data)
{
    struct wire *wire = data;
    if (!(wire->polled & UV_WRITABLE))
        poll_wants(wire, wire->polled | UV_WRITABLE);
}

static void remove_write(void *data)
{
    struct wire *wire = data;
    if (wire->polled & UV_WRITABLE)
        poll_wants(wire, wire->polled & ~UV_WRITABLE);
}

/* hiredis is about to close the socket: from here on its context is as good as gone. */
static void clean_up(void *data)
{
    struct wire *wire = data;
    if (!wire->is_cut && !wire->is_told && wire->async->err)
        (void)snprintf(wire->station->trouble, sizeof wire->station->trouble, "%.100s",
                       wire->async->c.errstr);
    wire->async = NULL;
    uv_close((uv_handle_t *)&wire->poll, poll_closed);
    wire_broke(wire);
    /* What is held there would wait for ever. */
    if (wire->link)
        proxy_link_cut(wire->link, PROXY_RST);
}

static void connected(const redisAsyncContext *async, int status)
{
    struct wire *wire = async->data;
    if (status != REDIS_OK)
        (void)snprintf(wire->station->trouble, sizeof wire->station->trouble,
                       "no connection to the proxy: %s", async->errstr);
}

/* --- new, send --- */

static int own_port(int descriptor)
{
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0)
        return 0;
    return ntohs(address.sin_port);
}

static void greeted(redisAsyncContext *async, void *got, void *data)
{
    const redisReply *reply = got;
    struct wire *wire = async->data;
    (void)data;
    if (reply && reply->type == REDIS_REPLY_ERROR)
        control_login_refused(reply->str, wire->station->trouble, sizeof wire->station->trouble);
}

static void greet(struct wire *wire, const struct url *login)
{
    if (login->has_login && login->user[0])
        (void)redisAsyncCommand(wire->async, greeted, NULL, "AUTH %s %s", login->user,
                                login->password);
    else if (login->has_login)
        (void)redisAsyncCommand(wire->async, greeted, NULL, "AUTH %s", login->password);
    if (login->database)
        (void)redisAsyncCommand(wire->async, greeted, NULL, "SELECT %d", login->database);
    wire->greetings = (login->has_login ? 1 : 0) + (login->database ? 1 : 0);
}

/* A user who may not PING has been answered, too; who is one too many has not. */
static void pinged(redisAsyncContext *async, void *got, void *data)
{
    const redisReply *reply = got;
    struct wire *wire = async->data;
    (void)data;
    if (!reply)
        return;
    wire->is_greeted = reply->type != REDIS_REPLY_ERROR || !strncmp(reply->str, "NOPERM", 6);
    if (!wire->is_greeted)
        (void)snprintf(wire->station->trouble, sizeof wire->station->trouble, "%.100s", reply->str);
}

void wire_greet(struct wire *wire)
{
    if (!wire->async || redisAsyncCommand(wire->async, pinged, NULL, "PING") != REDIS_OK)
        return; /* it is ending, and that is told */
    wire->greetings++;
}

static enum fail no_wire(const redisAsyncContext *async, const struct station *station,
                         struct failure *failure)
{
    return failure_set(failure, FAIL_UNAVAILABLE, "a client cannot connect to server %d: %s",
                       station->number + 1,
                       async && async->errstr ? async->errstr : "out of memory");
}

enum fail wire_new(struct wire **made, struct station *station, void *owner,
                   struct failure *failure)
{
    redisAsyncContext *async = redisAsyncConnect("127.0.0.1", proxy_port(station->proxy));
    struct wire *wire = memory_new(1, sizeof *wire);
    int trouble = 0;
    if (async && !async->err)
        trouble = uv_poll_init(station->loop, &wire->poll, async->c.fd);
    if (!async || async->err || trouble < 0) {
        enum fail fail =
            trouble < 0 ? failure_set(failure, FAIL_UNAVAILABLE, "libuv: %s", uv_strerror(trouble))
                        : no_wire(async, station, failure);
        if (async)
            redisAsyncFree(async);
        free(wire);
        return fail;
    }
    wire->station = station;
    wire->owner = owner;
    wire->async = async;
    wire->poll.data = wire;
    wire->poll_is_open = true;
    wire->port = own_port(async->c.fd);
    station->by_port[wire->port] = wire;
    station->wires++;
    async->data = async->ev.data = wire;
    async->ev.addRead = add_read;
    async->ev.delRead = remove_read;
    async->ev.addWrite = add_write;
    async->ev.delWrite = remove_write;
    async->ev.cleanup = clean_up;
    (void)redisAsyncSetConnectCallback(async, connected);
    if (station->login)
        greet(wire, station->login);
    *made = wire;
    return FAIL_NONE;
}

/* One of the call's replies has come; hiredis says NULL when the connection ended instead. */
static void reply_heard(redisAsyncContext *async, void *got, void *data)
{
    struct call *call = data;
    (void)async;
    if (!got)
        return;
    call->heard++;
    assert(call->heard <= call->requests);
    struct wire *wire = call->wire;
    const struct wire_events *events = wire->station->events;
    if (!call_is_heard(call) || call->came_early)
        return;
    if (call->owner && events && events->heard)
        events->heard(call); /* may let go of it */
    calls_leave(wire);
}

/* The length of the request (a RESP array of bulk strings of ours) at the front of bytes. */
static size_t request_length(const char *bytes)
{
    char *at;
    long left = strtol(bytes + 1, &at, 10);
    assert(*bytes == '*');
    for (at += 2; left > 0; left--) {
        assert(*at == '$');
        long length = strtol(at + 1, &at, 10);
        at += 2 + length + 2;
    }
    return (size_t)(at - bytes);
}

struct call *wire_send(struct wire *wire, void *owner, const struct command *command,
                       const char *prefix)
{
    char bytes[COMMAND_BYTES_MAX + 1];
    struct call *call = memory_new(1, sizeof *call);
    size_t length, sent = 0;
    call->requests = verb_requests(command->verb);
    if (wire->station->expiry_s)
        length = command_encode_expiring(command, prefix, wire->station->expiry_s, bytes,
                                         &call->requests);
    else
        length = command_encode(command, prefix, bytes);
    bytes[length] = '\0';
    call->wire = wire;
    call->owner = owner;
    call->command = *command;
    assert(call->requests <= CALL_REQUESTS_MAX);
    if (wire->last)
        wire->last->next = call;
    else
        wire->first = call;
    wire->last = call;
    if (!wire->arriving)
        wire->arriving = call;
    for (int i = 0; i < call->requests; i++) {
        size_t one = request_length(bytes + sent);
        /* Fails only on a connection that is ending: then its end tells the owner. */
        if (wire->async)
            (void)redisAsyncFormattedCommand(wire->async, reply_heard, call, bytes + sent, one);
        sent += one;
    }
    assert(sent == length);
    return call;
}
