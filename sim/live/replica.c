/* replica.c - a replica of a private server, whose link to its primary goes through a proxy of
 * ours. See servers.h.
 *
 * The link is cut by silencing that proxy: the replica keeps what it has and hears no more, as
 * behind a broken network. Waiting for a replica always runs the loop, since its feed flows through
 * it. Source: redis-server 7.0, replication.c. */
#include "live/servers.h"

#include "base/monotonic.h"
#include "live/control.h"

#include <stdlib.h>
#include <string.h>

enum { IN_STEP_SECONDS = 20, LOOK_MS = 20 };

static void feed_opened(void *context, struct proxy_link *link, int peer_port, void **link_owner)
{
    struct server *server = context;
    (void)peer_port;
    *link_owner = link;
    server->feed_link = link;
    /* A replica that asks again behind a cut hears as little as before. */
    if (server->is_cut)
        proxy_link_silence(link);
}

static void feed_closed(void *context, void *link_owner)
{
    struct server *server = context;
    /* The link of before ends when it likes, also behind the next one's beginning. */
    if (server->feed_link == link_owner)
        server->feed_link = NULL;
}

/* The primary by then, or the one before it. */
static void feed_dials(void *context, int port, int from)
{
    const struct server *server = context;
    servers_note_dial(server->servers, port, from);
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
        .opened = feed_opened, .dials = feed_dials, .closed = feed_closed, .context = server};
    if (server->feed) {
        proxy_set_upstream(server->feed, &upstream);
        return FAIL_NONE;
    }
    return proxy_new(&server->feed, servers->loop, &any, &upstream, &hooks, failure);
}

/* --- waiting --- */

/* What INFO replication of a server says; NULL: it does not answer. The caller frees it. */
static redisReply *replication(redisContext *control, struct failure *failure)
{
    redisReply *info = control_ask(control, failure, "INFO replication");
    if (!info || info->type == REDIS_REPLY_STRING)
        return info;
    freeReplyObject(info);
    failure_set(failure, FAIL_UNAVAILABLE, "INFO was answered with no text");
    return NULL;
}

/* The replica first: has it all that its primary has a moment later, then it is in step. */
static enum fail is_in_step(struct server *server, bool *in_step, struct failure *failure)
{
    char link[16], have[24], all[24];
    redisReply *info = replication(server->replica.control, failure);
    if (!info)
        return FAIL_UNAVAILABLE;
    control_field(info->str, "master_link_status", link, sizeof link);
    control_field(info->str, "slave_repl_offset", have, sizeof have);
    freeReplyObject(info);
    if (strcmp(link, "up") != 0)
        return FAIL_NONE;
    info = replication(server->process.control, failure);
    if (!info)
        return FAIL_UNAVAILABLE;
    control_field(info->str, "master_repl_offset", all, sizeof all);
    freeReplyObject(info);
    *in_step = strcmp(have, all) == 0;
    return FAIL_NONE;
}

/* As many bytes of its stream as the replica has acknowledged: are they all? */
static enum fail is_acknowledged(struct server *server, bool *is_told, struct failure *failure)
{
    char replica[128], all[24];
    redisReply *info = replication(server->process.control, failure);
    if (!info)
        return FAIL_UNAVAILABLE;
    control_field(info->str, "slave0", replica, sizeof replica);
    control_field(info->str, "master_repl_offset", all, sizeof all);
    freeReplyObject(info);
    const char *told = strstr(replica, "offset=");
    *is_told = told && atoll(told + strlen("offset=")) >= atoll(all);
    return FAIL_NONE;
}

static void look_again(uv_timer_t *timer)
{
    (void)timer;
}

static void log_grew(uv_fs_event_t *log, const char *name, int events, int status)
{
    (void)log;
    (void)name;
    (void)events;
    (void)status;
}

/* Its feed flows through our loop, and its log says when it has loaded what came: either wakes us.
 * The timer is for what may not. */
static void watch_start(struct servers *servers, const struct server *server)
{
    char log[PROCESS_PATH_MAX + 8];
    process_log_path(&server->replica, log, sizeof log);
    (void)uv_fs_event_start(servers->log, log_grew, log, 0);
    (void)uv_timer_start(servers->tick, look_again, LOOK_MS, LOOK_MS);
}

static void watch_stop(struct servers *servers)
{
    (void)uv_fs_event_stop(servers->log);
    (void)uv_timer_stop(servers->tick);
}

typedef enum fail look_at_replica(struct server *server, bool *is_so, struct failure *failure);

static enum fail wait_until(struct servers *servers, struct server *server, look_at_replica *look,
                            struct failure *failure)
{
    bool is_so = false;
    const int64_t limit_us = monotonic_us() + (int64_t)IN_STEP_SECONDS * 1000000;
    watch_start(servers, server);
    (void)uv_run(servers->loop, UV_RUN_NOWAIT);
    enum fail fail = look(server, &is_so, failure);
    while (!fail && !is_so) {
        (void)uv_run(servers->loop, UV_RUN_ONCE);
        servers_meanwhile(servers);
        fail = servers_check(servers, failure);
        if (!fail)
            fail = look(server, &is_so, failure);
        if (!fail && !is_so && monotonic_us() > limit_us)
            fail = failure_set(failure, FAIL_UNAVAILABLE,
                               "the replica of server %d has not caught up after %d s",
                               server->number + 1, IN_STEP_SECONDS);
    }
    watch_stop(servers);
    return fail;
}

enum fail replica_wait_in_step(struct servers *servers, struct server *server,
                               struct failure *failure)
{
    return wait_until(servers, server, is_in_step, failure);
}

/* Asked for an acknowledgement it sends one to its primary, and answers nothing. */
static enum fail ask_to_acknowledge(redisContext *control, struct failure *failure)
{
    int is_sent = 0;
    control_append(control, "REPLCONF GETACK *");
    while (!is_sent)
        if (redisBufferWrite(control, &is_sent) != REDIS_OK)
            return failure_set(failure, FAIL_UNAVAILABLE, "%s", control->errstr);
    return FAIL_NONE;
}

enum fail replica_acknowledge(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    if (!server->replica.pid || server->is_cut)
        return FAIL_NONE;
    if (wait_until(servers, server, is_in_step, failure) ||
        ask_to_acknowledge(server->replica.control, failure) ||
        wait_until(servers, server, is_acknowledged, failure))
        return failure_wrap(failure, "replica of server %d", number + 1);
    return FAIL_NONE;
}

enum fail replica_reconnect(struct server *server, struct failure *failure)
{
    if (control_do(server->replica.control, failure, "REPLICAOF NO ONE"))
        return FAIL_UNAVAILABLE;
    return control_do(server->replica.control, failure, "REPLICAOF 127.0.0.1 %d",
                      proxy_port(server->feed));
}

enum fail replica_begin(struct servers *servers, struct server *server, struct failure *failure)
{
    server->is_cut = false;
    if (spares_take(servers, &server->replica, failure) || feed_open(servers, server, failure))
        return FAIL_UNAVAILABLE;
    if (server->replica.clock)
        clock_copy(server->replica.clock, server->process.clock);
    return replica_reconnect(server, failure);
}

void replica_release(struct servers *servers, struct server *server)
{
    spares_park(servers, &server->replica);
    if (server->feed_link)
        proxy_link_cut(server->feed_link, PROXY_RST);
    server->is_cut = false;
}
