/* load_strikes.c - what strikes the servers of a stress run does to them, and how it is told; a row
 * each (server_strikes.def). Nothing is with the server then, and nothing goes to it before it is
 * done. See stress.h. */
#include "live/stress.h"

#include "base/memory.h"

#include <stdlib.h>

static struct servers *servers_of(const struct queue *queue)
{
    return &queue->stress->live->servers;
}

static void tell(const struct queue *queue, enum fault fault, int64_t amount_us)
{
    outage_tell(queue->stress, queue->server, queue->lock, fault, amount_us);
}

/* The masters of a cluster are one server to clients: the event names that which gets the slot. */
static void tell_of_master(const struct queue *queue, enum fault fault, int master)
{
    outage_tell(queue->stress, master, queue->lock, fault, 0);
}

/* --- what each does, and is told as; FAIL_UNKNOWN: it has not struck --- */

typedef enum fail do_to_server(struct servers *servers, int server, struct failure *failure);

static enum fail does(struct queue *queue, do_to_server *act, enum fault fault,
                      struct failure *failure)
{
    if (act(servers_of(queue), queue->server, failure))
        return failure->code;
    tell(queue, fault, 0);
    return FAIL_NONE;
}

/* Another process takes the server's place: clients go there, and its reads are followed. */
static enum fail replaces(struct queue *queue, do_to_server *act, enum fault fault,
                          struct failure *failure)
{
    struct stress *stress = queue->stress;
    queue->is_going = true;
    load_order_leave(stress, queue->server);
    if (act(servers_of(queue), queue->server, failure))
        return failure->code;
    live_follow_server(stress->live, queue->server);
    stress->live->endpoints[queue->server].proved_pid = 0;
    if (load_order_take(stress, queue->server, failure))
        return failure->code;
    tell(queue, fault, 0);
    return FAIL_NONE;
}

static enum fail falls_silent(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    (void)failure;
    tell(queue, FAULT_SILENT_SERVER, 0);
    return FAIL_NONE;
}

static enum fail refuses(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    queue->has_refused = true;
    tell(queue, FAULT_REFUSING_SERVER, 0);
    return live_refuse(queue->stress->live, queue->server, failure);
}

static enum fail flushes(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    return does(queue, servers_flush_keys, FAULT_FLUSH_ALL, failure);
}

/* Told only when the server says that it has ended some; of those that nobody uses any more it may
 * have ended others. */
static enum fail kills_clients(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    if (servers_kill_clients(servers_of(queue), queue->server, 1, failure))
        return failure->code;
    tell(queue, FAULT_CLIENT_KILL, 0);
    return FAIL_NONE;
}

static enum fail holds_writes(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    return does(queue, servers_hold_writes, FAULT_CLIENT_PAUSE, failure);
}

static enum fail stops(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    return does(queue, servers_stop, FAULT_STOPPED_SERVER, failure);
}

static enum fail restarts_empty(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    return replaces(queue, servers_restart, FAULT_RESTART, failure);
}

static enum fail restarts_with_keys(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    return replaces(queue, servers_restart_with_keys, FAULT_RESTART_AOF, failure);
}

static enum fail saves(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    return does(queue, servers_save_keys, FAULT_SAVE, failure);
}

static enum fail restarts_with_saved(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    return replaces(queue, servers_restart_with_saved, FAULT_RESTART_OLD, failure);
}

static enum fail cuts_replica(struct queue *queue, bool *is_struck, struct failure *failure)
{
    struct servers *servers = servers_of(queue);
    (void)is_struck;
    if (replica_acknowledge(servers, queue->server, failure) ||
        servers_cut_replica(servers, queue->server, failure) ||
        servers_outrun_replica(servers, queue->server, failure))
        return failure->code;
    tell(queue, FAULT_CUT_REPLICA, 0);
    return FAIL_NONE;
}

static enum fail fails_over(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    return replaces(queue, servers_failover, FAULT_FAILOVER, failure);
}

