/* directed.h - the backend of directed runs on real servers; what its files share. Private to this
 * folder.
 *
 * Here a message is an exchange that stands in the proxy, and what a server answers is what
 * redis-server answered. The rules are the core's (world/core.h): nothing here says what a choice
 * means. Never hides that reality did something else: that is a failure with what was awaited. */
#ifndef PICKLOCK_LIVE_DIRECTED_H
#define PICKLOCK_LIVE_DIRECTED_H

#include "live/cluster.h"
#include "live/internal.h"
#include "world/core.h"

struct directed {
    struct backend backend; /* first */
    struct live *live;
    const struct run *run;
    int64_t began_us;  /* monotonic_us() at world time 0, where time is real */
    int64_t choice_us; /* world time of the choice under way */
    char prefix[KEY_PREFIX_MAX];
    /* Of each connection of the core's, one to each master of a cluster, as clients have them; else
     * the first alone. NULL: no such one. */
    struct connection *connections[ACTORS_MAX][CONNECTIONS_MAX][CLUSTER_MASTERS];
    int believes[ACTORS_MAX]; /* which master each client takes for the owner of the slot */
    bool is_watching[ACTORS_MAX][CONNECTIONS_MAX]; /* in a cluster: nothing is followed then */
    struct exchange *exchanges[ACTORS_MAX][MESSAGES_MAX]; /* by message.number; NULL: not under way
                                                           */
    int broken_server; /* 1 + the server of a connection that ended by itself; 0: none */
};

static inline bool directed_is_real_time(const struct directed *directed)
{
    return live_is_real_time(directed->live);
}

/* --- directed_settle.c --- */
enum awaited { AWAITED_NOTHING, AWAITED_EXECUTION, AWAITED_DELIVERY };
/* Runs the loop until every request that was sent stands at the proxy, every connection that was
 * cut is gone, and the exchange (may be NULL) has come as far as awaited. FAIL_UNKNOWN: what did
 * not come. */
enum fail directed_settle(struct directed *directed, const struct exchange *exchange,
                          enum awaited awaited, struct failure *failure);
/* The time-out of a WAIT is over at once, where no clock moves on its own. Runs the loop until it
 * is answered, or as long as directed_settle() would, which tells. */
enum fail directed_end_wait(struct directed *directed, const struct exchange *exchange,
                            struct failure *failure);
/* A server closed a connection, or died: FAIL_UNAVAILABLE. */
enum fail directed_say_broken(struct directed *directed, struct failure *failure);

/* Ops of world/backend.h. */
int64_t directed_now_us(const struct backend *backend, int64_t now_us);
enum fail directed_pass_time(struct backend *backend, int64_t amount_us, struct failure *failure);

/* --- directed_cluster.c --- */
/* The connection that the client sends it on now, made where there is none. */
enum fail directed_connect(struct directed *directed, const struct message *message,
                           struct connection **connection, struct failure *failure);
/* The message's exchange is answered: while it is sent on to another master, the client hears that,
 * and sends it there, through that one's proxy. Transactions and what is watched are not sent on:
 * the error is their answer. FAIL_UNKNOWN: it was sent on for FOLLOWS_MAX times, or to nobody of
 * ours. */
enum fail directed_follow(struct directed *directed, const struct message *message,
                          struct exchange **exchange, struct failure *failure);
/* Op of world/backend.h. */
enum fail directed_slot(struct backend *backend, enum choice_kind kind, int server,
                        struct failure *failure);

/* --- directed_servers.c: ops of world/backend.h --- */
enum fail directed_can(const struct backend *backend, enum choice_kind kind,
                       struct failure *failure);
enum fail directed_jump_clock(struct backend *backend, int server, int64_t amount_us,
                              struct failure *failure);
enum fail directed_restart_empty(struct backend *backend, int server, struct failure *failure);
enum fail directed_restart_with_keys(struct backend *backend, int server, struct failure *failure);
enum fail directed_save_keys(struct backend *backend, int server, struct failure *failure);
enum fail directed_restart_with_saved(struct backend *backend, int server, struct failure *failure);
enum fail directed_flush_keys(struct backend *backend, int server, struct failure *failure);
enum fail directed_kill_clients(struct backend *backend, int server, int connections,
                                struct failure *failure);
enum fail directed_cut_replica(struct backend *backend, int server, struct failure *failure);
enum fail directed_fail_over(struct backend *backend, int server, enum promoter promoter,
                             bool is_cut, struct failure *failure);
enum fail directed_evict(struct backend *backend, int server, struct failure *failure);
enum fail directed_flush_scripts(struct backend *backend, int server, struct failure *failure);
enum fail directed_stop(struct backend *backend, int server, struct failure *failure);
enum fail directed_set_reach(struct backend *backend, int server, enum server_reach reach,
                             struct failure *failure);
enum fail directed_fail_to_connect(struct backend *backend, int client, int server,
                                   struct failure *failure);

#endif
