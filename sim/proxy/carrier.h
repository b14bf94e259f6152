/* carrier.h - processes that hold a proxy's sockets, where one process may not have so many open.
 *
 *     client  <--->  socket | carrier  <--- rows --->  link (all that is decided) | our process
 *     server  <--->  socket |
 *
 * A link is accepted, dialled and decided on here as ever; once it stands, both its sockets go to a
 * carrier, which moves bytes to and fro as it is told (carrier_rows.h). What a link does is the
 * same but for the way of the bytes. Carriers end with us, also after SIGKILL. */
#ifndef PICKLOCK_PROXY_CARRIER_H
#define PICKLOCK_PROXY_CARRIER_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum { CARRIERS_MAX = 8 };

struct carriers;
struct carried_side; /* a socket */

/* So many links fit into one carrier. */
int64_t carrier_room(void);

/* Starts so many processes on the caller's loop. FAIL_UNAVAILABLE: why not. One that says nothing
 * for CARRIER_PATIENCE_MS while the loop turns is ended; where *stop (kept, may be NULL) is set,
 * sooner. Nothing here ever waits longer for one. */
enum fail carriers_start(struct carriers **carriers, uv_loop_t *loop, int processes,
                         const volatile int *stop, struct failure *failure);
int64_t carriers_room(const struct carriers *carriers); /* links that fit into all of them */
/* Sockets of links that are not ours any more; of links, and those that a process has not yet said
 * to have closed. */
int64_t carriers_held(const struct carriers *carriers);
int64_t carriers_used(const struct carriers *carriers);
/* FAIL_UNAVAILABLE: one of them has ended, or did not answer, and all that it held has ended. */
enum fail carriers_check(const struct carriers *carriers, struct failure *failure);
/* Has one of them not answered yet what it was asked the last time? */
bool carriers_are_slow(const struct carriers *carriers);
/* They are asked so often from now on, where that is more often than they are. */
void carriers_ask_every(struct carriers *carriers, int64_t every_ms);
/* Has one of them been asked, and said nothing since? */
bool carriers_owe(const struct carriers *carriers);
/* Do they hold nothing any more, and have they said so? The loop has to turn for that. */
bool carriers_are_empty(const struct carriers *carriers);
/* They are empty: ends them, and waits for that. Returns what they have used of a
 * processor. Takes carriers (may be NULL), and the loop has to turn once more. */
int64_t carriers_stop(struct carriers *carriers);

/* --- for the proxy's side.c --- */

struct flow;

/* Takes a copy of the descriptor; callbacks get flow. NULL: there is no room, keep it. */
struct carried_side *carried_new(struct carriers *carriers, int fd, struct flow *flow);
/* As side_read_start() and side_read_stop(); bytes are borrowed until the callback returns. */
void carried_read_start(struct carried_side *carried,
                        void (*came)(struct flow *flow, const char *bytes, ssize_t length));
void carried_read_stop(struct carried_side *carried);
/* As uv_try_write(): all, or UV_EAGAIN. What cannot be written is said by the next one. */
ssize_t carried_send(struct carried_side *carried, const char *bytes, size_t length);
/* Is nothing of that under way any more? Else it is written when an empty write is. */
bool carried_is_sure(const struct carried_side *carried);
/* As uv_write(), one at a time; bytes are borrowed until this returns. */
void carried_write(struct carried_side *carried, uv_write_t *write, const uv_buf_t *bytes,
                   uv_write_cb wrote);
void carried_finish(struct carried_side *carried);                /* FIN */
void carried_close(struct carried_side *carried, bool has_reset); /* takes carried; what is being
                                                                written is cancelled */

#endif
