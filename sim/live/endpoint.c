/* endpoint.c - the proxy's side of connections: pairs what comes by with the calls, holds, lets go.
 * See connection.h. */
#include "live/endpoint.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "live/read_order.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_error(const struct wire_reply *row)
{
    for (size_t i = 0; i < row->count && row->elements; i++)
        if (row->elements[i].type == '-')
            return true;
    return row->type == '-';
}

static void decode(struct exchange *exchange)
{
    enum { ELEMENTS_MAX = 8 };
    bool has_error = false;
    struct wire_reply rows[CALL_REQUESTS_MAX];
    struct wire_reply elements[CALL_REQUESTS_MAX][ELEMENTS_MAX];
    int replies = verb_requests(exchange->command.verb);
    for (int i = 0; i < replies; i++) {
        rows[i] = shallow(exchange->replies[i]);
        if (rows[i].type != '*')
            continue;
        if (rows[i].count > ELEMENTS_MAX)
            rows[i].count = ELEMENTS_MAX;
        for (size_t j = 0; j < rows[i].count; j++)
            elements[i][j] = shallow(exchange->replies[i]->element[j]);
        rows[i].elements = elements[i];
    }
    for (int i = 0; i < replies; i++)
        has_error |= is_error(&rows[i]);
    exchange->reply = command_decode(exchange->command.verb, rows, (size_t)replies);
    exchange->is_strange = exchange->reply.kind == REPLY_ERROR && !has_error;
    for (int i = 0; i < exchange->answered && !has_error; i++) {
        freeReplyObject(exchange->replies[i]);
        exchange->replies[i] = NULL;
    }
}

enum fail exchange_check_answer(const struct exchange *exchange, int server,
                                struct failure *failure)
{
    if (!exchange->is_strange)
        return FAIL_NONE;
    return failure_set(
        failure, FAIL_UNKNOWN,
        "server %d answered %s with what that never answers, so what it did is not known",
        server + 1, verb_name(exchange->command.verb));
}

/* One whole reply. The reader is used again as long as it reads. */
redisReply *endpoint_parse(struct endpoint *endpoint, const char *bytes, size_t length)
{
    void *reply = NULL;
    if (!endpoint->reader)
        endpoint->reader = redisReaderCreate();
    if (endpoint->reader && redisReaderFeed(endpoint->reader, bytes, length) == REDIS_OK &&
        redisReaderGetReply(endpoint->reader, &reply) == REDIS_OK && reply)
        return reply;
    if (endpoint->reader)
        redisReaderFree(endpoint->reader);
    endpoint->reader = NULL;
    return NULL;
}

/* --- the proxy's hooks; a link without a connection is nobody's: all passes --- */

static void hook_opened(void *context, struct proxy_link *link, int peer_port, void **link_owner)
{
    struct endpoint *endpoint = context;
    struct connection *connection = peer_port ? endpoint->by_port[peer_port] : endpoint->coming;
    if (!connection || connection->is_opened || connection->is_cut || !connection->async)
        return;
    connection->is_opened = true;
    connection->link = link;
    endpoint->linked++;
    *link_owner = connection;
}

/* --- calls that are answered in the server's place --- */

static const char exec_abort[] = "-EXECABORT Transaction discarded because of previous errors.\r\n";

/* MULTI and EXEC, of a transaction that the server begins and refuses to fill. */
static bool goes_to_server(const struct exchange *exchange, int request)
{
    bool is_edge = request == 0 || request == exchange->requests - 1;
    bool is_transaction = verb_requests(exchange->command.verb) > 1;
    return is_transaction && is_edge && command_lets_multi_in(exchange->refused);
}

/* The request of the call with that number stands at the proxy; true: it goes to the server. */
static bool refuse_request(struct exchange *exchange, int number)
{
    struct proxy_request *request = exchange->at_proxy[number];
    const char *line = command_error_line(exchange->refused);
    if (goes_to_server(exchange, number))
        return true;
    exchange->at_proxy[number] = NULL;
    proxy_request_answer(request, line, strlen(line));
    if (number == exchange->requests - 1)
        exchange->answered = exchange->requests;
    return false;
}

