/* reads.h - in which order the server executes watched commands that are on their way at once.
 *
 * Follows the log of reads (live/read_follower.h) that a server of ours writes: a request is
 * executed at the read that completes it. Each proves that the log tells: a reply without a read is
 * a failure.
 */
#ifndef PICKLOCK_WATCH_READS_H
#define PICKLOCK_WATCH_READS_H

#include "live/read_follower.h"

#include <stdbool.h>
#include <stddef.h>

struct watched_link;

/* What one read of the server's completed, and it executed then: so many commands of the link's
 * line. */
struct completed_commands {
    struct watched_link *link;
    uint32_t count;
    int64_t time_us; /* of the read; as of monotonic_us() */
};

struct watched_reads {
    struct read_follower *follower;
    struct completed_commands *rows; /* a ring, in the order of reads */
    uint32_t size, first, end;       /* size: a power of 2; counted as in struct evident_line */
};

/* Follows the log (borrowed) from here on. */
struct watched_reads *reads_new(struct read_log *log);
/* Takes reads (may be NULL). */
void reads_free(struct watched_reads *reads);

/* The link's way to the server stands, nothing was sent on it yet; and it is gone (its requests are
 * dropped first). */
void reads_join(struct watched_reads *reads, struct watched_link *link);
void reads_leave(struct watched_reads *reads, const struct watched_link *link);

/* The first that was not read is answered, and no read was seen: its place is where it stands now.
 */
void reads_guess(struct watched_reads *reads, struct watched_link *link);

/* The server has ended, and its log is gone. */
void reads_end(struct watched_reads *reads);

/* Looks what was read since: goes on with "read" of each link's line. False: the log has run over,
 * and the order is lost for good. */
bool reads_look(struct watched_reads *reads);

/* The first read that was not taken yet. NULL: none is known. */
static inline const struct completed_commands *reads_first(const struct watched_reads *reads)
{
    return reads->first == reads->end ? NULL : &reads->rows[reads->first & (reads->size - 1)];
}
void reads_take(struct watched_reads *reads);

#endif