/* In step: a sentinel promotes no replica that it does not see in good health. */
static enum fail fails_over_by_sentinel(struct queue *queue, bool *is_struck,
                                        struct failure *failure)
{
    (void)is_struck;
    return replaces(queue, servers_failover_by_sentinel, FAULT_SENTINEL, failure);
}

static enum fail flushes_scripts(struct queue *queue, bool *is_struck, struct failure *failure)
{
    (void)is_struck;
    return does(queue, servers_flush_scripts, FAULT_FLUSH_SCRIPTS, failure);
}

/* Ahead by a lease, or up to two. */
static enum fail steps_clock(struct queue *queue, bool *is_struck, struct failure *failure)
{
    const int64_t lease_us = queue->stress->options->lease_us;
    const int64_t amount_us = lease_us + queue->due_us * 7919 % (lease_us + 1);
    (void)is_struck;
    if (servers_step_clock(servers_of(queue), queue->server, amount_us, failure))
        return failure->code;
    tell(queue, FAULT_SERVER_CLOCK, amount_us);
    return FAIL_NONE;
}

/* Which locks have a key there? Bit a lock, in bytes that the caller frees; NULL: it was not told.
 */
static char *locked(const struct queue *queue, struct failure *failure)
{
    const struct stress *stress = queue->stress;
    redisContext *control = servers_control(servers_of(queue), queue->server);
    char *are = memory_new((size_t)stress->options->locks, 1);
    for (int i = 0; i < stress->options->locks; i++) {
        const int64_t exists = control_integer(control, failure, "EXISTS %s%s", stress->prefixes[i],
                                               key_name(KEY_LOCK));
        if (exists == INT64_MIN) {
            free(are);
            return NULL;
        }
        are[i] = exists == 1;
    }
    return are;
}

/* Keys of locks alone have an expiry, so no others go. One whose lease ends just then is told of as
 * evicted: it is gone either way. */
static enum fail evicts(struct queue *queue, bool *is_struck, struct failure *failure)
{
    int64_t evicted = 0;
    char *before = locked(queue, failure), *after = NULL;
    enum fail fail = before ? servers_press(servers_of(queue), queue->server, &evicted, failure)
                            : FAIL_UNAVAILABLE;
    if (!fail && !(after = locked(queue, failure)))
        fail = FAIL_UNAVAILABLE;
    *is_struck = !fail && evicted > 0;
    for (int i = 0; *is_struck && i < queue->stress->options->locks; i++)
        if (before[i] && !after[i])
            outage_tell(queue->stress, queue->server, i, FAULT_EVICT, 0);
    free(before);
    free(after);
    return fail;
}

/* --- the slot of a lock moves, in three parts: begun, its keys sent, and whose it is --- */

static enum fail begins_move(struct queue *queue, bool *is_struck, struct failure *failure)
{
    char key[LOCK_KEY_MAX];
    int owner;
    (void)is_struck;
    load_cluster_key(queue->stress, queue->lock, key);
    if (cluster_owner(servers_of(queue), key, &owner, failure))
        return failure->code;
    const int to = (owner + 1 + (int)(queue->due_us % 2)) % CLUSTER_MASTERS;
    if (cluster_begin_move(servers_of(queue), key, to, failure))
        return failure->code;
    tell_of_master(queue, FAULT_SLOT_BEGIN, to);
    return FAIL_NONE;
}

/* There may be none: they came to be at the other master meanwhile. */
static enum fail moves_keys(struct queue *queue, bool *is_struck, struct failure *failure)
{
    const int to = servers_of(queue)->cluster.importer;
    char key[LOCK_KEY_MAX];
    int64_t moved;
    (void)is_struck;
    load_cluster_key(queue->stress, queue->lock, key);
    if (cluster_move_keys(servers_of(queue), key, to, &moved, failure))
        return failure->code;
    tell_of_master(queue, FAULT_SLOT_KEYS, to);
    return FAIL_NONE;
}