/* The server has answered MULTI, or the EXEC of an empty transaction. */
static void refuse_reply(struct exchange *exchange, struct proxy_request *request)
{
    int last = exchange->requests - 1;
    if (exchange->at_proxy[last] != request)
        return;
    exchange->at_proxy[last] = NULL;
    proxy_reply_answer(request, exec_abort, sizeof exec_abort - 1);
    exchange->answered = exchange->requests;
}

static void hook_dialled(void *context, void *link_owner, int own_port)
{
    struct endpoint *endpoint = context;
    struct connection *connection = link_owner;
    if (!connection)
        return;
    connection->server_port = own_port;
    if (endpoint->order)
        read_order_join(endpoint->order, connection);
}

static enum proxy_decision hook_request(void *context, void *link_owner,
                                        struct proxy_request *request)
{
    struct connection *connection = link_owner;
    (void)context;
    request->owner = NULL;
    if (!connection)
        return PROXY_PASS;
    if (connection->greetings) {
        connection->greetings--;
        return PROXY_PASS;
    }
    struct exchange *exchange = connection->arriving;
    assert(exchange && exchange->arrived < exchange->requests);
    request->owner = exchange;
    exchange->at_proxy[exchange->arrived++] = request;
    if (exchange->arrived == exchange->requests) {
        connection->arriving = exchange->next;
        exchange->last_request = request;
    }
    const struct connection_events *events = connection->endpoint->events;
    connection->in_hook = exchange;
    if (exchange->arrived == 1 && exchange->owner && events && events->arrived)
        events->arrived(exchange);
    connection->in_hook = NULL;
    if (connection->is_cut)
        return PROXY_DROP;
    if (exchange->refused)
        return refuse_request(exchange, exchange->arrived - 1) ? PROXY_PASS : PROXY_DROP;
    return exchange->may_execute ? PROXY_PASS : PROXY_HOLD;
}

/* --- without the proxy --- */

void exchange_goes_directly(struct exchange *exchange, size_t length)
{
    struct connection *connection = exchange->connection;
    exchange->is_direct = exchange->may_execute = true;
    exchange->arrived = exchange->requests;
    exchange->released_us = monotonic_us();
    exchange->end = connection->sent += length;
    connection->arriving = NULL;
}

void exchange_answered(struct exchange *exchange, redisReply *reply)
{
    const struct connection_events *events = exchange->connection->endpoint->events;
    exchange->replies[exchange->answered++] = reply;
    if (!exchange_is_answered(exchange))
        return;
    exchange->answered_us = monotonic_us();
    decode(exchange);
    if (events && events->executed)
        events->executed(exchange);
}

/* The client hears it now; whoever is told may let go of it. */
static void deliver_directly(struct exchange *exchange)
{
    const struct connection_events *events = exchange->connection->endpoint->events;
    if (exchange->may_be_delivered || !exchange_is_answered(exchange))
        return;
    exchange->may_be_delivered = true;
    exchange->delivered = exchange->requests;
    if (exchange->owner && events && events->delivered)
        events->delivered(exchange);
}

