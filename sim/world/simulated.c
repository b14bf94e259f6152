/* simulated.c - the simulated backend: servers are models, and what travels is what the core knows
 * of it. See simulated.h.
 *
 * Never: I/O, a clock, malloc after the start. */
#include "world/simulated.h"

#include "base/memory.h"
#include "redis/model.h"
#include "world/core.h"
#include "world/scheme_clients.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct simulated_server {
    struct model model;
    struct model replica; /* what the replica had when it was cut off */
    struct model saved;   /* what the server saved last */
    int64_t skew_us;      /* its clock - world clock */
};

/* A Redis Cluster: one model has the keys of all; which node has them is told here. */
struct simulated_cluster {
    int owner, importer; /* of the lock's slot, and whom it moves to; -1: nobody */
    int dead;            /* a node; -1: none */
    uint32_t moved;      /* bit per key: the importer has it, if anybody */
    bool knows_script[MASTERS];
    int believes[ACTORS_MAX]; /* whose the slot is */
};

struct simulated {
    struct backend backend; /* first */
    int64_t now_us;         /* of the choice under way */
    const struct run *run;  /* borrowed */
    struct simulated_server servers[SERVERS_MAX];
    struct simulated_cluster cluster;
    struct model_watch watches[ACTORS_MAX][CONNECTIONS_MAX];
};

static int64_t server_us(const struct simulated *simulated, int server)
{
    return STEERED_EPOCH_US + simulated->now_us + simulated->servers[server].skew_us;
}

static struct model *model_of(struct backend *backend, int server)
{
    return &((struct simulated *)backend)->servers[server].model;
}

/* --- a cluster --- */

static bool has_key(struct simulated *simulated, enum key key)
{
    return model_ttl(&simulated->servers[0].model, key, server_us(simulated, 0)) != -2;
}

/* Does the owner have it, while the slot moves? */
static bool is_at_owner(struct simulated *simulated, enum key key)
{
    return has_key(simulated, key) && !(simulated->cluster.moved & 1u << key);
}

/* A key that nobody has comes to be at the importer. */
static int node_of_key(struct simulated *simulated, enum key key)
{
    struct simulated_cluster *cluster = &simulated->cluster;
    if (cluster->importer < 0 || is_at_owner(simulated, key))
        return cluster->owner;
    cluster->moved |= 1u << key;
    return cluster->importer;
}

/* Two keys must be at one node, and there at both, while the slot moves; -1: TRYAGAIN. */
static int node_of_two(struct simulated *simulated, enum key first, enum key second)
{
    const struct simulated_cluster *cluster = &simulated->cluster;
    const int here = is_at_owner(simulated, first) + is_at_owner(simulated, second);
    const bool are_there = has_key(simulated, first) && has_key(simulated, second);
    if (cluster->importer < 0 || here == 2)
        return cluster->owner;
    return here == 0 && are_there ? cluster->importer : -1;
}

/* Which node answers the client in the end, wherever it asks first. */
static int node_for(struct simulated *simulated, const struct message *message)
{
    struct simulated_cluster *cluster = &simulated->cluster;
    const enum verb verb = message->command.verb;
    if (verb == VERB_SCRIPT_LOAD) /* no key: nobody sends it on */
        return cluster->believes[message->client];
    cluster->believes[message->client] = cluster->owner;
    return verb == VERB_SET_MINT ? node_of_two(simulated, message->command.key, KEY_FENCE)
                                 : node_of_key(simulated, message->command.key);
}

static enum fail execute_in_cluster(struct simulated *simulated, const struct message *message,
                                    struct server_answer *answer, struct failure *failure)
{
    struct simulated_cluster *cluster = &simulated->cluster;
    struct model *model = &simulated->servers[0].model;
    const enum verb verb = message->command.verb;
    if (verb_requests(verb) > 1 || verb == VERB_WATCH || verb == VERB_UNWATCH)
        return failure_set(failure, FAIL_UNKNOWN,
                           "a transaction in a cluster is played on real servers only");
    const int node = node_for(simulated, message);
    answer->reply = (struct reply){.kind = REPLY_ERROR, .error = ERROR_OTHER};
    if (node < 0)
        return FAIL_NONE;
    model->knows_script = cluster->knows_script[node];
    answer->reply = model_execute(model, &simulated->watches[message->client][message->connection],
                                  &message->command, server_us(simulated, 0));
    cluster->knows_script[node] = model->knows_script;
    return FAIL_NONE;
}

