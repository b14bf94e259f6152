/* read_order.c - see read_order.h. */
#include "live/read_order.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

struct read_order {
    struct read_follower *follower;
    struct exchange *first, *last;
};

struct read_order *read_order_new(struct read_log *log)
{
    struct read_order *order = memory_new(1, sizeof *order);
    order->follower = read_follower_new(log);
    return order;
}

void read_order_free(struct read_order *order)
{
    if (!order)
        return;
    read_follower_free(order->follower);
    free(order);
}

void read_order_join(struct read_order *order, struct connection *connection)
{
    (void)read_order_look(order);
    read_follower_join(order->follower, connection->server_port, &connection->stream, connection);
}

void read_order_leave(struct read_order *order, const struct connection *connection)
{
    struct exchange **at = &order->first;
    read_follower_leave(order->follower, connection->server_port, &connection->stream);
    order->last = NULL;
    while (*at)
        if ((*at)->connection == connection) {
            *at = (*at)->executed_next;
        } else {
            order->last = *at;
            at = &(*at)->executed_next;
        }
}

static uint64_t end_of(const struct exchange *exchange)
{
    if (exchange->end)
        return exchange->end;
    return exchange->last_request ? proxy_request_end(exchange->last_request) : UINT64_MAX;
}

static void append(struct read_order *order, struct exchange *exchange)
{
    exchange->executed_next = NULL;
    if (order->last)
        order->last->executed_next = exchange;
    else
        order->first = exchange;
    order->last = exchange;
}

/* What the server has read of it completes these. */
static void has_read(struct read_order *order, const struct connection *connection, int64_t time_us)
{
    for (struct exchange *exchange = connection->first; exchange; exchange = exchange->next) {
        if (exchange->read_us)
            continue;
        if (end_of(exchange) > connection->stream.read)
            return;
        exchange->read_us = time_us;
        append(order, exchange);
    }
}

bool read_order_look(struct read_order *order)
{
    struct read_stream *stream;
    int64_t time_us;
    while ((stream = read_follower_next(order->follower, &time_us)))
        has_read(order, stream->owner, time_us);
    return !read_follower_is_lost(order->follower);
}

struct exchange *read_order_first(const struct read_order *order)
{
    return order->first;
}

void read_order_take(struct read_order *order)
{
    assert(order->first);
    order->first = order->first->executed_next;
    if (!order->first)
        order->last = NULL;
}