static enum proxy_decision hook_reply(void *context, void *link_owner,
                                      struct proxy_request *request, const char *bytes,
                                      size_t length)
{
    struct connection *connection = link_owner;
    struct exchange *exchange = request->owner;
    (void)context;
    if (!connection || !exchange)
        return PROXY_PASS;
    if (exchange->refused) {
        refuse_reply(exchange, request);
        return PROXY_PASS;
    }
    exchange->at_proxy[exchange->answered] = NULL;
    exchange->replies[exchange->answered] = endpoint_parse(connection->endpoint, bytes, length);
    if (!exchange->replies[exchange->answered])
        return PROXY_PASS; /* cannot be: the proxy has framed it */
    /* The last one is held for all of them: the client acts when it has them all. */
    if (++exchange->answered < exchange->requests)
        return PROXY_PASS;
    exchange->answered_us = monotonic_us();
    exchange->end = proxy_request_end(request);
    exchange->last_request = NULL;
    decode(exchange);
    exchange->at_proxy[0] = request;
    const struct connection_events *events = connection->endpoint->events;
    connection->in_hook = exchange;
    if (events && events->executed)
        events->executed(exchange);
    connection->in_hook = NULL;
    if (connection->is_cut)
        return PROXY_DROP;
    if (!exchange->may_be_delivered && exchange->owner)
        return PROXY_HOLD;
    exchange->may_be_delivered = true;
    exchange->at_proxy[0] = NULL;
    return PROXY_PASS;
}

static void hook_closed(void *context, void *link_owner)
{
    struct endpoint *endpoint = context;
    struct connection *connection = link_owner;
    if (!connection)
        return;
    connection->link = NULL;
    endpoint->linked--;
    for (struct exchange *exchange = connection->first; exchange; exchange = exchange->next) {
        memset(exchange->at_proxy, 0, sizeof exchange->at_proxy);
        exchange->last_request = NULL;
    }
    connection_broke(connection);
    /* The client would learn of it by itself; but nothing more can come. */
    if (connection->async)
        redisAsyncFree(connection->async);
    connection_let_go(connection);
}

static void hook_notice(void *context, void *link_owner, const char *words)
{
    struct endpoint *endpoint = context;
    struct connection *connection = link_owner;
    (void)snprintf(endpoint->complaint, sizeof endpoint->complaint, "%.250s", words);
    endpoint->is_misread |= connection && connection->server_port; /* its link stands */
    /* What is relayed unread answers nobody: hiredis aborts on a reply that it did not ask for. */
    if (connection && connection->link)
        proxy_link_cut(connection->link, PROXY_RST);
}

static void hook_told(void *context, void *link_owner)
{
    const struct endpoint *endpoint = context;
    struct connection *connection = link_owner;
    if (endpoint->is_eager && connection && connection->async)
        connection_is_due(connection, DUE_HEAR);
}

static void hook_settled(void *context)
{
    struct endpoint *endpoint = context;
    if (endpoint->is_eager)
        endpoint_move(endpoint);
}

/* --- letting go --- */

static void reply_forward(struct exchange *exchange)
{
    struct proxy_request *request = exchange->at_proxy[0];
    exchange->at_proxy[0] = NULL;
    if (!request)
        return;
    proxy_reply_forward(request);
}

/* The proxy shows a reply only when the one before it has gone. */
static void free_the_way(struct exchange *exchange)
{
    for (struct exchange *earlier = exchange->connection->first; earlier != exchange;
         earlier = earlier->next)
        if (exchange_is_answered(earlier) && !earlier->may_be_delivered) {
            earlier->arrived_early = true;
            earlier->may_be_delivered = true;
            reply_forward(earlier);
        }
}

void exchange_refuse(struct exchange *exchange, enum reply_error error)
{
    assert(exchange->arrived > 0 && exchange->answered == 0 && !exchange->may_execute);
    exchange->refused = error;
    exchange->reply = (struct reply){.kind = REPLY_ERROR, .error = error};
    exchange->may_execute = exchange->may_be_delivered = exchange->arrived_early = true;
    free_the_way(exchange);
    /* One request is held; those behind it are refused in the hook, from here on. */
    int shown = exchange->arrived - 1;
    struct proxy_request *request = exchange->at_proxy[shown];
    if (refuse_request(exchange, shown))
        proxy_request_forward(request);
}