static int keys_at_owner(struct simulated *simulated)
{
    int count = 0;
    for (enum key key = 0; key < KEY_COUNT; key++)
        count += is_at_owner(simulated, key);
    return count;
}

static int keys_in_all(struct simulated *simulated)
{
    int count = 0;
    for (enum key key = 0; key < KEY_COUNT; key++)
        count += has_key(simulated, key);
    return count;
}

/* Whoever believed in the dead one asks another node, which sends it on. */
static void bury_owner(struct simulated_cluster *cluster, int next)
{
    cluster->dead = cluster->owner;
    for (int client = 0; client < ACTORS_MAX; client++)
        if (cluster->believes[client] == cluster->dead)
            cluster->believes[client] = MASTERS - cluster->dead - next;
}

static const char *slot_objects(struct simulated *simulated, enum choice_kind kind, int server)
{
    const struct simulated_cluster *cluster = &simulated->cluster;
    const int here = keys_at_owner(simulated), all = keys_in_all(simulated);
    if (server == cluster->owner || server == cluster->dead)
        return "it owns the slot already, or is dead";
    if (kind == CHOICE_SLOT_BEGIN || kind == CHOICE_SLOT_TAKEN)
        return cluster->importer >= 0 ? "the slot moves already" : NULL;
    if (cluster->importer != server)
        return "the slot has not begun to move there";
    if (kind == CHOICE_SLOT_KEYS)
        return here == 0 ? "the slot's owner has no key of it to move" : NULL;
    if (kind == CHOICE_SLOT_END)
        return here > 0 ? "the slot's old owner still has keys of it" : NULL;
    return here == 0 || all > here ? "the old owner should have keys, and the new one none" : NULL;
}

static enum fail simulated_slot(struct backend *backend, enum choice_kind kind, int server,
                                struct failure *failure)
{
    struct simulated *simulated = (struct simulated *)backend;
    struct simulated_cluster *cluster = &simulated->cluster;
    const char *objection = slot_objects(simulated, kind, server);
    if (objection)
        return failure_set(failure, FAIL_UNKNOWN, "server %d: %s", server + 1, objection);
    if (kind == CHOICE_SLOT_BEGIN || kind == CHOICE_SLOT_KEYS) {
        cluster->importer = server;
        cluster->moved = kind == CHOICE_SLOT_KEYS ? UINT32_MAX : 0;
        return FAIL_NONE;
    }
    if (kind == CHOICE_SLOT_TAKEN)
        bury_owner(cluster, server);
    if (kind != CHOICE_SLOT_END)
        model_flush_keys(model_of(backend, 0));
    cluster->owner = server;
    cluster->importer = -1;
    cluster->moved = 0;
    return FAIL_NONE;
}

/* Time is what the choices say; nothing is carried, all happens at once. */

static void simulated_begin(struct backend *backend, int64_t now_us)
{
    ((struct simulated *)backend)->now_us = now_us;
}

static enum fail simulated_execute(struct backend *backend, const struct message *message,
                                   enum reply_error error, struct server_answer *answer,
                                   struct failure *failure)
{
    struct simulated *simulated = (struct simulated *)backend;
    struct model_watch *watch = &simulated->watches[message->client][message->connection];
    assert(!message->opaque.name[0]); /* no model knows it */
    answer->from_us = answer->until_us = simulated->now_us;
    if (simulated->run->is_cluster && !error)
        return execute_in_cluster(simulated, message, answer, failure);
    answer->reply = error ? model_refuse(watch, &message->command, error)
                          : model_execute(model_of(backend, message->server), watch,
                                          &message->command, server_us(simulated, message->server));
    return FAIL_NONE;
}

static void simulated_disconnect(struct backend *backend, int client, int connection)
{
    struct model_watch *watch = &((struct simulated *)backend)->watches[client][connection];
    memset(watch, 0, sizeof *watch);
}

/* --- servers --- */

static enum fail simulated_jump_clock(struct backend *backend, int server, int64_t amount_us,
                                      struct failure *failure)
{
    (void)failure;
    ((struct simulated *)backend)->servers[server].skew_us += amount_us;
    return FAIL_NONE;
}

/* A replica that was cut off does not find the process that takes the place of its primary. */
static void lose_link(struct model *model)
{
    if (model->replica == MODEL_REPLICA_CUT)
        model->replica = MODEL_NO_REPLICA;
}

