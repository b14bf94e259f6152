/* path.c - that the way of clients leads through our proxy, and to the server that it is labelled
 * with. See internal.h.
 *
 * What a run is judged by is what the proxy sees, and what is done to a server is done on a
 * connection of our own. Were a client's connection not seen, or did its address lead to another
 * server (a name with two addresses, a balancer), both would be about something else. So one
 * connection asks who answers: before each run with a server behind a URL; with a process of ours,
 * where nobody can turn the way but we, before the first run and behind every change. */
#include "live/control.h"
#include "live/internal.h"

#include <errno.h>
#include <string.h>

enum { ASK_LIMIT_US = 10000000, RUN_ID_MAX = 64 };

struct path_answer {
    bool is_answered;
    bool was_seen;           /* by the proxy, on its way there */
    char run_id[RUN_ID_MAX]; /* "": it was no INFO */
};

/* NULL: the connection has ended instead, and its connection with it. */
static void answered(redisAsyncContext *async, void *got, void *data)
{
    const redisReply *reply = got;
    struct path_answer *monitor = data;
    struct connection *connection = async->data;
    monitor->is_answered = true;
    if (!reply)
        return;
    monitor->was_seen = connection->is_opened && connection->greetings == 0;
    if (reply->type == REDIS_REPLY_STRING)
        control_field(reply->str, "run_id", monitor->run_id, sizeof monitor->run_id);
    connection_cut(connection);
}

static bool is_answered(void *context)
{
    const struct path_answer *monitor = context;
    return monitor->is_answered;
}

/* What our own connection says: the run_id is drawn anew by every server that starts. */
static enum fail ask_control(const struct live *live, int server, char run_id[RUN_ID_MAX],
                             struct failure *failure)
{
    redisReply *info = control_ask(servers_control(&live->servers, server), failure, "INFO server");
    if (!info)
        return failure_wrap(failure, "server %d", server + 1);
    control_field(info->type == REDIS_REPLY_STRING ? info->str : "", "run_id", run_id, RUN_ID_MAX);
    freeReplyObject(info);
    return FAIL_NONE;
}

static enum fail compare(const struct endpoint *endpoint, const struct path_answer *monitor,
                         const char *run_id, struct failure *failure)
{
    if (!monitor->run_id[0])
        return failure_set(
            failure, FAIL_UNAVAILABLE, "server %d cannot be reached through the proxy%s%s",
            endpoint->number + 1, endpoint->complaint[0] ? ": " : "", endpoint->complaint);
    if (!monitor->was_seen)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "server %d was asked, and the proxy before it saw nothing of it",
                           endpoint->number + 1);
    if (strcmp(monitor->run_id, run_id) == 0)
        return FAIL_NONE;
    return failure_set(
        failure, FAIL_UNAVAILABLE,
        "two connections to server %d end at two servers (run_id %.8s and %.8s); name the "
        "address of one server, not that of a balancer or of several",
        endpoint->number + 1, run_id, monitor->run_id);
}

static enum fail prove(struct live *live, int server, struct failure *failure)
{
    struct endpoint *endpoint = &live->endpoints[server];
    struct path_answer monitor = {0};
    struct connection *connection;
    char run_id[RUN_ID_MAX] = "";
    if (ask_control(live, server, run_id, failure) ||
        connection_new(&connection, endpoint, NULL, failure))
        return FAIL_UNAVAILABLE;
    connection->greetings++; /* it passes, as a login does */
    (void)redisAsyncCommand(connection->async, answered, &monitor, "INFO server");
    enum fail fail = live_run_until(live, is_answered, &monitor, ASK_LIMIT_US, failure);
    if (!monitor.is_answered) {
        struct failure ignored;
        connection_cut(connection); /* that is an answer, too */
        (void)live_run_until(live, is_answered, &monitor, ASK_LIMIT_US, &ignored);
    }
    return fail && fail != FAIL_UNKNOWN ? fail : compare(endpoint, &monitor, run_id, failure);
}

/* 0: not a process of ours. */
static int pid_of(const struct live *live, int server)
{
    return live->servers.is_foreign ? 0 : live->servers.rows[server].process.pid;
}

enum fail live_prove_path(struct live *live, int server, struct failure *failure)
{
    int *proved_pid = &live->endpoints[server].proved_pid;
    if (*proved_pid && *proved_pid == pid_of(live, server))
        return FAIL_NONE;
    enum fail fail = prove(live, server, failure);
    *proved_pid = fail ? 0 : pid_of(live, server);
    return fail;
}

/* --- refused --- */

enum fail live_prove_refusal(const struct live *live, int server, struct failure *failure)
{
    redisContext *context = redisConnect("127.0.0.1", proxy_port(live->endpoints[server].proxy));
    const bool is_refused =
        context && context->err && strstr(context->errstr, strerror(ECONNREFUSED)) != NULL;
    if (!is_refused)
        (void)failure_set(failure, FAIL_UNKNOWN, "server %d was to refuse a connection: %s",
                          server + 1,
                          !context       ? "out of memory"
                          : context->err ? context->errstr
                                         : "it did not");
    if (context)
        redisFree(context);
    return is_refused ? FAIL_NONE : FAIL_UNKNOWN;
}

enum fail live_refuse(struct live *live, int server, struct failure *failure)
{
    live->endpoints[server].proved_pid = 0;
    if (proxy_refuse(live->endpoints[server].proxy, failure))
        return failure_wrap(failure, "proxy of server %d", server + 1);
    return live_prove_refusal(live, server, failure);
}

enum fail live_accept(struct live *live, int server, struct failure *failure)
{
    if (proxy_accept(live->endpoints[server].proxy, failure))
        return failure_wrap(failure, "proxy of server %d", server + 1);
    return FAIL_NONE;
}
