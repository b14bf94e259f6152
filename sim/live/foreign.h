/* foreign.h - somebody else's server, behind a URL: only keys under our own prefix are touched, and
 * they are taken away again. Private to servers.c. */
#ifndef PICKLOCK_LIVE_FOREIGN_H
#define PICKLOCK_LIVE_FOREIGN_H

#include "live/servers.h"

/* Before a run: it is there, takes writes, and has our mark. */
enum fail foreign_prepare(struct servers *servers, struct failure *failure);

/* Often enough that our mark does not expire; anew, where the connection was lost meanwhile. */
enum fail foreign_renew(struct servers *servers, struct failure *failure);

/* The connection was lost, as failure says: a new one, with our name, and our mark. Who is to end
 * asks no server again that did not answer. */
enum fail foreign_again(struct servers *servers, struct failure *failure);

/* What was not cleared the sweeper tries to, behind us, for some seconds: nobody waits for that.
 * Nor is a server asked again that did not answer. */
void foreign_close(struct servers *servers);

#endif
