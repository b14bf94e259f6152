/* station.c - the proxy's side of wires: pairs what comes by with the calls, holds, lets go. See
 * wire.h. */
#include "live/station.h"

#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t now_us(void)
{
    return (int64_t)(uv_hrtime() / 1000);
}

/* --- replies --- */

/* A tree of hiredis as one of ours, an array's elements in the rows given: deeper than one level no
 * command of ours answers. */
static struct wire_reply shallow(const redisReply *got)
{
    struct wire_reply reply = {.type = '-'};
    switch (got->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
        reply.type = got->type == REDIS_REPLY_STRING   ? '$'
                     : got->type == REDIS_REPLY_STATUS ? '+'
                                                       : '-';
        reply.text = got->str;
        reply.length = got->len;
        break;
    case REDIS_REPLY_INTEGER:
        reply.type = ':';
        reply.integer = got->integer;
        break;
    case REDIS_REPLY_NIL:
        reply.type = '$';
        break;
    case REDIS_REPLY_ARRAY:
        reply.type = '*';
        reply.count = got->elements;
        break;
    default:
        reply.text = "";
        break;
    }
    return reply;
}

static struct reply decode(const struct call *call)
{
    enum { ELEMENTS_MAX = 8 };
    struct wire_reply rows[CALL_REQUESTS_MAX];
    struct wire_reply elements[CALL_REQUESTS_MAX][ELEMENTS_MAX];
    int replies = verb_requests(call->command.verb);
    for (int i = 0; i < replies; i++) {
        rows[i] = shallow(call->replies[i]);
        if (rows[i].type != '*')
            continue;
        if (rows[i].count > ELEMENTS_MAX)
            rows[i].count = ELEMENTS_MAX;
        for (size_t j = 0; j < rows[i].count; j++)
            elements[i][j] = shallow(call->replies[i]->element[j]);
        rows[i].elements = elements[i];
    }
    return command_decode(call->command.verb, rows, (size_t)replies);
}

static redisReply *parse(const char *bytes, size_t length)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    if (!reader || redisReaderFeed(reader, bytes, length) != REDIS_OK ||
        redisReaderGetReply(reader, &reply) != REDIS_OK)
        reply = NULL;
    redisReaderFree(reader);
    return reply;
}

/* --- the proxy's hooks; a link without a wire is nobody's: all passes --- */

static void hook_opened(void *context, struct proxy_link *link, int peer_port, void **link_owner)
{
    struct station *station = context;
    struct wire *wire = station->by_port[peer_port];
    if (!wire || wire->is_opened || wire->is_cut || !wire->async)
        return;
    wire->is_opened = true;
    wire->link = link;
    *link_owner = wire;
}

/* --- calls that are answered in the server's place --- */

static const char exec_abort[] = "-EXECABORT Transaction discarded because of previous errors.\r\n";

/* MULTI and EXEC, of a transaction that the server begins and refuses to fill. */
static bool goes_to_server(const struct call *call, int request)
{
    bool is_edge = request == 0 || request == call->requests - 1;
    bool is_transaction = verb_requests(call->command.verb) > 1;
    return is_transaction && is_edge && command_lets_multi_in(call->refused);
}

/* The request of the call with that number stands at the proxy; true: it goes to the server. */
static bool refuse_request(struct call *call, int number)
{
    struct proxy_request *request = call->at_proxy[number];
    const char *line = command_error_line(call->refused);
    if (goes_to_server(call, number))
        return true;
    call->at_proxy[number] = NULL;
    proxy_request_answer(request, line, strlen(line));
    if (number == call->requests - 1)
        call->answered = call->requests;
    return false;
}

/* The server has answered MULTI, or the EXEC of an empty transaction. */
static void refuse_reply(struct call *call, struct proxy_request *request)
{
    int last = call->requests - 1;
    if (call->at_proxy[last] != request)
        return;
    call->at_proxy[last] = NULL;
    proxy_reply_answer(request, exec_abort, sizeof exec_abort - 1);
    call->answered = call->requests;
}

static enum proxy_decision hook_request(void *context, void *link_owner,
                                        struct proxy_request *request)
{
    struct wire *wire = link_owner;
    (void)context;
    request->owner = NULL;
    if (!wire)
        return PROXY_PASS;
    if (wire->greetings) {
        wire->greetings--;
        return PROXY_PASS;
    }
    struct call *call = wire->arriving;
    assert(call && call->came < call->requests);
    request->owner = call;
    call->at_proxy[call->came++] = request;
    if (call->came == call->requests)
        wire->arriving = call->next;
    const struct wire_events *events = wire->station->events;
    wire->in_hook = call;
    if (call->came == 1 && call->owner && events && events->came)
        events->came(call);
    wire->in_hook = NULL;
    if (wire->is_cut)
        return PROXY_DROP;
    if (call->refused)
        return refuse_request(call, call->came - 1) ? PROXY_PASS : PROXY_DROP;
    return call->may_execute ? PROXY_PASS : PROXY_HOLD;
}