void exchange_execute(struct exchange *exchange)
{
    struct connection *connection = exchange->connection;
    if (exchange->is_direct)
        return; /* it went when it was sent */
    exchange->may_execute = true;
    /* Before it is written: what stands behind the writing may be later than the execution. */
    exchange->released_us = monotonic_us();
    free_the_way(exchange);
    if (connection->in_hook == exchange)
        return; /* the hook's answer lets it pass */
    /* Only the newest that was shown is held; those behind it pass in the hook, from here on. */
    struct proxy_request *shown =
        exchange->arrived ? exchange->at_proxy[exchange->arrived - 1] : NULL;
    if (shown && exchange->arrived > exchange->answered)
        proxy_request_forward(shown);
}

void exchange_deliver(struct exchange *exchange)
{
    if (exchange->is_direct) {
        deliver_directly(exchange);
        return;
    }
    if (exchange->arrived_early) {
        const struct connection_events *events = exchange->connection->endpoint->events;
        exchange->arrived_early = false;
        if (exchange_is_delivered(exchange) && events && events->delivered)
            events->delivered(exchange);
        return;
    }
    if (exchange->may_be_delivered)
        return;
    exchange->may_be_delivered = true;
    if (exchange_is_answered(exchange) && exchange->connection->in_hook != exchange)
        reply_forward(exchange);
}

void exchange_let_go(struct exchange *exchange)
{
    exchange->owner = NULL;
    exchange->arrived_early = false;
    exchange_deliver(exchange);
    exchanges_leave(exchange->connection);
}

bool exchange_is_at_head(const struct exchange *exchange)
{
    for (const struct exchange *earlier = exchange->connection->first; earlier != exchange;
         earlier = earlier->next)
        if (!earlier->may_execute)
            return false;
    return true;
}

/* --- the endpoint --- */

static void before_waiting(uv_prepare_t *flush)
{
    struct endpoint *endpoint = flush->data;
    if (endpoint->is_eager)
        endpoint_move(endpoint);
    else
        endpoint_write(endpoint);
}

/* The loop does not go on for its sake. */
static void flush_open(struct endpoint *endpoint)
{
    for (int due = 0; due < DUE_COUNT; due++)
        endpoint->due[due].end = &endpoint->due[due].first;
    (void)uv_prepare_init(endpoint->loop, &endpoint->flush);
    endpoint->flush.data = endpoint;
    (void)uv_prepare_start(&endpoint->flush, before_waiting);
    uv_unref((uv_handle_t *)&endpoint->flush);
}

enum fail endpoint_open(struct endpoint *endpoint, uv_loop_t *loop, int number,
                        const struct proxy_address *upstream, const struct url *login,
                        struct failure *failure)
{
    const struct proxy_address any = {.host = "127.0.0.1"};
    const struct proxy_hooks hooks = {
        .opened = hook_opened,
        .dialled = hook_dialled,
        .request = hook_request,
        .reply = hook_reply,
        .closed = hook_closed,
        .notice = hook_notice,
        .told = hook_told,
        .settled = hook_settled,
        .context = endpoint,
    };
    memset(endpoint, 0, sizeof *endpoint);
    endpoint->loop = loop;
    endpoint->number = number;
    endpoint->login = login;
    endpoint->by_port = memory_new(CONNECTION_PORTS, sizeof(struct connection *));
    if (!proxy_new(&endpoint->proxy, loop, &any, upstream, &hooks, failure)) {
        flush_open(endpoint);
        return FAIL_NONE;
    }
    free(endpoint->by_port);
    endpoint->by_port = NULL;
    return failure_wrap(failure, "proxy of server %d", number + 1);
}

void endpoint_shut(struct endpoint *endpoint)
{
    if (!endpoint->proxy)
        return;
    proxy_close(endpoint->proxy, NULL, NULL);
    uv_close((uv_handle_t *)&endpoint->flush, NULL);
    endpoint->proxy = NULL;
}

void endpoint_free(struct endpoint *endpoint)
{
    assert(endpoint->connections == 0);
    free(endpoint->by_port);
    endpoint->by_port = NULL;
    if (endpoint->reader)
        redisReaderFree(endpoint->reader);
    endpoint->reader = NULL;
}
