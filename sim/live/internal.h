/* internal.h - what the files of the real world share: the loop, the servers, the proxies before
 * them. */
#ifndef PICKLOCK_LIVE_INTERNAL_H
#define PICKLOCK_LIVE_INTERNAL_H

#include "live/live.h"
#include "live/servers.h"
#include "live/connection.h"
#include "live/wakeup.h"

struct live {
    uv_loop_t loop;
    uv_timer_t tick;
    struct wakeup wakeup; /* of stress runs */
    struct servers servers;
    struct endpoint endpoints[SERVERS_MAX];
    int endpoints_count;
    int looked_at;               /* servers whose clocks were, when the run began */
    char prefix[KEY_PREFIX_MAX]; /* of all our keys: "picklock:<hex>:" */
    const volatile int *stop;    /* as in live_options */
    bool is_busy;                /* a world or a stress run stands on it */
};

/* Servers as asked for, empty, and a proxy before each that points at it. Marks live busy. Locks
 * are numbered 0 .. locks-1 (at most LOCKS_MAX). */
enum fail live_prepare(struct live *live, int servers, bool has_replica, int locks,
                       const struct connection_events *events, struct failure *failure);

/* The same for the masters of a Redis Cluster, the first of which has the slot of key. */
enum fail live_prepare_cluster(struct live *live, const char *key, int locks,
                               const struct connection_events *events, struct failure *failure);

/* After a run: all connections must be cut. Waits for their end, and deletes our keys from a server
 * that is not ours. */
enum fail live_finish(struct live *live, struct failure *failure);

/* All connections are cut: runs the loop until they have ended on both sides. */
void live_wait_for_connections(struct live *live);

/* The prefix of a lock's keys: prefix of at least KEY_PREFIX_MAX bytes. */
void live_lock_prefix(const struct live *live, int lock, char *prefix);
/* The same in a cluster, where all keys of a lock have one slot: what stands between braces
 * decides. */
void live_cluster_prefix(const struct live *live, int lock, char *prefix);

/* After a server was replaced: new connections go to the new one. */
void live_follow_server(struct live *live, int server);

/* Does the way of clients to that server lead through our proxy, and to the server that our own
 * connection ends at? Of a process of ours that is asked once for each that takes the row.
 * FAIL_UNAVAILABLE: what is so instead. Its connection is cut, and may not have ended yet. */
enum fail live_prove_path(struct live *live, int server, struct failure *failure);

/* Who connects to that server from here on gets ECONNREFUSED, and one connection proves it, until
 * live_accept() or the end of the run. Connections that there are stay. FAIL_UNKNOWN: it was not
 * refused. */
enum fail live_refuse(struct live *live, int server, struct failure *failure);
enum fail live_accept(struct live *live, int server, struct failure *failure);

/* A connection to that server, as a client makes it, is refused. FAIL_UNKNOWN: what it was instead.
 */
enum fail live_prove_refusal(const struct live *live, int server, struct failure *failure);

/* Runs the loop until is_done(context) says so. FAIL_UNAVAILABLE when a server died, FAIL_UNKNOWN
 * after limit_us without it: what was awaited is the caller's to say. */
enum fail live_run_until(struct live *live, bool (*is_done)(void *context), void *context,
                         int64_t limit_us, struct failure *failure);

/* A connection broke: was it because a server has died? Then the failure's text says so. Looks for
 * a moment: the death of a process shows a little later than that of its connections. */
bool live_server_died(struct live *live, struct failure *failure);

#endif
