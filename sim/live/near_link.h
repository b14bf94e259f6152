/* near_link.h - connections of clients to the proxy of their own process by unix sockets, which
 * cost less than TCP. hiredis connects to a path; both ends are had at once, so it is known whose
 * the other one is. */
#ifndef PICKLOCK_LIVE_NEAR_LINK_H
#define PICKLOCK_LIVE_NEAR_LINK_H

#include "base/fail.h"

#include <hiredis/async.h>
#include <sys/un.h>

struct near_link {
    int listener; /* -1: closed */
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
};

/* Listens in that folder, at one path a process. FAIL_UNAVAILABLE: why it cannot. */
enum fail near_link_open(struct near_link *link, const char *folder, struct failure *failure);
void near_link_shut(struct near_link *link);

/* Connects: the client's end (as redisAsyncConnectUnix()), and the other one, which the caller
 * closes; -1: there is none, and the client's end says why or is NULL. */
redisAsyncContext *near_link_connect(const struct near_link *link, int *other_end);

#endif
