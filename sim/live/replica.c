/* replica.c - a replica of a private server, whose link to its primary goes through a proxy of
 * ours. See servers.h.
 *
 * The link is cut by silencing that proxy: the replica keeps what it has and hears no more, as
 * behind a broken network. Waiting for a replica always runs the loop, since its feed flows through
 * it. Source: redis-server 7.0, replication.c. */
#include "live/servers.h"

#include "base/monotonic.h"
#include "live/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_STEP_SECONDS = 20, LOOK_MS = 1 };

static void feed_opened(void *context, struct proxy_link *link, int peer_port, void **link_owner)
{
    struct server *server = context;
    (void)peer_port;
    *link_owner = server;
    server->feed_link = link;
    /* A replica that asks again behind a cut hears as little as before. */
    if (server->is_cut)
        proxy_link_silence(link);
}

static void feed_closed(void *context, void *link_owner)
{
    struct server *server = context;
    (void)link_owner;
    server->feed_link = NULL;
}

static struct proxy_address address_of(const struct process *process)
{
    return (struct proxy_address){.host = "127.0.0.1", .port = process->port};
}

static enum fail feed_open(struct servers *servers, struct server *server, struct failure *failure)
{
    const struct proxy_address any = {.host = "127.0.0.1"};
    const struct proxy_address upstream = address_of(&server->process);
    const struct proxy_hooks hooks = {
        .opened = feed_opened, .closed = feed_closed, .context = server};
    if (server->feed) {
        proxy_set_upstream(server->feed, &upstream);
        return FAIL_NONE;
    }
    return proxy_new(&server->feed, servers->loop, &any, &upstream, &hooks, failure);
}

/* --- waiting --- */

static void look_again(uv_timer_t *timer)
{
    (void)timer;
}

/* What INFO replication of a server says: a field of it as a number or text. */
static enum fail replication(redisContext *control, const char *field, char *value, size_t size,
                             struct failure *failure)
{
    redisReply *info = control_ask(control, failure, "INFO replication");
    if (!info)
        return FAIL_UNAVAILABLE;
    value[0] = '\0';
    if (info->type == REDIS_REPLY_STRING)
        control_field(info->str, field, value, size);
    freeReplyObject(info);
    return FAIL_NONE;
}

static enum fail is_in_step(struct server *server, bool *in_step, struct failure *failure)
{
    char link[16], have[24], all[24];
    *in_step = false;
    if (replication(server->replica.control, "master_link_status", link, sizeof link, failure) ||
        replication(server->replica.control, "slave_repl_offset", have, sizeof have, failure) ||
        replication(server->process.control, "master_repl_offset", all, sizeof all, failure))
        return FAIL_UNAVAILABLE;
    *in_step = strcmp(link, "up") == 0 && strcmp(have, all) == 0;
    return FAIL_NONE;
}

enum fail replica_wait_in_step(struct servers *servers, struct server *server,
                               struct failure *failure)
{
    bool in_step = false;
    enum fail fail = FAIL_NONE;
    int64_t limit_us = monotonic_us() + (int64_t)IN_STEP_SECONDS * 1000000;
    (void)uv_timer_start(servers->tick, look_again, LOOK_MS, LOOK_MS);
    while (!fail && !in_step) {
        (void)uv_run(servers->loop, UV_RUN_ONCE);
        fail = servers_check(servers, failure);
        if (!fail)
            fail = is_in_step(server, &in_step, failure);
        if (!fail && !in_step && monotonic_us() > limit_us)
            fail = failure_set(failure, FAIL_UNAVAILABLE,
                               "the replica of server %d has not caught up after %d s",
                               server->number + 1, IN_STEP_SECONDS);
    }
    (void)uv_timer_stop(servers->tick);
    return fail;
}

enum fail replica_reconnect(struct server *server, struct failure *failure)
{
    if (control_do(server->replica.control, failure, "REPLICAOF NO ONE"))
        return FAIL_UNAVAILABLE;
    return control_do(server->replica.control, failure, "REPLICAOF 127.0.0.1 %d",
                      proxy_port(server->feed));
}

enum fail replica_start(struct servers *servers, struct server *server, struct failure *failure)
{
    char folder[PROCESS_PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s/server-%d-%d", servers->folder.path,
                   server->number + 1, servers->started++);
    /* Its clock is its primary's: a promotion shall not be a clock jump too. */
    const struct process_options options = {.program = servers->program,
                                            .folder = folder,
                                            .shim = server->page ? servers->shim : NULL,
                                            .page = server->page_path,
                                            .clock = server->page};
    server->is_cut = false;
    if (feed_open(servers, server, failure) || process_start(&server->replica, &options, failure) ||
        replica_reconnect(server, failure))
        return FAIL_UNAVAILABLE;
    return replica_wait_in_step(servers, server, failure);
}

void replica_stop(struct server *server)
{
    process_kill(&server->replica);
    if (server->feed_link)
        proxy_link_cut(server->feed_link, PROXY_RST);
    server->is_cut = false;
}
