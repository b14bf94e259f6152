/* server_wire.h - a connection to a server, on which bytes go as they are: what a worker would have
 * said there, and what it would have heard. */
#ifndef PICKLOCK_WORKER_SERVER_WIRE_H
#define PICKLOCK_WORKER_SERVER_WIRE_H

#include "base/fail.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server_wire {
    redisContext *context; /* owned; NULL: not open */
    int protocol;          /* it speaks: RESP 2 or 3 */
    int64_t asked_us;      /* when something was said last: monotonic_us() */
    bool has_begun;        /* the answer to that */
};

enum { SPOKEN_MAX = 16 * 1024 };

struct spoken_reply {
    char bytes[SPOKEN_MAX]; /* a longer one is a failure */
    size_t used;
};

enum fail server_wire_open(struct server_wire *wire, const char *host, int port,
                           struct failure *failure);
void server_wire_close(struct server_wire *wire);

/* From here on that protocol. */
enum fail server_wire_speak(struct server_wire *wire, int protocol, struct failure *failure);

enum fail server_wire_say(struct server_wire *wire, const char *bytes, size_t length,
                          struct failure *failure);

/* What comes next of what was said there; 0 and FAIL_UNKNOWN: nothing did. */
size_t server_wire_read(struct server_wire *wire, char *bytes, size_t room,
                        struct failure *failure);

/* So many replies, of which the last is told. FAIL_UNKNOWN: they did not come, or more did. */
enum fail server_wire_hear(struct server_wire *wire, int replies, struct spoken_reply *spoken,
                           struct failure *failure);

#endif
