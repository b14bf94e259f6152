/* server_faults.c - what is done to a private server: restart, failover, eviction. See servers.h.
 */
#include "live/servers.h"

#include "live/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fail servers_can(const struct servers *servers, enum choice_kind kind, struct failure *failure)
{
    static const bool needs_private[CHOICE_COUNT] = {
        [CHOICE_RESTART] = true, [CHOICE_CUT_REPLICA] = true,   [CHOICE_FAILOVER] = true,
        [CHOICE_EVICT] = true,   [CHOICE_FLUSH_SCRIPTS] = true,
    };
    if (kind == CHOICE_SERVER_CLOCK && servers->steering == REAL_TIME)
        return failure_set(
            failure, FAIL_UNKNOWN,
            "no server's clock can be stepped in real time: it is the machine's own");
    if (servers->is_foreign && needs_private[kind])
        return failure_set(failure, FAIL_UNKNOWN,
                           "\"%s\" would touch more of the server behind the URL than our own keys",
                           choice_name(kind));
    return FAIL_NONE;
}

enum fail servers_restart(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    int port = server->process.port;
    const bool feeds = server->replica.pid != 0 && !server->is_cut;
    char folder[PROCESS_PATH_MAX];
    memcpy(folder, server->process.folder, sizeof folder);
    process_kill(&server->process);
    const struct process_options options = {.program = servers->program,
                                            .folder = folder,
                                            .shim = server->page ? servers->shim : NULL,
                                            .page = server->page_path,
                                            .port = port};
    if (process_start(&server->process, &options, failure))
        return failure_wrap(failure, "server %d", number + 1);
    if (!server->feed)
        return FAIL_NONE;
    const struct proxy_address upstream = {.host = "127.0.0.1", .port = server->process.port};
    proxy_set_upstream(server->feed, &upstream);
    if (!feeds)
        return FAIL_NONE;
    if (replica_reconnect(server, failure))
        return failure_wrap(failure, "replica of server %d", number + 1);
    return replica_wait_in_step(servers, server, failure);
}

enum fail servers_cut_replica(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    if (replica_wait_in_step(servers, server, failure))
        return failure->code;
    server->is_cut = true;
    if (server->feed_link)
        proxy_link_silence(server->feed_link);
    return FAIL_NONE;
}

enum fail servers_failover(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    if (!server->is_cut && replica_wait_in_step(servers, server, failure))
        return failure->code;
    if (control_do(server->replica.control, failure, "REPLICAOF NO ONE"))
        return failure_wrap(failure, "replica of server %d", number + 1);
    process_kill(&server->process);
    server->process = server->replica;
    memset(&server->replica, 0, sizeof server->replica);
    replica_stop(server);
    return FAIL_NONE;
}

enum fail servers_flush_scripts(struct servers *servers, int number, struct failure *failure)
{
    if (control_do(servers_control(servers, number), failure, "SCRIPT FLUSH"))
        return failure_wrap(failure, "server %d", number + 1);
    return FAIL_NONE;
}

/* --- eviction --- */

enum { STEP_BYTES = 32, SQUEEZES_MAX = 20000, TOUCHES = 200 };

static int64_t used_memory(redisContext *control, struct failure *failure)
{
    char value[24] = "";
    redisReply *info = control_ask(control, failure, "INFO memory");
    if (!info)
        return -1;
    if (info->type == REDIS_REPLY_STRING)
        control_field(info->str, "used_memory", value, sizeof value);
    freeReplyObject(info);
    return atoll(value);
}

/* Every other key is used so often that the one that nobody touches is the least used by far. */
static enum fail touch_others(redisContext *control, const char *key, struct failure *failure)
{
    redisReply *keys = control_ask(control, failure, "KEYS *");
    enum fail fail = keys ? FAIL_NONE : FAIL_UNAVAILABLE;
    for (size_t i = 0; keys && !fail && i < keys->elements; i++)
        for (int times = 0; !fail && strcmp(keys->element[i]->str, key) && times < TOUCHES; times++)
            fail = control_do(control, failure, "TOUCH %s", keys->element[i]->str);
    if (keys)
        freeReplyObject(keys);
    return fail;
}

/* Lowers the limit little by little until the key is gone, so that nothing else has to go. */
static enum fail squeeze(redisContext *control, const char *key, struct failure *failure)
{
    int64_t limit = used_memory(control, failure);
    for (int i = 0; limit > 0 && i < SQUEEZES_MAX; i++, limit -= STEP_BYTES) {
        if (control_do(control, failure, "CONFIG SET maxmemory %" PRId64, limit))
            return FAIL_UNAVAILABLE;
        int64_t exists = control_integer(control, failure, "EXISTS %s", key);
        if (exists == 0)
            return FAIL_NONE;
        if (exists < 0)
            return FAIL_UNAVAILABLE;
    }
    return failure_set(failure, FAIL_UNKNOWN, "memory pressure did not make it evict the key");
}

enum fail servers_evict(struct servers *servers, int number, const char *key,
                        struct failure *failure)
{
    redisContext *control = servers_control(servers, number);
    int64_t ttl_ms = control_integer(control, failure, "PTTL %s", key);
    if (ttl_ms == INT64_MIN)
        return failure_wrap(failure, "server %d", number + 1);
    if (ttl_ms == -2)
        return failure_set(failure, FAIL_UNKNOWN, "server %d has no lock key to evict", number + 1);
    /* Only an allkeys policy ever evicts a key that has no expiry. */
    const char *policy = ttl_ms < 0 ? "allkeys-lfu" : "volatile-lfu";
    struct failure ignored;
    enum fail fail = touch_others(control, key, failure);
    if (!fail)
        fail = control_do(control, failure, "CONFIG SET maxmemory-policy %s", policy);
    if (!fail)
        fail = squeeze(control, key, failure);
    if (control_do(control, fail ? &ignored : failure, "CONFIG SET maxmemory 0") && !fail)
        fail = FAIL_UNAVAILABLE;
    return fail ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}
