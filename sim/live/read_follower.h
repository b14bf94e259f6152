/* read_follower.h - follows the log of reads (read_log.h), read by read, and knows whose each one
 * is.
 *
 * A port at our end of connections to the server is used again and again: the server's own number
 * of a connection tells whoever has the port now from whoever had it before. */
#ifndef PICKLOCK_LIVE_READ_FOLLOWER_H
#define PICKLOCK_LIVE_READ_FOLLOWER_H

#include "live/read_log.h"

#include <stdbool.h>

/* A connection, as the log has it: a part of whatever has the connection. */
struct read_stream {
    void *owner;     /* whose it is; the follower only keeps it */
    uint32_t number; /* what the server accepted it as; 0: not seen yet */
    uint64_t read;   /* bytes that the server has read from it */
};

struct read_follower;

/* Follows the log (borrowed) from here on. */
struct read_follower *read_follower_new(struct read_log *log);
void read_follower_free(struct read_follower *follower); /* takes; NULL is fine */

/* Whose connection to the server stands, nothing was sent on it yet, from that port of ours (kept
 * until it leaves). What was read before has to be looked at first: it is of the port's past. */
void read_follower_join(struct read_follower *follower, int port, struct read_stream *stream,
                        void *owner);
void read_follower_leave(struct read_follower *follower, int port,
                         const struct read_stream *stream);

/* The next read of one that has joined, counted in stream->read, and when it was (CLOCK_MONOTONIC,
 * microseconds). NULL: there is none now. */
struct read_stream *read_follower_next(struct read_follower *follower, int64_t *time_us);

/* The log is gone: nothing is read any more. */
void read_follower_end(struct read_follower *follower);
/* It is, or has run over: which reads there were is lost for good. */
bool read_follower_is_lost(const struct read_follower *follower);

#endif
