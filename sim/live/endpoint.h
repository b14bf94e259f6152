/* endpoint.h - what connection.c, adapter.c and endpoint.c share: the two halves of a connection.
 */
#ifndef PICKLOCK_LIVE_ENDPOINT_H
#define PICKLOCK_LIVE_ENDPOINT_H

#include "live/connection.h"

/* Puts it on that list, unless it is there; takes it off all lists. */
void connection_is_due(struct connection *connection, enum due due);
void connection_forget_due(struct connection *connection);

/* It has something to write, which goes before the loop waits. */
void connection_wants_to_write(struct connection *connection);

/* hiredis reads and writes on the loop from here on. Below 0: an error of libuv's. */
int connection_poll(struct connection *connection);
/* Does the loop look for replies? In the beginning it does. */
void connection_watch(struct connection *connection, bool is_watched);

/* Frees the connection when nobody holds it any more. */
void connection_let_go(struct connection *connection);

/* Tells the owner, once, that the connection ended by itself. */
void connection_broke(struct connection *connection);

/* Writes what connections have to write: before the loop waits. */
void endpoint_write(struct endpoint *endpoint);

/* --- client_end.c: the client's end of a direct one --- */
/* So it is from here on, until a greeting does: hiredis has nothing to do with what goes over it.
 */
bool connection_is_bare(struct connection *connection);
/* Writes what is in connection->out, or as much as can be now. */
void bare_flush(struct connection *connection);
/* Hears what has come; the connection may have ended then. */
void bare_hear(struct connection *connection);

/* One whole reply (borrowed). The caller frees it; NULL: it is none. */
redisReply *endpoint_parse(struct endpoint *endpoint, const char *bytes, size_t length);
/* On a direct connection: its requests, of so many bytes, go to the server now. */
void exchange_goes_directly(struct exchange *exchange, size_t length);
/* There: the server has answered one of them. Takes reply. */
void exchange_answered(struct exchange *exchange, redisReply *reply);

/* Frees the connection's first calls that are over, and that nobody waits for. */
void exchanges_leave(struct connection *connection);

#endif
