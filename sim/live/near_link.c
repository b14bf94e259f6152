/* near_link.c - see near_link.h. */
#include "live/near_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ONE_AT_A_TIME = 1 };

enum fail near_link_open(struct near_link *link, const char *folder, struct failure *failure)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int length = snprintf(link->path, sizeof link->path, "%s/near", folder);
    link->listener = -1;
    if (length < 0 || (size_t)length >= sizeof link->path)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s: the path is too long for a unix socket: choose a shorter TMPDIR",
                           folder);
    (void)unlink(link->path); /* of a run before */
    memcpy(address.sun_path, link->path, sizeof address.sun_path);
    link->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->listener >= 0 &&
        bind(link->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(link->listener, ONE_AT_A_TIME) == 0)
        return FAIL_NONE;
    (void)failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", link->path, strerror(errno));
    near_link_shut(link);
    return failure->code;
}

void near_link_shut(struct near_link *link)
{
    if (link->listener < 0)
        return;
    (void)close(link->listener);
    (void)unlink(link->path);
    link->listener = -1;
}

redisAsyncContext *near_link_connect(const struct near_link *link, int *other_end)
{
    redisAsyncContext *async = redisAsyncConnectUnix(link->path);
    *other_end = -1;
    if (!async || async->err)
        return async;
    *other_end = accept4(link->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (*other_end >= 0)
        return async;
    async->err = REDIS_ERR_IO;
    async->errstr = strerror(errno);
    return async;
}
