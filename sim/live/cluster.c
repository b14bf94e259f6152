/* cluster.c - see cluster.h: formed, and whose a slot is; cluster_move.c has what becomes of it. A
 * slot has one owner in the opinion of each node, which tells it by
 * what it answers to a command about a key of the slot. */
#include "live/cluster_parts.h"

#include "base/monotonic.h"
#include "live/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SLOTS = 16384,
    WAIT_S = 30,
    LOOK_MS = 5,
    LOOK_PASSES_US = 20000, /* of the nodes' own time, until they have formed */
    SECOND_US = 1000000
};

/* --- waiting: nodes tell each other by themselves --- */

typedef enum fail look_at_cluster(struct servers *servers, const void *context, bool *is_so,
                                  struct failure *failure);

static void look_again(uv_timer_t *timer)
{
    (void)timer;
}

static void let_time_pass(struct servers *servers)
{
    for (int row = 0; row < CLUSTER_MASTERS; row++)
        if (node_of(servers, row)->clock)
            clock_advance(node_of(servers, row)->clock, LOOK_PASSES_US);
}

enum passing { TIME_STANDS, TIME_PASSES };

static enum fail wait_until(struct servers *servers, look_at_cluster *look, const void *context,
                            enum passing passing, const char *what, struct failure *failure)
{
    const int64_t limit_us = monotonic_us() + (int64_t)WAIT_S * SECOND_US;
    bool is_so = false;
    (void)uv_timer_start(servers->tick, look_again, LOOK_MS, LOOK_MS);
    enum fail fail = look(servers, context, &is_so, failure);
    while (!fail && !is_so) {
        (void)uv_run(servers->loop, UV_RUN_ONCE);
        servers_meanwhile(servers);
        if (passing == TIME_PASSES)
            let_time_pass(servers);
        fail = servers_check(servers, failure);
        if (!fail)
            fail = look(servers, context, &is_so, failure);
        if (!fail && !is_so && monotonic_us() > limit_us)
            fail = failure_set(failure, FAIL_UNKNOWN, "the cluster has not %s after %d s", what,
                               WAIT_S);
    }
    (void)uv_timer_stop(servers->tick);
    return fail;
}

/* --- formed --- */

static int64_t wall_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static enum fail start_node(struct servers *servers, int row, struct failure *failure)
{
    struct server *server = &servers->rows[row];
    char folder[PROCESS_PATH_MAX];
    replica_release(servers, server);
    servers_forget_saved(server);
    process_kill(&server->process);
    server->is_dead = false;
    if (spares_folder(servers, folder, failure))
        return FAIL_UNAVAILABLE;
    const struct process_options options = {.program = servers->program,
                                            .folder = folder,
                                            .shim = servers->steering != REAL_TIME ? servers->shim
                                                                                   : NULL,
                                            .is_clustered = true};
    return process_start(&server->process, &options, failure);
}

static enum fail note_id(struct servers *servers, int row, struct failure *failure)
{
    redisReply *id = control_ask(node_of(servers, row)->control, failure, "CLUSTER MYID");
    if (!id)
        return FAIL_UNAVAILABLE;
    (void)snprintf(servers->cluster.ids[row], sizeof servers->cluster.ids[row], "%s",
                   id->type == REDIS_REPLY_STRING ? id->str : "");
    freeReplyObject(id);
    return servers->cluster.ids[row][0]
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNAVAILABLE, "it tells no name of a node");
}

/* A third of all slots, and an epoch of its own, so that no two claims are of one age. share: which
 * third, from 0. */
static enum fail give_share(struct servers *servers, int row, int share, struct failure *failure)
{
    redisContext *control = node_of(servers, row)->control;
    const int first = share * SLOTS / CLUSTER_MASTERS;
    const int last = (share + 1) * SLOTS / CLUSTER_MASTERS - 1;
    if (note_id(servers, row, failure) ||
        control_do(control, failure, "CLUSTER ADDSLOTSRANGE %d %d", first, last) ||
        control_do(control, failure, "CLUSTER SET-CONFIG-EPOCH %d", row + 1))
        return of_node(row, failure);
    return FAIL_NONE;
}

static enum fail introduce(struct servers *servers, struct failure *failure)
{
    for (int row = 0; row < CLUSTER_MASTERS; row++)
        for (int later = row + 1; later < CLUSTER_MASTERS; later++)
            if (control_do(node_of(servers, row)->control, failure, "CLUSTER MEET 127.0.0.1 %d %d",
                           node_of(servers, later)->port, node_of(servers, later)->bus_port))
                return of_node(row, failure);
    return FAIL_NONE;
}

