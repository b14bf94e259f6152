/* directed_servers.c - what a directed run does to real servers. See directed.h. */
#include "live/directed.h"

#include <stdio.h>

static struct servers *servers_of(struct backend *backend)
{
    return &((struct directed *)backend)->live->servers;
}

enum fail directed_can(const struct backend *backend, enum choice_kind kind,
                       struct failure *failure)
{
    return servers_can(&((const struct directed *)backend)->live->servers, kind, failure);
}

enum fail directed_jump_clock(struct backend *backend, int server, int64_t amount_us,
                              struct failure *failure)
{
    struct servers *servers = servers_of(backend);
    servers_jump_clock(servers, server, amount_us);
    return servers_prove_clock(servers, server, failure);
}

/* Clients go to the new process from here on; and that they do. */
static enum fail follow(struct backend *backend, int server, struct failure *failure)
{
    struct directed *directed = (struct directed *)backend;
    live_follow_server(directed->live, server);
    return live_prove_path(directed->live, server, failure);
}

enum fail directed_restart_empty(struct backend *backend, int server, struct failure *failure)
{
    enum fail fail = servers_restart(servers_of(backend), server, failure);
    return fail ? fail : follow(backend, server, failure);
}

enum fail directed_restart_with_keys(struct backend *backend, int server, struct failure *failure)
{
    enum fail fail = servers_restart_with_keys(servers_of(backend), server, failure);
    return fail ? fail : follow(backend, server, failure);
}

enum fail directed_save_keys(struct backend *backend, int server, struct failure *failure)
{
    return servers_save_keys(servers_of(backend), server, failure);
}

enum fail directed_restart_with_saved(struct backend *backend, int server, struct failure *failure)
{
    enum fail fail = servers_restart_with_saved(servers_of(backend), server, failure);
    return fail ? fail : follow(backend, server, failure);
}

enum fail directed_flush_keys(struct backend *backend, int server, struct failure *failure)
{
    return servers_flush_keys(servers_of(backend), server, failure);
}

enum fail directed_kill_clients(struct backend *backend, int server, int connections,
                                struct failure *failure)
{
    return servers_kill_clients(servers_of(backend), server, connections, failure);
}

enum fail directed_cut_replica(struct backend *backend, int server, struct failure *failure)
{
    struct servers *servers = servers_of(backend);
    if (replica_acknowledge(servers, server, failure) ||
        servers_cut_replica(servers, server, failure))
        return failure->code;
    return servers_outrun_replica(servers, server, failure);
}

/* A replica that was not cut off has all the keys: servers.h sees to it. */
enum fail directed_fail_over(struct backend *backend, int server, enum promoter promoter,
                             bool is_cut, struct failure *failure)
{
    const struct directed *directed = (struct directed *)backend;
    (void)is_cut;
    enum fail fail = promoter == PROMOTER_SENTINEL
                         ? servers_failover_by_sentinel(servers_of(backend), server, failure)
                         : servers_failover(servers_of(backend), server, failure);
    if (!fail && directed->run->scheme->needs_replica)
        fail = servers_follow_promoted(servers_of(backend), server, failure);
    return fail ? fail : follow(backend, server, failure);
}

enum fail directed_evict(struct backend *backend, int server, struct failure *failure)
{
    const struct directed *directed = (const struct directed *)backend;
    char key[KEY_PREFIX_MAX + 16];
    (void)snprintf(key, sizeof key, "%s%s", directed->prefix, key_name(KEY_LOCK));
    return servers_evict(servers_of(backend), server, key, failure);
}

enum fail directed_flush_scripts(struct backend *backend, int server, struct failure *failure)
{
    return servers_flush_scripts(servers_of(backend), server, failure);
}

enum fail directed_stop(struct backend *backend, int server, struct failure *failure)
{
    return servers_stop(servers_of(backend), server, failure);
}

/* Of a silent server nothing is let go at its proxy: that is the core's to see to. */
enum fail directed_set_reach(struct backend *backend, int server, enum server_reach reach,
                             struct failure *failure)
{
    struct live *live = ((struct directed *)backend)->live;
    if (reach == REACH_OPEN && servers_go_on(&live->servers, server, failure))
        return failure->code;
    if (reach == REACH_READ_ONLY)
        return servers_hold_writes(&live->servers, server, failure);
    return reach == REACH_REFUSED ? live_refuse(live, server, failure)
                                  : live_accept(live, server, failure);
}

enum fail directed_fail_to_connect(struct backend *backend, int client, int server,
                                   struct failure *failure)
{
    const struct directed *directed = (const struct directed *)backend;
    if (!live_prove_refusal(directed->live, server, failure))
        return FAIL_NONE;
    return failure_wrap(failure, "%s", directed->run->names[client]);
}
