/* directed.c - messages of directed runs on real servers: sent, executed, delivered. See
 * directed.h; the contract is world/backend.h. */
#include "live/directed.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "live/clock.h"
#include "world/scheme_clients.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct directed *directed_of(struct backend *backend)
{
    return (struct directed *)backend;
}

static struct exchange **exchange_of(struct directed *directed, const struct message *message)
{
    return &directed->exchanges[message->client][message->number];
}

static enum fail directed_send(struct backend *backend, const struct message *message,
                               struct failure *failure)
{
    struct directed *directed = directed_of(backend);
    struct connection *connection;
    assert(!message->opaque.name[0]); /* its bytes are elsewhere */
    enum fail fail = directed_connect(directed, message, &connection, failure);
    if (!fail)
        *exchange_of(directed, message) =
            connection_send(connection, directed, &message->command, directed->prefix);
    return fail;
}

static enum fail directed_execute(struct backend *backend, const struct message *message,
                                  enum reply_error error, struct server_answer *answer,
                                  struct failure *failure)
{
    struct directed *directed = directed_of(backend);
    struct exchange *exchange = *exchange_of(directed, message);
    const bool waits = message->command.verb == VERB_WAIT && !error;
    if (!exchange)
        return directed_say_broken(directed, failure);
    if (waits && replica_acknowledge(&directed->live->servers, message->server, failure))
        return failure->code;
    if (error)
        exchange_refuse(exchange, error);
    else
        exchange_execute(exchange);
    if (waits && directed_end_wait(directed, exchange, failure))
        return failure->code;
    enum fail fail = directed_settle(directed, exchange, AWAITED_EXECUTION, failure);
    if (!fail && directed->run->is_cluster && !error) {
        fail = directed_follow(directed, message, exchange_of(directed, message), failure);
        exchange = *exchange_of(directed, message);
    }
    if (!fail)
        fail = exchange_check_answer(exchange, message->server, failure);
    if (fail)
        return fail;
    answer->reply = exchange->reply;
    answer->from_us = answer->until_us = directed->choice_us;
    if (directed_is_real_time(directed)) {
        answer->from_us = exchange->released_us - directed->began_us;
        answer->until_us = exchange->answered_us - directed->began_us;
    }
    return FAIL_NONE;
}

static enum fail directed_deliver(struct backend *backend, const struct message *message,
                                  struct failure *failure)
{
    struct directed *directed = directed_of(backend);
    struct exchange *exchange = *exchange_of(directed, message);
    if (!exchange)
        return directed_say_broken(directed, failure);
    exchange_deliver(exchange);
    return directed_settle(directed, exchange, AWAITED_DELIVERY, failure);
}

static void directed_forget(struct backend *backend, const struct message *message)
{
    struct exchange **exchange = exchange_of(directed_of(backend), message);
    if (*exchange)
        exchange_let_go(*exchange);
    *exchange = NULL;
}

/* What is on it goes with it. */
static void forget_all_on(struct directed *directed, int client,
                          const struct connection *connection)
{
    for (int i = 0; i < MESSAGES_MAX; i++) {
        struct exchange **exchange = &directed->exchanges[client][i];
        if (*exchange && (*exchange)->connection == connection)
            *exchange = NULL;
    }
}

static void directed_disconnect(struct backend *backend, int client, int connection)
{
    struct directed *directed = directed_of(backend);
    directed->is_watching[client][connection] = false;
    for (int way = 0; way < CLUSTER_MASTERS; way++) {
        struct connection *ended = directed->connections[client][connection][way];
        if (!ended)
            continue;
        directed->connections[client][connection][way] = NULL;
        forget_all_on(directed, client, ended);
        connection_cut(ended);
    }
}

static void forget_broken(struct directed *directed, int client, int number,
                          const struct connection *connection)
{
    for (int way = 0; way < CLUSTER_MASTERS; way++)
        if (directed->connections[client][number][way] == connection) {
            directed->connections[client][number][way] = NULL;
            forget_all_on(directed, client, connection);
        }
}

static void connection_broken(struct connection *connection)
{
    struct directed *directed = connection->owner;
    if (!directed)
        return;
    directed->broken_server = connection->endpoint->number + 1;
    for (int client = 0; client < directed->run->clients; client++)
        for (int i = 0; i < CONNECTIONS_MAX; i++)
            forget_broken(directed, client, i, connection);
}

static const struct connection_events connection_events = {.broken = connection_broken};

static void directed_begin(struct backend *backend, int64_t now_us)
{
    struct directed *directed = directed_of(backend);
    directed->choice_us = now_us;
    servers_set_clock(&directed->live->servers, now_us);
}

static enum fail settle(struct backend *backend, struct failure *failure)
{
    return directed_settle(directed_of(backend), NULL, AWAITED_NOTHING, failure);
}

static void directed_free(struct backend *backend)
{
    struct directed *directed = directed_of(backend);
    struct failure ignored;
    /* A world that ends has nobody to tell; the next one finds what is wrong with its servers. */
    (void)live_finish(directed->live, &ignored);
    free(directed);
}

static const struct backend_ops directed_ops = {
    .can = directed_can,
    .now_us = directed_now_us,
    .begin = directed_begin,
    .pass_time = directed_pass_time,
    .send = directed_send,
    .execute = directed_execute,
    .deliver = directed_deliver,
    .forget = directed_forget,
    .disconnect = directed_disconnect,
    .settle = settle,
    .jump_clock = directed_jump_clock,
    .restart_empty = directed_restart_empty,
    .restart_with_keys = directed_restart_with_keys,
    .save_keys = directed_save_keys,
    .restart_with_saved = directed_restart_with_saved,
    .flush_keys = directed_flush_keys,
    .kill_clients = directed_kill_clients,
    .cut_replica = directed_cut_replica,
    .fail_over = directed_fail_over,
    .evict = directed_evict,
    .flush_scripts = directed_flush_scripts,
    .slot = directed_slot,
    .stop = directed_stop,
    .set_reach = directed_set_reach,
    .fail_to_connect = directed_fail_to_connect,
    .free = directed_free,
};

static_assert(CLOCK_EPOCH_US == STEERED_EPOCH_US, "clients and servers begin at one instant");

/* The wall clock at world time 0, as the clients see it. */
static int64_t epoch_us(const struct directed *directed)
{
    struct timespec now;
    if (!directed_is_real_time(directed))
        return STEERED_EPOCH_US;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static enum fail prepare(struct live *live, const struct run *run, char prefix[KEY_PREFIX_MAX],
                         struct failure *failure)
{
    char key[KEY_PREFIX_MAX + 16];
    live_lock_prefix(live, 0, prefix);
    if (!run->is_cluster)
        return live_prepare(live, run->servers, run->has_replica, 1, &connection_events, failure);
    live_cluster_prefix(live, 0, prefix);
    (void)snprintf(key, sizeof key, "%s%s", prefix, key_name(KEY_LOCK));
    return live_prepare_cluster(live, key, 1, &connection_events, failure);
}

enum fail world_live_new(struct world **world, struct live *live, const struct run *run,
                         struct failure *failure)
{
    struct failure local, *why = failure ? failure : &local;
    char prefix[KEY_PREFIX_MAX];
    if (prepare(live, run, prefix, why))
        return why->code;
    struct directed *directed = memory_new(1, sizeof *directed);
    directed->backend.ops = &directed_ops;
    directed->live = live;
    directed->run = run;
    directed->began_us = monotonic_us();
    memcpy(directed->prefix, prefix, sizeof prefix);
    *world = core_new(run, &directed->backend, scheme_clients_new(run, epoch_us(directed)));
    return FAIL_NONE;
}
