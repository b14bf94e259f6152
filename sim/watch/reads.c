/* reads.c - see reads.h. As live/read_order.c does it for clients of our own. */
#include "watch/reads.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "watch/internal.h"

#include <assert.h>
#include <stdlib.h>

enum { PORTS = 65536 };

/* A port at our end of connections to the server: used again and again. */
struct watched_port {
    struct watched_link *link; /* that has it now; NULL: none */
    uint32_t accepted; /* the server's newest connection from there; 0: none, or it is known whose
                          it is */
};

struct watched_reads {
    struct read_log *log;
    uint64_t next; /* row */
    bool is_lost;
    struct watched_request *first, *last;
    struct watched_port ports[PORTS];
};

struct watched_reads *reads_new(struct read_log *log)
{
    struct watched_reads *order = memory_new(1, sizeof *order);
    order->log = log;
    order->next = atomic_load(&log->written);
    return order;
}

void reads_free(struct watched_reads *order)
{
    free(order);
}

void reads_join(struct watched_reads *order, struct watched_link *link)
{
    /* Rows of whoever had the port before are told apart by the number. */
    (void)reads_look(order);
    struct watched_port *port = &order->ports[link->own_port];
    port->link = link;
    link->server_number = port->accepted;
    port->accepted = 0;
}

void reads_leave(struct watched_reads *order, const struct watched_link *link)
{
    struct watched_port *port = &order->ports[link->own_port];
    assert(!link->unread_first);
    if (port->link == link)
        port->link = NULL;
}

void reads_sent(struct watched_request *request)
{
    struct watched_link *link = request->link;
    request->next = NULL;
    if (link->unread_last)
        link->unread_last->next = request;
    else
        link->unread_first = request;
    link->unread_last = request;
}

void reads_drop(struct watched_request *request)
{
    struct watched_link *link = request->link;
    assert(link->unread_first == request);
    link->unread_first = request->next;
    if (!link->unread_first)
        link->unread_last = NULL;
}

static void accepted(struct watched_reads *order, const struct read_row *row)
{
    struct watched_port *port = &order->ports[row->port];
    port->accepted = row->connection;
    if (!port->link || port->link->server_number)
        return;
    port->link->server_number = row->connection;
    port->accepted = 0;
}

static uint64_t end_of(const struct watched_request *request)
{
    return request->request ? proxy_request_end(request->request) : request->end;
}

static void append(struct watched_reads *order, struct watched_request *request, int64_t time_us)
{
    reads_drop(request);
    request->is_read = true;
    request->read_us = time_us;
    request->next = NULL;
    if (order->last)
        order->last->next = request;
    else
        order->first = request;
    order->last = request;
}

void reads_guess(struct watched_reads *order, struct watched_request *request)
{
    append(order, request, monotonic_us());
}

static void has_read(struct watched_reads *order, const struct read_row *row)
{
    struct watched_link *link = order->ports[row->port].link;
    if (!link || link->server_number != row->connection)
        return;
    link->server_read += (uint64_t)row->bytes;
    while (link->unread_first && end_of(link->unread_first) <= link->server_read)
        append(order, link->unread_first, row->time_us);
}

void reads_end(struct watched_reads *order)
{
    order->is_lost = true;
    order->log = NULL;
}

bool reads_look(struct watched_reads *order)
{
    if (order->is_lost)
        return false;
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

struct watched_request *reads_first(const struct watched_reads *order)
{
    return order->first;
}

void reads_take(struct watched_reads *order)
{
    assert(order->first);
    order->first = order->first->next;
    if (!order->first)
        order->last = NULL;
}