/* Each knows all three by their names, and no one else. */
static enum fail have_met(struct servers *servers, const void *context, bool *is_so,
                          struct failure *failure)
{
    (void)context;
    *is_so = true;
    for (int row = 0; row < CLUSTER_MASTERS && *is_so; row++) {
        redisReply *nodes = control_ask(node_of(servers, row)->control, failure, "CLUSTER NODES");
        if (!nodes)
            return of_node(row, failure);
        *is_so = nodes->type == REDIS_REPLY_STRING && !strstr(nodes->str, "handshake");
        for (int other = 0; other < CLUSTER_MASTERS && *is_so; other++)
            *is_so = strstr(nodes->str, servers->cluster.ids[other]) != NULL;
        freeReplyObject(nodes);
    }
    return FAIL_NONE;
}

/* Each knows all three, by the names that they have told us, and all slots, and serves. */
static enum fail have_formed(struct servers *servers, const void *context, bool *is_so,
                             struct failure *failure)
{
    (void)context;
    *is_so = true;
    for (int row = 0; row < CLUSTER_MASTERS && *is_so; row++) {
        char state[8] = "", known[8] = "", slots[8] = "";
        redisReply *info = control_ask(node_of(servers, row)->control, failure, "CLUSTER INFO");
        if (!info)
            return of_node(row, failure);
        if (info->type == REDIS_REPLY_STRING) {
            control_field(info->str, "cluster_state", state, sizeof state);
            control_field(info->str, "cluster_known_nodes", known, sizeof known);
            control_field(info->str, "cluster_slots_assigned", slots, sizeof slots);
        }
        freeReplyObject(info);
        *is_so = strcmp(state, "ok") == 0 && atoi(known) == CLUSTER_MASTERS && atoi(slots) == SLOTS;
    }
    return FAIL_NONE;
}

int64_t cluster_slot(struct servers *servers, int row, const char *key, struct failure *failure)
{
    return control_integer(node_of(servers, row)->control, failure, "CLUSTER KEYSLOT %s", key);
}

static enum fail introduce_all(struct servers *servers, const char *key, struct failure *failure)
{
    const int64_t slot = cluster_slot(servers, 0, key, failure);
    if (slot < 0)
        return of_node(0, failure);
    int share = 0;
    while ((share + 1) * SLOTS / CLUSTER_MASTERS <= slot)
        share++;
    for (int row = 0; row < CLUSTER_MASTERS; row++)
        if (give_share(servers, row, (share + row) % CLUSTER_MASTERS, failure))
            return FAIL_UNAVAILABLE;
    enum fail fail = introduce(servers, failure);
    if (!fail)
        fail = wait_until(servers, have_met, NULL, TIME_PASSES, "met", failure);
    /* Who is introduced learns the other's name by it, and its slots by the next word of it: that
     * would come at the pace of gossip. */
    if (!fail)
        fail = introduce(servers, failure);
    return fail ? fail : wait_until(servers, have_formed, NULL, TIME_PASSES, "formed", failure);
}

void cluster_stop_clocks(struct servers *servers)
{
    const int64_t now_us = wall_us();
    for (int row = 0; row < CLUSTER_MASTERS && servers->steering == BENT_TIME; row++)
        clock_freeze_at(node_of(servers, row)->clock, now_us);
}

void cluster_let_clocks_run(struct servers *servers)
{
    for (int row = 0; row < CLUSTER_MASTERS && servers->steering == BENT_TIME; row++)
        clock_let_run(node_of(servers, row)->clock);
}

static enum fail prove_clocks(struct servers *servers, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    if (servers->steering == BENT_TIME) {
        cluster_let_clocks_run(servers);
        return FAIL_NONE;
    }
    servers_set_clock(servers, 0);
    for (int row = 0; row < CLUSTER_MASTERS && !fail; row++)
        fail = servers_prove_clock(servers, row, failure);
    return fail;
}

enum fail cluster_prepare(struct servers *servers, const char *key, struct failure *failure)
{
    int owner;
    enum fail fail = FAIL_NONE;
    if (servers->is_foreign)
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "this run needs a Redis Cluster, and a server behind a URL is left as "
                           "it is; leave the URL out to use private servers");
    fail = servers_prepare(servers, CLUSTER_MASTERS, false, failure);
    for (int row = 0; row < CLUSTER_MASTERS && !fail; row++)
        if (start_node(servers, row, failure))
            fail = of_node(row, failure);
    servers->cluster.importer = -1;
    servers->cluster.moved = servers->cluster.asked = 0;
    if (!fail)
        cluster_stop_clocks(servers);
    if (!fail)
        fail = introduce_all(servers, key, failure);
    if (!fail)
        fail = prove_clocks(servers, failure);
    if (!fail)
        fail = cluster_owner(servers, key, &owner, failure);
    if (fail || owner == 0)
        return fail;
    return failure_set(failure, FAIL_UNKNOWN, "the slot of %s is server %d's", key, owner + 1);
}

