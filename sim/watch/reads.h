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

struct watched_link;
struct watched_request;
struct watched_reads;

/* Follows the log (borrowed) from here on. */
struct watched_reads *reads_new(struct read_log *log);
/* Takes reads (may be NULL). */
void reads_free(struct watched_reads *reads);

/* The link's way to the server stands, nothing was sent on it yet; and it is gone (its requests are
 * dropped first). */
void reads_join(struct watched_reads *reads, struct watched_link *link);
void reads_leave(struct watched_reads *reads, const struct watched_link *link);

/* It goes to the server now (kept). */
void reads_sent(struct watched_request *request);
/* It was never read, and never will be. */
void reads_drop(struct watched_request *request);

/* Answered, and no read was seen: its place is where it stands now. */
void reads_guess(struct watched_reads *reads, struct watched_request *request);

/* The server has ended, and its log is gone. */
void reads_end(struct watched_reads *reads);

/* Looks what was read since. False: the log has run over, and the order is lost for good. */
bool reads_look(struct watched_reads *reads);

/* The first in the order of execution that was not taken yet. NULL: none is known. */
struct watched_request *reads_first(const struct watched_reads *reads);
void reads_take(struct watched_reads *reads);

#endif
