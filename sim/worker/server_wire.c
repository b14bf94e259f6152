/* server_wire.c - see server_wire.h. */
#include "worker/server_wire.h"

#include "base/monotonic.h"
#include "live/control.h"
#include "redis/resp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum fail server_wire_open(struct server_wire *wire, const char *host, int port,
                           struct failure *failure)
{
    const struct timeval limit = {.tv_sec = CONTROL_SECONDS};
    wire->protocol = 2;
    wire->context = redisConnectWithTimeout(host, port, limit);
    if (wire->context && !wire->context->err && redisSetTimeout(wire->context, limit) == REDIS_OK)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNAVAILABLE, "a connection to a server: %s",
                       wire->context ? wire->context->errstr : "no memory");
}

void server_wire_close(struct server_wire *wire)
{
    if (wire->context)
        redisFree(wire->context);
    wire->context = NULL;
}

static enum fail no_answer(struct failure *failure, const char *why)
{
    return failure_set(failure, FAIL_UNKNOWN, "the server did not answer: %s", why);
}

static void keep(struct spoken_reply *spoken, const char *bytes, size_t length)
{
    const size_t room = sizeof spoken->bytes - spoken->used;
    memcpy(spoken->bytes + spoken->used, bytes, length < room ? length : room);
    spoken->used += length < room ? length : room;
}

size_t server_wire_read(struct server_wire *wire, char *bytes, size_t room, struct failure *failure)
{
    if (control_await(wire->context, wire->asked_us, wire->has_begun, "a command", failure)) {
        failure->code = FAIL_UNKNOWN;
        return 0;
    }
    const ssize_t got = recv(wire->context->fd, bytes, room, 0);
    if (got <= 0)
        (void)no_answer(failure, got ? strerror(errno) : "it has closed the connection");
    wire->has_begun = true;
    return got < 0 ? 0 : (size_t)got;
}

enum fail server_wire_hear(struct server_wire *wire, int replies, struct spoken_reply *spoken,
                           struct failure *failure)
{
    struct resp framer;
    enum resp_status status = RESP_WHOLE;
    resp_init(&framer, RESP_REPLIES);
    while (replies > 0) {
        char chunk[4096];
        const size_t got = server_wire_read(wire, chunk, sizeof chunk, failure);
        if (!got)
            return failure->code;
        for (size_t at = 0; at < got;) {
            if (status == RESP_WHOLE)
                spoken->used = 0;
            const size_t eaten = resp_feed(&framer, chunk + at, got - at, &status);
            keep(spoken, chunk + at, eaten);
            at += eaten;
            replies -= status == RESP_WHOLE;
            if (status == RESP_BAD || replies < 0)
                return no_answer(failure, "what it said is no reply, or one too many");
        }
    }
    if (spoken->used == sizeof spoken->bytes)
        return failure_set(failure, FAIL_UNKNOWN, "a reply of %d bytes or more", SPOKEN_MAX);
    return FAIL_NONE;
}

enum fail server_wire_say(struct server_wire *wire, const char *bytes, size_t length,
                          struct failure *failure)
{
    wire->asked_us = monotonic_us();
    wire->has_begun = false;
    while (length > 0) {
        const ssize_t sent = send(wire->context->fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return no_answer(failure, strerror(errno));
        bytes += sent;
        length -= (size_t)sent;
    }
    return FAIL_NONE;
}

enum fail server_wire_speak(struct server_wire *wire, int protocol, struct failure *failure)
{
    char hello[40];
    struct spoken_reply spoken;
    if (wire->protocol == protocol)
        return FAIL_NONE;
    wire->protocol = protocol;
    const int length = snprintf(hello, sizeof hello, "HELLO %d\r\n", protocol);
    if (server_wire_say(wire, hello, (size_t)length, failure))
        return failure->code;
    return server_wire_hear(wire, 1, &spoken, failure);
}
