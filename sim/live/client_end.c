/* client_end.c - the client's end of a direct connection over which nothing but calls goes. See
 * endpoint.h.
 *
 * hiredis has connected it, and frees it. It would keep a buffer each way, a reader and a row a
 * call for each connection: with thousands of clients none of that is at hand when a reply comes.
 */
#include "live/endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { READ_MAX = 16 * 1024 };

bool connection_is_bare(struct connection *connection)
{
    const redisAsyncContext *async = connection->async;
    if (connection->endpoint->direct_port && !connection->first && !connection->unheard_greetings &&
        async && (async->c.flags & REDIS_CONNECTED))
        connection->is_bare = true;
    return connection->is_bare;
}

/* --- writing --- */

void bare_flush(struct connection *connection)
{
    struct bytes *out = &connection->out;
    if (!out->length)
        return;
    const ssize_t sent =
        send(connection->async->c.fd, out->at, out->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (sent >= 0 && (size_t)sent < out->length) {
        out->length -= (size_t)sent;
        memmove(out->at, out->at + sent, out->length);
        return;
    }
    free(out->at); /* what cannot be written at all, the next read tells */
    *out = (struct bytes){0};
}

/* --- hearing --- */

static void ends(struct connection *connection, int error, const char *why)
{
    redisAsyncContext *async = connection->async;
    async->err = async->c.err = error;
    (void)snprintf(async->c.errstr, sizeof async->c.errstr, "%s", why);
    redisAsyncFree(async);
}

static struct exchange *first_unheard(const struct connection *connection)
{
    struct exchange *exchange = connection->first;
    while (exchange && exchange_is_answered(exchange))
        exchange = exchange->next;
    return exchange;
}

static bool hear_reply(struct connection *connection, const char *bytes, size_t length)
{
    struct exchange *exchange = first_unheard(connection);
    if (!exchange) {
        ends(connection, REDIS_ERR_PROTOCOL, "a reply that no request asked for");
        return false;
    }
    redisReply *reply = endpoint_parse(connection->endpoint, bytes, length);
    if (reply)
        exchange_answered(exchange, reply);
    return connection->async && !connection->is_cut;
}

/* What is left of these, of a reply that has not all come, is kept. */
static void hear_replies(struct connection *connection, const char *bytes, size_t length)
{
    struct resp *framer = &connection->endpoint->framer;
    size_t begin = 0, at = 0;
    resp_init(framer, RESP_REPLIES);
    while (at < length) {
        enum resp_status status;
        at += resp_feed(framer, bytes + at, length - at, &status);
        if (status == RESP_BAD) {
            ends(connection, REDIS_ERR_PROTOCOL, framer->why);
            return;
        }
        if (status != RESP_WHOLE)
            break;
        if (!hear_reply(connection, bytes + begin, at - begin))
            return;
        begin = at;
    }
    if (begin < length)
        bytes_add(&connection->part, bytes + begin, length - begin);
}

void bare_hear(struct connection *connection)
{
    char bytes[READ_MAX];
    const ssize_t got = recv(connection->async->c.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        ends(connection, got ? REDIS_ERR_IO : REDIS_ERR_EOF,
             got ? strerror(errno) : "Server closed the connection");
        return;
    }
    struct bytes part = connection->part;
    if (!part.length) {
        hear_replies(connection, bytes, (size_t)got);
        return;
    }
    connection->part = (struct bytes){0};
    bytes_add(&part, bytes, (size_t)got);
    hear_replies(connection, part.at, part.length);
    free(part.at);
}