/* --- whose a slot is --- */

static int row_at(const struct servers *servers, int port)
{
    int row = CLUSTER_MASTERS - 1;
    while (row >= 0 && servers->rows[row].process.port != port)
        row--;
    return row;
}

enum redirect_kind cluster_read_redirect(const struct servers *servers, const char *text, int *row)
{
    const bool is_moved = strncmp(text, "MOVED ", 6) == 0;
    const char *port = strrchr(text, ':');
    *row = -1;
    if (!is_moved && strncmp(text, "ASK ", 4) != 0)
        return REDIRECT_NONE;
    if (port)
        *row = row_at(servers, atoi(port + 1));
    return is_moved ? REDIRECT_MOVED : REDIRECT_ASK;
}

/* What the node itself says; -1: something else. It is asked about a key that nobody makes, so that
 * one whose slot moves away says ASK, and then it is the owner still. */
static enum fail opinion(struct servers *servers, int row, const char *key, int *owner,
                         struct failure *failure)
{
    redisContext *control = node_of(servers, row)->control;
    *owner = -1;
    control_append(control, "EXISTS %s", key);
    redisReply *reply = control_reply(control, "EXISTS", failure);
    if (!reply)
        return of_node(row, failure);
    if (reply->type == REDIS_REPLY_INTEGER)
        *owner = row;
    else if (reply->type == REDIS_REPLY_ERROR &&
             cluster_read_redirect(servers, reply->str, owner) == REDIRECT_ASK)
        *owner = row;
    freeReplyObject(reply);
    return FAIL_NONE;
}

/* -1: they do not agree, or not yet. */
static enum fail agreed(struct servers *servers, const char *key, int *owner,
                        struct failure *failure)
{
    *owner = -1;
    for (int row = 0; row < CLUSTER_MASTERS; row++) {
        int said;
        if (servers->rows[row].is_dead)
            continue;
        if (opinion(servers, row, key, &said, failure))
            return FAIL_UNAVAILABLE;
        if (said < 0 || (*owner >= 0 && said != *owner)) {
            *owner = -1;
            return FAIL_NONE;
        }
        *owner = said;
    }
    return FAIL_NONE;
}

enum fail cluster_owner(struct servers *servers, const char *key, int *row, struct failure *failure)
{
    enum fail fail = agreed(servers, key, row, failure);
    if (fail || *row >= 0)
        return fail;
    return failure_set(failure, FAIL_UNKNOWN, "the nodes do not agree whose the slot of %s is",
                       key);
}

redisReply *cluster_get(struct servers *servers, const char *key, struct failure *failure)
{
    int row;
    if (cluster_owner(servers, key, &row, failure))
        return NULL;
    for (int asked = 0; asked < 2; asked++) {
        redisContext *control = node_of(servers, row)->control;
        control_append(control, "GET %s", key);
        redisReply *reply = control_reply(control, "GET", failure);
        if (!reply) {
            (void)of_node(row, failure);
            return NULL;
        }
        if (reply->type == REDIS_REPLY_ERROR &&
            (cluster_read_redirect(servers, reply->str, &row) != REDIRECT_ASK || row < 0)) {
            freeReplyObject(reply);
            break;
        }
        if (reply->type != REDIS_REPLY_ERROR)
            return reply;
        freeReplyObject(reply);
        if (control_do(node_of(servers, row)->control, failure, "ASKING"))
            return NULL;
    }
    (void)failure_set(failure, FAIL_UNAVAILABLE, "the masters do not say what %s holds", key);
    return NULL;
}

struct ownership {
    const char *key;
    int row;
};

static enum fail all_name(struct servers *servers, const void *context, bool *is_so,
                          struct failure *failure)
{
    const struct ownership *wanted = context;
    int owner;
    enum fail fail = agreed(servers, wanted->key, &owner, failure);
    *is_so = owner == wanted->row;
    return fail;
}

enum fail cluster_wait_for_owner(struct servers *servers, const char *key, int row,
                                 struct failure *failure)
{
    const struct ownership wanted = {key, row};
    return wait_until(servers, all_name, &wanted, TIME_STANDS, "agreed about the slot", failure);
}
