/* local_sockets.h - may a worker connect to that socket of this machine (AF_UNIX)? For whoever
 * answers its calls: the library in it (shim/), or the supervisor beside it (calls/).
 *
 * What the system itself offers there (names of hosts and users, the log) is no lock's. All else is
 * past the proxy, unless who listens is of the worker's own session: its own processes. That is
 * known once it is connected, before anything is sent. Source: unix(7), SO_PEERCRED. */
#ifndef PICKLOCK_WORKER_LOCAL_SOCKETS_H
#define PICKLOCK_WORKER_LOCAL_SOCKETS_H

#include "worker/time_page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static inline bool local_is_one(const struct sockaddr *address, socklen_t length)
{
    return length > offsetof(struct sockaddr_un, sun_path) && address->sa_family == AF_UNIX;
}

/* Its name as unix(7) writes it: an abstract one begins with "@". */
static inline void local_print(char text[TIME_WORDS_MAX], const struct sockaddr *address,
                               socklen_t length)
{
    const struct sockaddr_un *local = (const void *)address;
    const size_t most = length - offsetof(struct sockaddr_un, sun_path);
    const bool is_abstract = !local->sun_path[0];
    (void)snprintf(text, TIME_WORDS_MAX, "the socket %s%.*s", is_abstract ? "@" : "",
                   (int)(most - is_abstract), local->sun_path + is_abstract);
}

static inline bool local_is_of_system(const struct sockaddr *address, socklen_t length)
{
    static const char *const begins[] = {"/dev/log",           "/run/nscd/",
                                         "/var/run/nscd/",     "/run/systemd/",
                                         "/run/dbus/",         "/var/run/dbus/",
                                         "/var/run/systemd/",  "/var/lib/sss/pipes/",
                                         "/run/avahi-daemon/", "/var/run/avahi-daemon/"};
    const struct sockaddr_un *local = (const void *)address;
    const size_t most = length - offsetof(struct sockaddr_un, sun_path);
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (most >= strlen(begins[i]) && !memcmp(local->sun_path, begins[i], strlen(begins[i])))
            return true;
    return false;
}

/* Who listens at the other end of it is of that process's session. */
static inline bool local_is_of_session(int descriptor, pid_t pid)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 0 &&
           getsid(peer.pid) == getsid(pid);
}

#endif
