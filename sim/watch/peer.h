/* peer.h - which process of this machine is at the other end of a connection to us.
 *
 * Pools do not reach across processes: that another process sent something is worth knowing. */
#ifndef PICKLOCK_WATCH_PEER_H
#define PICKLOCK_WATCH_PEER_H

#include "base/limits.h"

#include <stdbool.h>

enum { ANCESTORS_MAX = 16 };

struct peer_process {
    int pid;                      /* 0: not known */
    int ancestors[ANCESTORS_MAX]; /* its parent first, up to picklock's own process or the first */
    bool has_ancestors;           /* they are all known */
    char label[NAME_MAX_BYTES];   /* "python3[1234]", or "" */
};

/* Those that were found last: most connections are theirs. */
struct peers {
    int pids[8];
    int next;
    int misses;
};

/* That process is likely to connect. */
void peers_know(struct peers *peers, int pid);

/* Of the connection over loopback from peer_port to our own_port. Looks through /proc, where it is
 * none of peers' (which remember it): some milliseconds. */
void peer_find(struct peers *peers, int peer_port, int own_port, struct peer_process *peer);

/* Has that process the other end of such a connection, for all that is seen? Whoever was forked has
 * what its parent had. */
bool peer_has(int peer_port, int own_port, int pid);

/* May one descend from the other, for all that is known? What one holds it may have handed over. */
bool peer_may_be_kin(const struct peer_process *one, const struct peer_process *other);

#endif
