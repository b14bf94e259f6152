/* read_follower.c - see read_follower.h. */
#include "live/read_follower.h"

#include "base/memory.h"

#include <stdlib.h>

enum { PORTS = 65536 };

struct port {
    struct read_stream *stream; /* that has it now; NULL: none that has joined */
    uint32_t accepted; /* the server's newest connection from there; 0: none, or it is known whose
                          it is */
};

struct read_follower {
    struct read_log *log;
    uint64_t next; /* row */
    bool is_lost;
    struct port ports[PORTS];
};

struct read_follower *read_follower_new(struct read_log *log)
{
    struct read_follower *follower = memory_new(1, sizeof *follower);
    follower->log = log;
    follower->next = atomic_load(&log->written);
    return follower;
}

void read_follower_free(struct read_follower *follower)
{
    free(follower);
}

void read_follower_join(struct read_follower *follower, int number, struct read_stream *stream,
                        void *owner)
{
    struct port *port = &follower->ports[number];
    port->stream = stream;
    stream->owner = owner;
    stream->number = port->accepted;
    port->accepted = 0;
}

void read_follower_leave(struct read_follower *follower, int number,
                         const struct read_stream *stream)
{
    struct port *port = &follower->ports[number];
    if (port->stream == stream)
        port->stream = NULL;
}

static void accepted(struct read_follower *follower, const struct read_row *row)
{
    struct port *port = &follower->ports[row->port];
    port->accepted = row->connection;
    if (!port->stream || port->stream->read)
        return;
    /* One that was ended before it had joined may have left its number for this one. Or this one is
     * ended, and the next has not joined yet: it finds the number, too. */
    const bool is_first = !port->stream->number;
    port->stream->number = row->connection;
    if (is_first)
        port->accepted = 0;
}

/* False: there is none now. */
static bool take_row(struct read_follower *follower, struct read_row *row)
{
    if (follower->is_lost || follower->next >= atomic_load(&follower->log->written))
        return false;
    *row = follower->log->rows[follower->next % READ_LOG_ROWS];
    /* The writer may be in the row that it has not counted yet. */
    atomic_thread_fence(memory_order_acquire);
    follower->is_lost = atomic_load(&follower->log->written) >= follower->next + READ_LOG_ROWS;
    follower->next += !follower->is_lost;
    return !follower->is_lost;
}

struct read_stream *read_follower_next(struct read_follower *follower, int64_t *time_us)
{
    struct read_row row;
    while (take_row(follower, &row)) {
        struct read_stream *stream = follower->ports[row.port].stream;
        if (row.is_accept) {
            accepted(follower, &row);
        } else if (stream && stream->number == row.connection) {
            stream->read += (uint64_t)row.bytes;
            *time_us = row.time_us;
            return stream;
        }
    }
    return NULL;
}

void read_follower_end(struct read_follower *follower)
{
    follower->is_lost = true;
    follower->log = NULL;
}

bool read_follower_is_lost(const struct read_follower *follower)
{
    return follower->is_lost;
}
