/* alone.h - is nobody connected to the server but us, and those that come through the proxy?
 *
 * By the server's own counts: nobody else was there when the run began, and since then it has taken
 * no more connections than the proxy has begun. Then nobody else can have changed a key; nor does
 * it by itself, but for keys whose time is over. */
#ifndef PICKLOCK_WATCH_ALONE_H
#define PICKLOCK_WATCH_ALONE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

struct alone {
    const char *why_not; /* why we are not, for good; NULL: for all that was seen we are */
    int64_t received, rejected, evicted; /* connections, and keys, when the run began */
    uint64_t dials; /* of the proxy's, when we were found alone last: all of these are counted */
};

/* Before the proxy has begun any. control (borrowed, as below): a connection of ours. is_ours: the
 * server is, and whoever is connected by now belongs to us. */
void alone_begin(struct alone *alone, redisContext *control, bool is_ours);
/* Nothing is proved by the counts any more, for that reason (kept). */
void alone_end(struct alone *alone, const char *why);
/* Were we alone until now? NULL: yes. Else why not, or why nobody knows. dials: connections that
 * the proxy has begun, none of which has ended before it stood. */
const char *alone_not(struct alone *alone, redisContext *control, uint64_t dials);

#endif