static enum fail simulated_restart_empty(struct backend *backend, int server,
                                         struct failure *failure)
{
    (void)failure;
    model_restart_empty(model_of(backend, server));
    lose_link(model_of(backend, server));
    return FAIL_NONE;
}

static enum fail simulated_restart_with_keys(struct backend *backend, int server,
                                             struct failure *failure)
{
    (void)failure;
    model_flush_scripts(model_of(backend, server));
    lose_link(model_of(backend, server));
    return FAIL_NONE;
}

static enum fail simulated_save_keys(struct backend *backend, int server, struct failure *failure)
{
    struct simulated_server *row = &((struct simulated *)backend)->servers[server];
    (void)failure;
    row->saved = row->model;
    return FAIL_NONE;
}

static enum fail simulated_restart_with_saved(struct backend *backend, int server,
                                              struct failure *failure)
{
    struct simulated_server *row = &((struct simulated *)backend)->servers[server];
    (void)failure;
    model_failover(&row->model, &row->saved);
    lose_link(&row->model);
    return FAIL_NONE;
}

static enum fail simulated_flush_keys(struct backend *backend, int server, struct failure *failure)
{
    (void)failure;
    model_flush_keys(model_of(backend, server));
    return FAIL_NONE;
}

static enum fail simulated_cut_replica(struct backend *backend, int server, struct failure *failure)
{
    struct simulated_server *row = &((struct simulated *)backend)->servers[server];
    (void)failure;
    row->replica = row->model;
    row->model.replica = MODEL_REPLICA_CUT;
    return FAIL_NONE;
}

/* A scheme that asks for a replica finds one behind the promoted server, too. */
static enum model_replica replica_after_failover(const struct run *run)
{
    return run->scheme->needs_replica ? MODEL_REPLICA_IN_STEP : MODEL_NO_REPLICA;
}

/* Until it is cut off, the replica has all the keys that the primary has. */
static enum fail simulated_fail_over(struct backend *backend, int server, enum promoter promoter,
                                     bool is_cut, struct failure *failure)
{
    struct simulated *simulated = (struct simulated *)backend;
    struct simulated_server *row = &simulated->servers[server];
    (void)promoter;
    (void)failure;
    if (is_cut)
        model_failover(&row->model, &row->replica);
    else
        model_flush_scripts(&row->model);
    row->model.replica = replica_after_failover(simulated->run);
    return FAIL_NONE;
}

static enum fail simulated_evict(struct backend *backend, int server, struct failure *failure)
{
    struct model *model = model_of(backend, server);
    if (model_ttl(model, KEY_LOCK, server_us((struct simulated *)backend, server)) == -2)
        return failure_set(failure, FAIL_UNKNOWN, "server %d has no lock key to evict", server + 1);
    model_evict(model, KEY_LOCK);
    return FAIL_NONE;
}

static enum fail simulated_flush_scripts(struct backend *backend, int server,
                                         struct failure *failure)
{
    (void)failure;
    model_flush_scripts(model_of(backend, server));
    return FAIL_NONE;
}

static void simulated_free(struct backend *backend)
{
    free(backend);
}

static const struct backend_ops simulated_ops = {
    .begin = simulated_begin,
    .execute = simulated_execute,
    .disconnect = simulated_disconnect,
    .jump_clock = simulated_jump_clock,
    .restart_empty = simulated_restart_empty,
    .restart_with_keys = simulated_restart_with_keys,
    .save_keys = simulated_save_keys,
    .restart_with_saved = simulated_restart_with_saved,
    .flush_keys = simulated_flush_keys,
    .cut_replica = simulated_cut_replica,
    .fail_over = simulated_fail_over,
    .evict = simulated_evict,
    .flush_scripts = simulated_flush_scripts,
    .slot = simulated_slot,
    .free = simulated_free,
};

struct world *world_simulated_new(const struct run *run)
{
    assert(run->servers > 0 && run->servers <= SERVERS_MAX);
    struct simulated *simulated = memory_new(1, sizeof *simulated);
    simulated->backend.ops = &simulated_ops;
    simulated->run = run;
    simulated->cluster.importer = simulated->cluster.dead = -1;
    for (int i = 0; i < run->servers; i++) {
        model_init(&simulated->servers[i].model, 1000);
        simulated->servers[i].model.has_delex = run->has_delex;
        simulated->servers[i].model.replica =
            run->has_replica ? MODEL_REPLICA_IN_STEP : MODEL_NO_REPLICA;
    }
    return core_new(run, &simulated->backend, scheme_clients_new(run, STEERED_EPOCH_US));
}
