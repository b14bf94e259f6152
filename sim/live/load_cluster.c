/* load_cluster.c - the clients of a stress run on a Redis Cluster: to which master a command goes,
 * and how it is sent on. See stress.h; what the masters do: cluster.h.
 *
 * A client knows at first whose each slot is, as libraries do that ask when they connect. From then
 * on it learns by MOVED, and for good; by ASK for one command alone. Who is sent on has executed
 * nothing: the history has one execution, at the master that did. All three are one server to it.
 * Source: Redis Cluster specification, "Redirection and resharding". */
#include "live/stress.h"

#include "base/memory.h"
#include "live/control.h"

#include <stdio.h>
#include <stdlib.h>

/* --- whom a client takes for the slot's owner --- */

static unsigned char *belief(const struct stress *stress, int client, int lock)
{
    return &stress->believes[(size_t)client * (size_t)stress->options->locks + (size_t)lock];
}

int load_cluster_node(const struct load_client *load_client, int server)
{
    const struct stress *stress = load_client->stress;
    if (!stress->options->is_cluster)
        return server;
    const unsigned char learned = *belief(stress, load_client->number, load_client->lock);
    return learned ? learned - 1 : stress->homes[load_client->lock];
}

void load_cluster_key(const struct stress *stress, int lock, char key[LOCK_KEY_MAX])
{
    (void)snprintf(key, LOCK_KEY_MAX, "%s%s", stress->prefixes[lock], key_name(KEY_LOCK));
}

/* The first master says of each lock's key whether it is its own, or whose it is. */
static enum fail read_home(struct stress *stress, int lock, struct failure *failure)
{
    struct servers *servers = &stress->live->servers;
    int row = 0;
    redisReply *reply = control_reply(servers_control(servers, 0), "EXISTS", failure);
    if (!reply)
        return failure_wrap(failure, "server 1");
    if (reply->type == REDIS_REPLY_ERROR &&
        cluster_read_redirect(servers, reply->str, &row) != REDIRECT_MOVED)
        row = -1;
    freeReplyObject(reply);
    if (row < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "server 1 does not say whose the slot is");
    stress->homes[lock] = (unsigned char)row;
    return FAIL_NONE;
}

enum fail load_cluster_begin(struct stress *stress, struct failure *failure)
{
    const struct stress_options *options = stress->options;
    redisContext *control = servers_control(&stress->live->servers, 0);
    enum fail fail = FAIL_NONE;
    if (!options->is_cluster)
        return FAIL_NONE;
    stress->homes = memory_new((size_t)options->locks, 1);
    stress->believes = memory_new((size_t)options->clients, (size_t)options->locks);
    for (int lock = 0; lock < options->locks; lock++) {
        char key[LOCK_KEY_MAX];
        load_cluster_key(stress, lock, key);
        (void)redisAppendCommand(control, "EXISTS %s", key);
    }
    for (int lock = 0; lock < options->locks && !fail; lock++)
        fail = read_home(stress, lock, failure);
    return fail;
}

void load_cluster_end(struct stress *stress)
{
    free(stress->homes);
    free(stress->believes);
}

/* --- sent on --- */

static void lost(struct load_request *request, const char *words)
{
    struct stress *stress = stress_of(request);
    if (!stress->doubt.code)
        failure_set(&stress->doubt, FAIL_UNKNOWN, "a client's %s was sent on %s",
                    verb_name(request->command.verb), words);
}

bool load_cluster_redirects(struct load_request *request)
{
    struct stress *stress = stress_of(request);
    const redisReply *reply = request->exchange->replies[0];
    int row = -1;
    /* A transaction is bound to its connection, and so is what it watches. */
    if (!stress->options->is_cluster || request->connection->is_watching ||
        verb_requests(request->command.verb) > 1 || !reply || reply->type != REDIS_REPLY_ERROR)
        return false;
    request->redirect = cluster_read_redirect(&stress->live->servers, reply->str, &row);
    if (request->redirect == REDIRECT_NONE)
        return false;
    request->redirected_to = row;
    if (row >= 0 && request->followed < FOLLOWS_MAX)
        return true;
    lost(request, row < 0 ? "to nobody of ours" : "from master to master too often");
    request->redirect = REDIRECT_NONE;
    return false;
}

void load_cluster_note_watch(const struct load_request *request)
{
    const enum verb verb = request->command.verb;
    if (verb == VERB_WATCH)
        request->connection->is_watching = true;
    else if (verb == VERB_UNWATCH || verb_requests(verb) > 1)
        request->connection->is_watching = false;
}

void load_cluster_follow(struct load_request *request)
{
    struct load_client *load_client = request->load_client;
    struct stress *stress = load_client->stress;
    struct exchange *exchange = request->exchange;
    struct connection *connection = request->connection;
    const int from = request->node;
    if (request->redirect == REDIRECT_MOVED) {
        *belief(stress, load_client->number, request->lock) =
            (unsigned char)(request->redirected_to + 1);
        stress->live->servers.cluster.moved++;
    } else {
        stress->live->servers.cluster.asked++;
    }
    request->is_asking = request->redirect == REDIRECT_ASK;
    request->redirect = REDIRECT_NONE;
    request->node = request->redirected_to;
    request->followed++;
    request->exchange = NULL;
    request->connection = NULL;
    request->place = PLACE_UNSENT;
    exchange_let_go(exchange);
    lane_settle(load_client, connection, from, request->lane);
    load_request_go(request);
}

/* --- after --- */

redisReply *load_cluster_counter(struct stress *stress, int lock, struct failure *failure)
{
    char key[LOCK_KEY_MAX];
    (void)snprintf(key, sizeof key, "%s%s", stress->prefixes[lock], key_name(KEY_COUNTER));
    return cluster_get(&stress->live->servers, key, failure);
}
