/* connection.c - see connection.h: the client's side, and what becomes of a connection. The proxy's
 * side is in endpoint.c, and when it reads and writes in adapter.c. */
#include "live/connection.h"

#include "base/memory.h"
#include "live/control.h"
#include "live/endpoint.h"
#include "live/read_order.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the end of a connection --- */

static void exchange_free(struct exchange *exchange)
{
    for (int i = 0; i < exchange->requests; i++)
        if (exchange->replies[i])
            freeReplyObject(exchange->replies[i]);
    free(exchange);
}

/* A connection goes when hiredis, libuv and the proxy have all let go of it. */
void connection_let_go(struct connection *connection)
{
    if (connection->async || connection->poll_is_open || connection->link)
        return;
    struct endpoint *endpoint = connection->endpoint;
    if (endpoint->by_port[connection->port] == connection)
        endpoint->by_port[connection->port] = NULL;
    if (endpoint->order)
        read_order_leave(endpoint->order, connection);
    while (connection->first) {
        struct exchange *next = connection->first->next;
        exchange_free(connection->first);
        connection->first = next;
    }
    endpoint->connections--;
    free(connection->out.at);
    free(connection->part.at);
    free(connection);
}

void connection_broke(struct connection *connection)
{
    if (connection->is_cut || connection->is_told)
        return;
    connection->is_told = true;
    if (connection->endpoint->events && connection->endpoint->events->broken)
        connection->endpoint->events->broken(connection);
    connection->owner = NULL;
    for (struct exchange *exchange = connection->first; exchange; exchange = exchange->next)
        exchange->owner = NULL;
}

void connection_cut(struct connection *connection)
{
    if (connection->is_cut)
        return;
    connection->is_cut = true;
    connection->owner = NULL;
    for (struct exchange *exchange = connection->first; exchange; exchange = exchange->next)
        exchange->owner = NULL;
    if (connection->link)
        proxy_link_cut(connection->link, PROXY_RST);
    else if (connection->async)
        redisAsyncFree(connection->async);
}

void exchanges_leave(struct connection *connection)
{
    struct exchange *exchange;
    while ((exchange = connection->first) && !exchange->owner && exchange_is_delivered(exchange) &&
           exchange_is_answered(exchange)) {
        connection->first = exchange->next;
        if (connection->last == exchange)
            connection->last = NULL;
        if (connection->arriving == exchange)
            connection->arriving = exchange->next;
        exchange_free(exchange);
    }
}

static void poll_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    connection->poll_is_open = false;
    connection_let_go(connection);
}

/* hiredis is about to close the socket: from here on its context is as good as gone. */
static void clean_up(void *data)
{
    struct connection *connection = data;
    connection->endpoint->is_misread |= connection->async->err == REDIS_ERR_PROTOCOL;
    if (!connection->is_cut && !connection->is_told && connection->async->err)
        (void)snprintf(connection->endpoint->complaint, sizeof connection->endpoint->complaint,
                       "%.100s", connection->async->c.errstr);
    connection->async = NULL;
    connection_forget_due(connection);
    uv_close((uv_handle_t *)&connection->poll, poll_closed);
    connection_broke(connection);
    /* What is held there would wait for ever. */
    if (connection->link)
        proxy_link_cut(connection->link, PROXY_RST);
}

static void connected(const redisAsyncContext *async, int status)
{
    struct connection *connection = async->data;
    if (status == REDIS_OK)
        return;
    connection->was_refused = strstr(async->errstr, strerror(ECONNREFUSED)) != NULL;
    (void)snprintf(connection->endpoint->complaint, sizeof connection->endpoint->complaint,
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
    struct connection *connection = async->data;
    (void)data;
    connection->unheard_greetings--;
    if (reply && reply->type == REDIS_REPLY_ERROR)
        control_login_refused(reply->str, connection->endpoint->complaint,
                              sizeof connection->endpoint->complaint);
}

static void greet(struct connection *connection, const struct url *login)
{
    if (login->has_login && login->user[0])
        (void)redisAsyncCommand(connection->async, greeted, NULL, "AUTH %s %s", login->user,
                                login->password);
    else if (login->has_login)
        (void)redisAsyncCommand(connection->async, greeted, NULL, "AUTH %s", login->password);
    if (login->database)
        (void)redisAsyncCommand(connection->async, greeted, NULL, "SELECT %d", login->database);
    connection->greetings = (login->has_login ? 1 : 0) + (login->database ? 1 : 0);
    connection->unheard_greetings = connection->greetings;
}

/* A user who may not PING has been answered, too; who is one too many has not. */
static void pinged(redisAsyncContext *async, void *got, void *data)
{
    const redisReply *reply = got;
    struct connection *connection = async->data;
    (void)data;
    connection->unheard_greetings--;
    if (!reply)
        return;
    connection->is_greeted = reply->type != REDIS_REPLY_ERROR || !strncmp(reply->str, "NOPERM", 6);
    if (!connection->is_greeted)
        (void)snprintf(connection->endpoint->complaint, sizeof connection->endpoint->complaint,
                       "%.100s", reply->str);
}

void connection_greet(struct connection *connection)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    if (!connection->async || redisAsyncFormattedCommand(connection->async, pinged, NULL, ping,
                                                         sizeof ping - 1) != REDIS_OK)
        return; /* it is ending, and that is told */
    connection->sent += sizeof ping - 1;
    connection->greetings++;
    connection->unheard_greetings++;
    connection_watch(connection, true);
}

void connection_pass(struct connection *connection, const char *bytes, size_t length)
{
    assert(!connection->first);
    if (!connection->async ||
        redisAsyncFormattedCommand(connection->async, greeted, NULL, bytes, length) != REDIS_OK)
        return; /* it is ending, and that is told */
    connection->is_bare = false;
    connection->sent += length;
    connection->greetings++;
    connection->unheard_greetings++;
    connection_watch(connection, true);
}

