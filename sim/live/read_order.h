/* read_order.h - in which order one server executes commands that are on their way to it at once.
 *
 *     exchange let go ---> server reads its last byte ---> server executes it ---> whole reply
 *                          a row of the log (read_follower.h)
 *
 * What a connection sent is a stream of bytes; a command is executed at the read that completes it.
 * A server that has no such log (somebody else's) has no order: there one command at a time may be
 * with the server. */
#ifndef PICKLOCK_LIVE_READ_ORDER_H
#define PICKLOCK_LIVE_READ_ORDER_H

#include "live/connection.h"
#include "live/read_follower.h"

/* Follows the log (borrowed) from here on. Connections join it when they are made. */
struct read_order *read_order_new(struct read_log *log);

/* Takes order (may be NULL). */
void read_order_free(struct read_order *order);

/* The connection's way to the server stands, nothing was sent on it yet; and it is gone. */
void read_order_join(struct read_order *order, struct connection *connection);
void read_order_leave(struct read_order *order, const struct connection *connection);

/* Looks what was read since. False: the log has run over, and the order is lost for good. */
bool read_order_look(struct read_order *order);

/* The first exchange in the order of execution that was not taken yet, however far its reply has
 * come; its read_us says when. NULL: none that is known by the last look. */
struct exchange *read_order_first(const struct read_order *order);
void read_order_take(struct read_order *order);

/* Has the server been seen to accept the connection and to read from it? */
static inline bool read_order_has_seen(const struct connection *connection)
{
    return connection->stream.number && connection->stream.read;
}

#endif
