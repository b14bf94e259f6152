/* server_pause.c - a server that holds what may write: CLIENT PAUSE, as an operator says it before
 * a failover. See servers.h.
 *
 * That it does is shown by a command of ours that changes nothing: it waits there, and the server
 * counts it (blocked_clients), until the pause is over; then it is answered. INFO and TIME, which
 * only tell, are answered all the while. Source: redis-server 7.0, CLIENT PAUSE. */
#include "live/servers.h"

#include "base/monotonic.h"
#include "live/control.h"

#include <stdlib.h>

/* The server ends a pause by its own clock, which scenarios step: so late that none does. */
#define HOLD_FOR_EVER   "CLIENT PAUSE 1000000000000000 WRITE"
#define CHANGES_NOTHING "DEL picklock:held"
enum { HELD_US = 2000000 };

/* How many clients wait at the server; -1: it does not say. */
static int64_t waiting(redisContext *control, struct failure *failure)
{
    char value[24] = "";
    redisReply *info = control_ask(control, failure, "INFO clients");
    if (!info)
        return -1;
    if (info->type == REDIS_REPLY_STRING)
        control_field(info->str, "blocked_clients", value, sizeof value);
    freeReplyObject(info);
    return *value ? atoll(value) : -1;
}

static enum fail send_alone(redisContext *context, struct failure *failure)
{
    int is_sent = 0;
    control_append(context, CHANGES_NOTHING);
    while (!is_sent)
        if (redisBufferWrite(context, &is_sent) != REDIS_OK)
            return failure_set(failure, FAIL_UNAVAILABLE, "%s", context->errstr);
    return FAIL_NONE;
}

/* It takes what we sent up at one of its next turns. */
static enum fail prove_held(redisContext *control, int64_t before, struct failure *failure)
{
    const int64_t limit_us = monotonic_us() + HELD_US;
    int64_t now = waiting(control, failure);
    while (now == before && monotonic_us() < limit_us)
        now = waiting(control, failure);
    if (now < 0)
        return FAIL_UNAVAILABLE;
    return now > before ? FAIL_NONE
                        : failure_set(failure, FAIL_UNKNOWN,
                                      "it was to hold writes, and does not hold ours");
}

static enum fail hold(struct server *server, struct failure *failure)
{
    redisContext *control = server->process.control;
    const int64_t before = waiting(control, failure);
    if (before < 0 || process_dial(&server->process, &server->held, failure) ||
        control_do(control, failure, HOLD_FOR_EVER) || send_alone(server->held, failure))
        return FAIL_UNAVAILABLE;
    return prove_held(control, before, failure);
}

enum fail servers_hold_writes(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    struct failure ignored;
    if (!hold(server, failure))
        return FAIL_NONE;
    control_shut(server->held);
    server->held = NULL;
    (void)control_do(server->process.control, &ignored, "CLIENT UNPAUSE");
    return failure_wrap(failure, "server %d", number + 1);
}

/* The reply of what was held: it changed nothing, then. */
static enum fail prove_let(redisContext *held, struct failure *failure)
{
    redisReply *reply = control_answer(held, CHANGES_NOTHING, failure);
    if (!reply)
        return FAIL_UNAVAILABLE;
    const bool is_done = reply->type == REDIS_REPLY_INTEGER && reply->integer == 0;
    freeReplyObject(reply);
    return is_done ? FAIL_NONE
                   : failure_set(failure, FAIL_UNKNOWN, "what it held was not executed");
}

enum fail servers_let_write(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    redisContext *held = server->held;
    if (!held)
        return FAIL_NONE;
    server->held = NULL;
    enum fail fail = control_do(server->process.control, failure, "CLIENT UNPAUSE");
    if (!fail)
        fail = prove_let(held, failure);
    control_shut(held);
    return fail ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}
