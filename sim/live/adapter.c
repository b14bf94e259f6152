/* adapter.c - hiredis on libuv: when a connection reads and writes, and who says that it can. See
 * connection.h.
 *
 * It is our own: a reset connection makes libuv report an error instead of "readable", and the one
 * that comes with hiredis 0.14 ignores errors, so that its client would wait for ever. */
#include "live/endpoint.h"

static void poll_ready(uv_poll_t *poll, int status, int events);

static void poll_wants(struct connection *connection, int events)
{
    connection->polled = events;
    if (events)
        (void)uv_poll_start(&connection->poll, events, poll_ready);
    else
        (void)uv_poll_stop(&connection->poll);
}

static void hear(struct connection *connection)
{
    if (connection->is_bare)
        bare_hear(connection);
    else
        redisAsyncHandleRead(connection->async);
}

static void flush(struct connection *connection)
{
    if (!connection->is_bare) {
        redisAsyncHandleWrite(connection->async);
        return;
    }
    bare_flush(connection);
    const int events = connection->out.length ? connection->polled | UV_WRITABLE
                                              : connection->polled & ~UV_WRITABLE;
    if (events != connection->polled)
        poll_wants(connection, events);
}

/* Was something let go to it that it has not heard, or is its end under way? */
static bool has_unheard(const struct connection *connection)
{
    const struct exchange *exchange = connection->first;
    while (exchange && (!exchange->may_be_delivered || !exchange_is_answered(exchange) ||
                        exchange_is_delivered(exchange)))
        exchange = exchange->next;
    return exchange || connection->unheard_greetings || proxy_link_is_stuck(connection->link);
}

void connection_watch(struct connection *connection, bool is_watched)
{
    if (connection->is_unwatched == !is_watched)
        return;
    connection->is_unwatched = !is_watched;
    poll_wants(connection,
               is_watched ? connection->polled | UV_READABLE : connection->polled & ~UV_READABLE);
}

/* Of an eager endpoint the proxy tells what there is to hear: the loop looks for it only where it
 * was not there yet. */
static void watch_if_unheard(struct connection *connection)
{
    if (connection->endpoint->is_eager && connection->async && connection->link)
        connection_watch(connection, has_unheard(connection));
}

static void can_be_taken(struct connection *connection)
{
    if (connection->endpoint->is_eager && connection->async && connection->link)
        connection_is_due(connection, DUE_TAKE);
}

static void poll_ready(uv_poll_t *poll, int status, int events)
{
    struct connection *connection = poll->data;
    /* After an error a read is what makes hiredis learn of it. */
    if (connection->async && (status < 0 || (events & UV_READABLE)))
        hear(connection);
    watch_if_unheard(connection);
    /* What a reply leads to goes at once: the server works on it while the next ones are read here,
     * where else each of the two would wait for the other one's batch. A proxy in between is ours,
     * and in this loop. */
    if (connection->endpoint->direct_port)
        endpoint_write(connection->endpoint);
    if (connection->async && status == 0 && (events & UV_WRITABLE)) {
        flush(connection);
        can_be_taken(connection);
    }
}

static void add_read(void *data)
{
    struct connection *connection = data;
    if (!(connection->polled & UV_READABLE) && !connection->is_unwatched)
        poll_wants(connection, connection->polled | UV_READABLE);
}

static void remove_read(void *data)
{
    struct connection *connection = data;
    poll_wants(connection, connection->polled & ~UV_READABLE);
}

void connection_is_due(struct connection *connection, enum due due)
{
    struct due_list *list = &connection->endpoint->due[due];
    if (connection->is_due[due])
        return;
    connection->is_due[due] = true;
    connection->due_next[due] = NULL;
    *list->end = connection;
    list->end = &connection->due_next[due];
}

static struct connection *take_due(struct endpoint *endpoint, enum due due)
{
    struct due_list *list = &endpoint->due[due];
    struct connection *connection = list->first;
    if (!connection)
        return NULL;
    list->first = connection->due_next[due];
    if (!list->first)
        list->end = &list->first;
    connection->is_due[due] = false;
    return connection;
}

/* A socket that is connected can nearly always be written to: that is tried once, before the loop
 * waits, for it costs less than to be told so. */
void connection_wants_to_write(struct connection *connection)
{
    if ((connection->polled & UV_WRITABLE) || connection->is_due[DUE_WRITE])
        return;
    if (connection->is_flushing || !(connection->async->c.flags & REDIS_CONNECTED))
        poll_wants(connection, connection->polled | UV_WRITABLE);
    else
        connection_is_due(connection, DUE_WRITE);
}

static void add_write(void *data)
{
    connection_wants_to_write(data);
}

void endpoint_write(struct endpoint *endpoint)
{
    struct connection *connection;
    while ((connection = take_due(endpoint, DUE_WRITE))) {
        connection->is_flushing = true;
        if (connection->async)
            flush(connection);
        connection->is_flushing = false;
        can_be_taken(connection);
    }
}

/* What is not all there yet, the loop looks for. */
static void take_what_is_written(struct connection *connection)
{
    if (connection->link)
        proxy_link_take(connection->link);
    if (connection->link)
        proxy_link_watch(connection->link, connection->arriving || connection->greetings);
}

/* One connection after the other, all the way: so what it touches is still at hand. */
void endpoint_move(struct endpoint *endpoint)
{
    struct connection *connection;
    do {
        connection = take_due(endpoint, DUE_HEAR);
        if (connection && connection->async) {
            hear(connection);
            watch_if_unheard(connection);
        }
        endpoint_write(endpoint);
        while ((connection = take_due(endpoint, DUE_TAKE)))
            take_what_is_written(connection);
    } while (endpoint->due[DUE_HEAR].first);
}

static void remove_write(void *data)
{
    struct connection *connection = data;
    if (connection->polled & UV_WRITABLE)
        poll_wants(connection, connection->polled & ~UV_WRITABLE);
}

static void forget_due(struct connection *connection, enum due due)
{
    struct due_list *list = &connection->endpoint->due[due];
    struct connection **at = &list->first;
    if (!connection->is_due[due])
        return;
    while (*at != connection)
        at = &(*at)->due_next[due];
    *at = connection->due_next[due];
    if (!*at)
        list->end = at;
    connection->is_due[due] = false;
}

void connection_forget_due(struct connection *connection)
{
    for (int due = 0; due < DUE_COUNT; due++)
        forget_due(connection, (enum due)due);
}

int connection_poll(struct connection *connection)
{
    redisAsyncContext *async = connection->async;
    const int error = uv_poll_init(connection->endpoint->loop, &connection->poll, async->c.fd);
    if (error < 0)
        return error;
    connection->poll.data = connection;
    connection->poll_is_open = true;
    async->data = async->ev.data = connection;
    async->ev.addRead = add_read;
    async->ev.delRead = remove_read;
    async->ev.addWrite = add_write;
    async->ev.delWrite = remove_write;
    return 0;
}
