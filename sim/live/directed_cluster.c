/* directed_cluster.c - a client of a Redis Cluster: it sends a command to the master that it takes
 * for the slot's owner, and follows MOVED and ASK from there, as client libraries do. See
 * directed.h.
 *
 * A client learns whose the slot is by MOVED, and for good; by ASK for one command alone. All that
 * is sent goes through the proxy of the master that it goes to. Source: Redis Cluster
 * specification, "Redirection and resharding". */
#include "live/directed.h"

#include <stdio.h>

/* --- connections --- */

static enum fail connect_to(struct directed *directed, const struct message *message, int way,
                            struct connection **made, struct failure *failure)
{
    struct connection **connection =
        &directed->connections[message->client][message->connection][way];
    const int server = directed->run->is_cluster ? way : message->server;
    enum fail fail = FAIL_NONE;
    if (!*connection)
        fail = connection_new(connection, &directed->live->endpoints[server], directed, failure);
    *made = *connection;
    return fail;
}

enum fail directed_connect(struct directed *directed, const struct message *message,
                           struct connection **connection, struct failure *failure)
{
    const int way = directed->run->is_cluster ? directed->believes[message->client] : 0;
    return connect_to(directed, message, way, connection, failure);
}

/* --- followed --- */

/* A transaction is bound to its connection, and so is what it watches. */
static bool may_follow(const struct directed *directed, const struct message *message)
{
    return verb_requests(message->command.verb) == 1 &&
           !directed->is_watching[message->client][message->connection];
}

static enum redirect_kind redirect_of(const struct directed *directed,
                                      const struct exchange *exchange, int *row)
{
    const redisReply *reply = exchange->replies[0];
    if (!reply || reply->type != REDIS_REPLY_ERROR)
        return REDIRECT_NONE;
    return cluster_read_redirect(&directed->live->servers, reply->str, row);
}

/* The client has the answer, and nobody waits for the rest of it. */
static enum fail hear(struct directed *directed, struct exchange **exchange,
                      struct failure *failure)
{
    exchange_deliver(*exchange);
    enum fail fail = directed_settle(directed, *exchange, AWAITED_DELIVERY, failure);
    if (*exchange)
        exchange_let_go(*exchange);
    *exchange = NULL;
    return fail;
}

/* ASKING and the command go one behind the other, and nothing else between. */
static enum fail send_on(struct directed *directed, const struct message *message,
                         enum redirect_kind kind, int row, struct exchange **exchange,
                         struct failure *failure)
{
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
    struct connection *connection;
    if (connect_to(directed, message, row, &connection, failure))
        return FAIL_UNAVAILABLE;
    if (connection->first)
        return failure_set(failure, FAIL_UNKNOWN,
                           "%s has something on its way to server %d, to which it is sent on",
                           directed->run->names[message->client], row + 1);
    if (kind == REDIRECT_ASK)
        connection_pass(connection, asking, sizeof asking - 1);
    *exchange = connection_send(connection, directed, &message->command, directed->prefix);
    enum fail fail = directed_settle(directed, NULL, AWAITED_NOTHING, failure);
    if (fail || !*exchange)
        return fail ? fail : directed_say_broken(directed, failure);
    exchange_execute(*exchange);
    return directed_settle(directed, *exchange, AWAITED_EXECUTION, failure);
}

static void note_watch(struct directed *directed, const struct message *message)
{
    const enum verb verb = message->command.verb;
    bool *is_watching = &directed->is_watching[message->client][message->connection];
    if (verb == VERB_WATCH)
        *is_watching = true;
    else if (verb == VERB_UNWATCH || verb_requests(verb) > 1)
        *is_watching = false;
}

static void count(struct directed *directed, const struct message *message, enum redirect_kind kind,
                  int row)
{
    struct cluster *cluster = &directed->live->servers.cluster;
    cluster->moved += kind == REDIRECT_MOVED;
    cluster->asked += kind == REDIRECT_ASK;
    if (kind == REDIRECT_MOVED)
        directed->believes[message->client] = row;
}

enum fail directed_follow(struct directed *directed, const struct message *message,
                          struct exchange **exchange, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    int row = 0;
    for (int followed = 0; !fail && may_follow(directed, message); followed++) {
        const enum redirect_kind kind = redirect_of(directed, *exchange, &row);
        if (kind == REDIRECT_NONE)
            break;
        if (row < 0)
            return failure_set(failure, FAIL_UNKNOWN, "%s's %s was sent on to nobody of ours (%s)",
                               directed->run->names[message->client],
                               verb_name(message->command.verb), (*exchange)->replies[0]->str);
        if (followed == FOLLOWS_MAX)
            return failure_set(failure, FAIL_UNKNOWN,
                               "%s's %s was sent on from master to master %d times, and once more",
                               directed->run->names[message->client],
                               verb_name(message->command.verb), FOLLOWS_MAX);
        count(directed, message, kind, row);
        fail = hear(directed, exchange, failure);
        if (!fail)
            fail = send_on(directed, message, kind, row, exchange, failure);
    }
    if (!fail)
        note_watch(directed, message);
    return fail;
}

/* --- the slot --- */

/* Who took the dead one for the owner asks another master, and is sent on from there. */
static void leave_dead(struct directed *directed, int next)
{
    const struct servers *servers = &directed->live->servers;
    for (int client = 0; client < directed->run->clients; client++) {
        int *believes = &directed->believes[client];
        if (servers->rows[*believes].is_dead)
            *believes = CLUSTER_MASTERS - *believes - next;
    }
}

/* None to move: nothing would be shown by it. */
static enum fail move_keys(struct servers *servers, const char *key, int server,
                           struct failure *failure)
{
    int64_t moved;
    enum fail fail = cluster_move_keys(servers, key, server, &moved, failure);
    return fail || moved
               ? fail
               : failure_set(failure, FAIL_UNKNOWN,
                             "the slot has no key that could move to server %d", server + 1);
}

enum fail directed_slot(struct backend *backend, enum choice_kind kind, int server,
                        struct failure *failure)
{
    struct directed *directed = (struct directed *)backend;
    struct servers *servers = &directed->live->servers;
    char key[KEY_PREFIX_MAX + 16];
    enum fail fail;
    (void)snprintf(key, sizeof key, "%s%s", directed->prefix, key_name(KEY_LOCK));
    if (kind == CHOICE_SLOT_BEGIN)
        return cluster_begin_move(servers, key, server, failure);
    if (kind == CHOICE_SLOT_KEYS)
        return move_keys(servers, key, server, failure);
    if (kind != CHOICE_SLOT_TAKEN)
        return cluster_end_move(servers, key, server,
                                kind == CHOICE_SLOT_END ? NONE_LEFT_BEHIND : KEYS_LEFT_BEHIND,
                                failure);
    fail = cluster_take_slot(servers, key, server, failure);
    if (!fail)
        leave_dead(directed, server);
    return fail;
}