static enum proxy_decision hook_reply(void *context, void *link_owner,
                                      struct proxy_request *request, const char *bytes,
                                      size_t length)
{
    struct wire *wire = link_owner;
    struct call *call = request->owner;
    (void)context;
    if (!wire || !call)
        return PROXY_PASS;
    if (call->refused) {
        refuse_reply(call, request);
        return PROXY_PASS;
    }
    call->at_proxy[call->answered] = NULL;
    call->replies[call->answered] = parse(bytes, length);
    if (!call->replies[call->answered])
        return PROXY_PASS; /* cannot be: the proxy has framed it */
    /* The last one is held for all of them: the client acts when it has them all. */
    if (++call->answered < call->requests)
        return PROXY_PASS;
    call->answered_us = now_us();
    call->reply = decode(call);
    call->at_proxy[0] = request;
    const struct wire_events *events = wire->station->events;
    wire->in_hook = call;
    if (events && events->executed)
        events->executed(call);
    wire->in_hook = NULL;
    if (wire->is_cut)
        return PROXY_DROP;
    if (!call->may_be_heard && call->owner)
        return PROXY_HOLD;
    call->may_be_heard = true;
    call->at_proxy[0] = NULL;
    return PROXY_PASS;
}

static void hook_closed(void *context, void *link_owner)
{
    struct wire *wire = link_owner;
    (void)context;
    if (!wire)
        return;
    wire->link = NULL;
    for (struct call *call = wire->first; call; call = call->next)
        memset(call->at_proxy, 0, sizeof call->at_proxy);
    wire_broke(wire);
    /* The client would learn of it by itself; but nothing more can come. */
    if (wire->async)
        redisAsyncFree(wire->async);
    wire_let_go(wire);
}

static void hook_notice(void *context, void *link_owner, const char *words)
{
    struct station *station = context;
    (void)link_owner;
    (void)snprintf(station->trouble, sizeof station->trouble, "%.250s", words);
}

/* --- letting go --- */

static void reply_forward(struct call *call)
{
    struct proxy_request *request = call->at_proxy[0];
    call->at_proxy[0] = NULL;
    if (request)
        proxy_reply_forward(request);
}

/* The proxy shows a reply only when the one before it has gone. */
static void free_the_way(struct call *call)
{
    for (struct call *earlier = call->wire->first; earlier != call; earlier = earlier->next)
        if (call_is_answered(earlier) && !earlier->may_be_heard) {
            earlier->came_early = true;
            earlier->may_be_heard = true;
            reply_forward(earlier);
        }
}

void call_refuse(struct call *call, enum reply_error error)
{
    assert(call->came > 0 && call->answered == 0 && !call->may_execute);
    call->refused = error;
    call->reply = (struct reply){.kind = REPLY_ERROR, .error = error};
    call->may_execute = call->may_be_heard = call->came_early = true;
    free_the_way(call);
    /* One request is held; those behind it are refused in the hook, from here on. */
    int shown = call->came - 1;
    struct proxy_request *request = call->at_proxy[shown];
    if (refuse_request(call, shown))
        proxy_request_forward(request);
}

void call_execute(struct call *call)
{
    struct wire *wire = call->wire;
    call->may_execute = true;
    /* Before it is written: what stands behind the writing may be later than the execution. */
    call->released_us = now_us();
    free_the_way(call);
    if (wire->in_hook == call)
        return; /* the hook's answer lets it pass */
    /* Only the newest that was shown is held; those behind it pass in the hook, from here on. */
    struct proxy_request *shown = call->came ? call->at_proxy[call->came - 1] : NULL;
    if (shown && call->came > call->answered)
        proxy_request_forward(shown);
}

void call_hear(struct call *call)
{
    if (call->came_early) {
        const struct wire_events *events = call->wire->station->events;
        call->came_early = false;
        if (call_is_heard(call) && events && events->heard)
            events->heard(call);
        return;
    }
    if (call->may_be_heard)
        return;
    call->may_be_heard = true;
    if (call_is_answered(call) && call->wire->in_hook != call)
        reply_forward(call);
}

void call_let_go(struct call *call)
{
    call->owner = NULL;
    call->came_early = false;
    call_hear(call);
    calls_leave(call->wire);
}

bool call_is_at_head(const struct call *call)
{
    for (const struct call *earlier = call->wire->first; earlier != call; earlier = earlier->next)
        if (!earlier->may_execute)
            return false;
    return true;
}

/* --- the station --- */

enum fail station_open(struct station *station, uv_loop_t *loop, int number,
                       const struct proxy_address *upstream, const struct url *login,
                       struct failure *failure)
{
    const struct proxy_address any = {.host = "127.0.0.1"};
    const struct proxy_hooks hooks = {
        .opened = hook_opened,
        .request = hook_request,
        .reply = hook_reply,
        .closed = hook_closed,
        .notice = hook_notice,
        .context = station,
    };
    memset(station, 0, sizeof *station);
    station->loop = loop;
    station->number = number;
    station->login = login;
    station->by_port = memory_new(WIRE_PORTS, sizeof(struct wire *));
    if (!proxy_new(&station->proxy, loop, &any, upstream, &hooks, failure))
        return FAIL_NONE;
    free(station->by_port);
    station->by_port = NULL;
    return failure_wrap(failure, "proxy of server %d", number + 1);
}

void station_shut(struct station *station)
{
    if (station->proxy)
        proxy_close(station->proxy, NULL, NULL);
    station->proxy = NULL;
}

void station_free(struct station *station)
{
    assert(station->wires == 0);
    free(station->by_port);
    station->by_port = NULL;
}