static enum fail ends_move(struct queue *queue, bool *is_struck, struct failure *failure)
{
    const int to = servers_of(queue)->cluster.importer;
    char key[LOCK_KEY_MAX];
    (void)is_struck;
    load_cluster_key(queue->stress, queue->lock, key);
    if (cluster_end_move(servers_of(queue), key, to, NONE_LEFT_BEHIND, failure))
        return failure->code;
    tell_of_master(queue, FAULT_SLOT_END, to);
    return FAIL_NONE;
}

/* --- the table --- */

typedef enum fail strike_server(struct queue *queue, bool *is_struck, struct failure *failure);

enum { PARTS_MAX = 3 };

static const struct {
    strike_server *parts[PARTS_MAX]; /* one after the other, some time apart */
    enum server_reach reach;         /* open: nothing goes on */
} rows[SERVER_STRIKE_COUNT] = {
    [SERVER_STRIKE_SILENCE] = {{falls_silent}, REACH_SILENT},
    [SERVER_STRIKE_REFUSAL] = {{refuses}, REACH_REFUSED},
    [SERVER_STRIKE_FLUSH_ALL] = {{flushes}, REACH_OPEN},
    [SERVER_STRIKE_CLIENT_KILL] = {{kills_clients}, REACH_OPEN},
    [SERVER_STRIKE_CLIENT_PAUSE] = {{holds_writes}, REACH_READ_ONLY},
    [SERVER_STRIKE_STOPPED] = {{stops}, REACH_SILENT},
    [SERVER_STRIKE_RESTART] = {{restarts_empty}, REACH_OPEN},
    [SERVER_STRIKE_RESTART_AOF] = {{restarts_with_keys}, REACH_OPEN},
    [SERVER_STRIKE_RESTART_OLD] = {{saves, restarts_with_saved}, REACH_OPEN},
    [SERVER_STRIKE_FAILOVER] = {{cuts_replica, fails_over}, REACH_OPEN},
    [SERVER_STRIKE_EVICT] = {{evicts}, REACH_OPEN},
    [SERVER_STRIKE_FLUSH_SCRIPTS] = {{flushes_scripts}, REACH_OPEN},
    [SERVER_STRIKE_SERVER_CLOCK] = {{steps_clock}, REACH_OPEN},
    [SERVER_STRIKE_SENTINEL] = {{fails_over_by_sentinel}, REACH_OPEN},
    [SERVER_STRIKE_SLOT_MOVE] = {{begins_move, moves_keys, ends_move}, REACH_OPEN},
};

bool load_strike_is_last(const struct queue *queue, enum server_strike strike)
{
    const int next = queue->parts + 1;
    return next == PARTS_MAX || !rows[strike].parts[next];
}

/* A slot is not left between two masters. */
bool load_strike_must_end(enum server_strike strike)
{
    return fault_effect(choice_fault(server_strike_rows[strike].choice)) == FAULT_MOVES_SLOT;
}

enum server_reach load_strike_reach(enum server_strike strike)
{
    return rows[strike].reach;
}

enum fail load_strike(struct queue *queue, enum server_strike strike, bool *is_struck,
                      struct failure *failure)
{
    return rows[strike].parts[queue->parts](queue, is_struck, failure);
}

/* The next failover finds a replica in step. */
enum fail load_strike_end(struct queue *queue, enum server_strike strike, struct failure *failure)
{
    struct stress *stress = queue->stress;
    const enum fault fault = choice_fault(server_strike_rows[strike].choice);
    const bool is_replaced = fault_breaks(fault) == FAULT_BREAKS_ALL && fault_ends_outage(fault);
    if (!is_replaced)
        return FAIL_NONE;
    if (!stress->options->is_direct && live_prove_path(stress->live, queue->server, failure))
        return failure->code;
    if (fault_needs_replica(fault) &&
        servers_follow_promoted(servers_of(queue), queue->server, failure))
        return failure->code;
    spares_refill(servers_of(queue));
    return FAIL_NONE;
}