static enum fail no_connection(const redisAsyncContext *async, const struct endpoint *endpoint,
                               struct failure *failure)
{
    const char *why = async && async->errstr ? async->errstr : "out of memory";
    const bool is_exhausted = strstr(why, strerror(EMFILE)) || strstr(why, strerror(ENFILE));
    return failure_set(failure, FAIL_UNAVAILABLE, "a client cannot connect to server %d: %s%s",
                       endpoint->number + 1, why,
                       is_exhausted ? "; raise the limit of open files (ulimit -n)" : "");
}

/* Its own end is what the server sees. */
static void join_directly(struct connection *connection)
{
    connection->server_port = connection->port;
    if (connection->endpoint->order)
        read_order_join(connection->endpoint->order, connection);
}

/* near_end: the proxy's end, where it is had at once; else -1. */
static redisAsyncContext *dial(const struct endpoint *endpoint, int *near_end)
{
    *near_end = -1;
    if (endpoint->direct_port)
        return redisAsyncConnect("127.0.0.1", endpoint->direct_port);
    if (endpoint->near)
        return near_link_connect(endpoint->near, near_end);
    return redisAsyncConnect("127.0.0.1", proxy_port(endpoint->proxy));
}

/* The proxy learns whose that end is. */
static void join_near(struct connection *connection, int near_end)
{
    struct endpoint *endpoint = connection->endpoint;
    endpoint->coming = connection;
    proxy_take_client(endpoint->proxy, near_end);
    endpoint->coming = NULL;
}

enum fail connection_new(struct connection **made, struct endpoint *endpoint, void *owner,
                         struct failure *failure)
{
    int error = 0, near_end;
    redisAsyncContext *async = dial(endpoint, &near_end);
    struct connection *connection = memory_new(1, sizeof *connection);
    connection->endpoint = endpoint;
    connection->owner = owner;
    connection->async = async;
    if (async && !async->err)
        error = connection_poll(connection);
    if (!async || async->err || error < 0) {
        enum fail fail =
            error < 0 ? failure_set(failure, FAIL_UNAVAILABLE, "libuv: %s", uv_strerror(error))
                      : no_connection(async, endpoint, failure);
        if (async)
            redisAsyncFree(async);
        if (near_end >= 0)
            (void)close(near_end);
        free(connection);
        return fail;
    }
    connection->port = near_end < 0 ? own_port(async->c.fd) : 0;
    endpoint->connections++;
    if (endpoint->direct_port)
        join_directly(connection);
    else if (near_end < 0)
        endpoint->by_port[connection->port] = connection;
    async->ev.cleanup = clean_up;
    (void)redisAsyncSetConnectCallback(async, connected);
    if (near_end >= 0)
        join_near(connection, near_end);
    if (endpoint->login)
        greet(connection, endpoint->login);
    *made = connection;
    return FAIL_NONE;
}

/* What hiredis would free behind its callback is ours. */
static redisReply *take_reply(redisReply *got)
{
    redisReply *reply = memory_new(1, sizeof *reply);
    *reply = *got;
    *got = (redisReply){.type = REDIS_REPLY_NIL};
    return reply;
}

/* One of the call's replies has come; hiredis says NULL when the connection ended instead. */
static void reply_heard(redisAsyncContext *async, void *got, void *data)
{
    struct exchange *exchange = data;
    (void)async;
    if (!got)
        return;
    if (exchange->is_direct) {
        if (!exchange->connection->is_cut)
            exchange_answered(exchange, take_reply(got));
        return;
    }
    exchange->delivered++;
    assert(exchange->delivered <= exchange->requests);
    struct connection *connection = exchange->connection;
    const struct connection_events *events = connection->endpoint->events;
    if (!exchange_is_delivered(exchange) || exchange->arrived_early)
        return;
    if (exchange->owner && events && events->delivered)
        events->delivered(exchange); /* may let go of it */
    exchanges_leave(connection);
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

struct exchange *connection_send(struct connection *connection, void *owner,
                                 const struct command *command, const char *prefix)
{
    char bytes[COMMAND_BYTES_MAX + 1];
    struct exchange *exchange = memory_new(1, sizeof *exchange);
    const bool is_bare = connection_is_bare(connection);
    size_t length, sent = 0;
    exchange->requests = verb_requests(command->verb);
    if (connection->endpoint->expiry_s)
        length = command_encode_expiring(command, prefix, connection->endpoint->expiry_s, bytes,
                                         &exchange->requests);
    else
        length = command_encode(command, prefix, bytes);
    bytes[length] = '\0';
    exchange->connection = connection;
    exchange->owner = owner;
    exchange->command = *command;
    assert(exchange->requests <= CALL_REQUESTS_MAX);
    if (connection->last)
        connection->last->next = exchange;
    else
        connection->first = exchange;
    connection->last = exchange;
    if (!connection->arriving)
        connection->arriving = exchange;
    if (connection->endpoint->direct_port)
        exchange_goes_directly(exchange, length);
    if (is_bare && connection->async) {
        bytes_add(&connection->out, bytes, length);
        connection_wants_to_write(connection);
        return exchange;
    }
    for (int i = 0; i < exchange->requests; i++) {
        size_t one = exchange->requests == 1 ? length : request_length(bytes + sent);
        /* Fails only on a connection that is ending: then its end tells the owner. */
        if (connection->async)
            (void)redisAsyncFormattedCommand(connection->async, reply_heard, exchange, bytes + sent,
                                             one);
        sent += one;
    }
    assert(sent == length);
    return exchange;
}
