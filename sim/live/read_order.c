/* read_order.c - see read_order.h. */
#include "live/read_order.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

/* A port at our end of connections to the server: used again and again. */
struct port {
    struct connection *connection; /* that has it now; NULL: none of ours */
    uint32_t accepted;             /* the server's newest connection from there; 0: none, or it is
                                      known whose it is */
};

struct read_order {
    struct read_log *log;
    uint64_t next; /* row */
    bool is_lost;
    struct exchange *first, *last;
    struct port ports[CONNECTION_PORTS];
};

struct read_order *read_order_new(struct read_log *log)
{
    struct read_order *order = memory_new(1, sizeof *order);
    order->log = log;
    order->next = atomic_load(&log->written);
    return order;
}

void read_order_free(struct read_order *order)
{
    free(order);
}

static void accepted(struct read_order *order, const struct read_row *row)
{
    struct port *port = &order->ports[row->port];
    port->accepted = row->connection;
    if (!port->connection || port->connection->server_number)
        return;
    port->connection->server_number = row->connection;
    port->accepted = 0;
}

void read_order_join(struct read_order *order, struct connection *connection)
{
    /* Rows of whoever had the port before are told apart by the number. */
    (void)read_order_look(order);
    struct port *port = &order->ports[connection->server_port];
    port->connection = connection;
    connection->server_number = port->accepted;
    port->accepted = 0;
}

void read_order_leave(struct read_order *order, const struct connection *connection)
{
    struct port *port = &order->ports[connection->server_port];
    struct exchange **at = &order->first;
    if (port->connection == connection)
        port->connection = NULL;
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

static void has_read(struct read_order *order, const struct read_row *row)
{
    struct connection *connection = order->ports[row->port].connection;
    if (!connection || connection->server_number != row->connection)
        return;
    connection->server_read += (uint64_t)row->bytes;
    for (struct exchange *exchange = connection->first; exchange; exchange = exchange->next) {
        if (exchange->read_us)
            continue;
        if (end_of(exchange) > connection->server_read)
            return;
        exchange->read_us = row->time_us;
        append(order, exchange);
    }
}

bool read_order_look(struct read_order *order)
{
    const uint64_t written = atomic_load(&order->log->written);
    while (!order->is_lost && order->next < written) {
        const struct read_row row = order->log->rows[order->next % READ_LOG_ROWS];
        /* The writer may be in the row that it has not counted yet. */
        atomic_thread_fence(memory_order_acquire);
        order->is_lost = atomic_load(&order->log->written) >= order->next + READ_LOG_ROWS;
        if (order->is_lost)
            break;
        if (row.is_accept)
            accepted(order, &row);
        else
            has_read(order, &row);
        order->next++;
    }
    return !order->is_lost;
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
