/* servers.c - see servers.h: start, reset, steer, check. Faults are in server_faults.c, replicas in
 * replica.c, processes in reserve in spares.c, what a URL names in foreign.c. */
#include "live/servers.h"

#include "base/memory.h"
#include "live/foreign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum fail servers_open(struct servers *servers, const struct live_options *options,
                       const char *prefix, uv_loop_t *loop, uv_timer_t *tick,
                       struct failure *failure)
{
    memset(servers, 0, sizeof *servers);
    servers->prefix = prefix;
    servers->loop = loop;
    servers->tick = tick;
    servers->log = memory_new(1, sizeof *servers->log);
    (void)uv_fs_event_init(loop, servers->log);
    servers->program = options->redis_server;
    servers->steering = options->url ? REAL_TIME : options->steering;
    servers->is_foreign = options->url != NULL;
    if (options->url && options->steering == BENT_TIME)
        return failure_set(
            failure, FAIL_INPUT,
            "the clock of the server behind a URL is not ours to bend; leave the URL "
            "out to use private servers");
    if (options->url && options->redis_server)
        return failure_set(failure, FAIL_INPUT,
                           "a URL and a redis-server program exclude each other");
    return options->url ? url_read(options->url, &servers->url, failure) : FAIL_NONE;
}

enum fail servers_suit(const struct servers *servers, int count, bool has_replica,
                       struct failure *failure)
{
    /* Nothing is wrong with that server: this run cannot be made with it, others can. */
    if (servers->is_foreign && count != 1)
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "a URL names one server, and this run needs %d; leave the URL out to "
                           "use private servers",
                           count);
    if (servers->is_foreign && has_replica)
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "this run needs a replica to promote, and a server behind a URL is left "
                           "as it is; leave the URL out to use private servers");
    return FAIL_NONE;
}

/* --- private servers --- */

enum fail servers_link_shim(struct servers *servers, struct failure *failure)
{
    return clock_shim_link(servers->folder.path, servers->shim, sizeof servers->shim, failure);
}

enum fail servers_check(struct servers *servers, struct failure *failure)
{
    if (servers->is_foreign)
        return foreign_renew(servers, failure);
    for (int i = 0; i < servers->count; i++) {
        struct server *server = &servers->rows[i];
        if (server->is_dead)
            continue;
        if (process_check(&server->process, failure))
            return failure_wrap(failure, "server %d", i + 1);
        if (server->replica.pid && process_check(&server->replica, failure))
            return failure_wrap(failure, "replica of server %d", i + 1);
    }
    return FAIL_NONE;
}

void servers_bury(struct servers *servers)
{
    struct failure how;
    for (int i = 0; i < servers->count && !servers->is_foreign; i++) {
        struct server *server = &servers->rows[i];
        server->is_dead |= process_check(&server->process, &how) != FAIL_NONE;
        if (server->replica.pid && process_check(&server->replica, &how))
            replica_release(servers, server);
    }
}

/* A new process in the row of one that is not to be used again. */
static enum fail server_replace(struct servers *servers, struct server *server,
                                struct failure *failure)
{
    replica_release(servers, server);
    servers_end_process(servers, &server->process);
    servers->spares.wanted = SPARES_WANTED;
    return spares_take(servers, &server->process, failure);
}

static enum fail server_reset(struct servers *servers, struct server *server, bool has_replica,
                              struct failure *failure)
{
    struct failure why;
    servers_forget_saved(server);
    if (server->process.bus_port || server->is_dead) {
        server->is_dead = false;
        if (server_replace(servers, server, failure))
            return failure_wrap(failure, "server %d", server->number + 1);
    }
    if (servers_go_on(servers, server->number, failure))
        return failure->code;
    if (!has_replica || server->is_cut)
        replica_release(servers, server);
    if (server->process.clock)
        clock_set_offset(server->process.clock, 0);
    if (server->replica.clock)
        clock_set_offset(server->replica.clock, 0);
    if (servers_prove_clock(servers, server->number, failure))
        return FAIL_UNAVAILABLE;
    enum fail fail = process_reset(&server->process, server->replica.pid != 0, &why);
    if (fail == FAIL_UNAVAILABLE)
        return failure_set(failure, fail, "server %d: %s", server->number + 1, why.text);
    if (fail && server_replace(servers, server, failure))
        return failure_wrap(failure, "server %d", server->number + 1);
    if (has_replica && !server->replica.pid && replica_begin(servers, server, failure))
        return failure_wrap(failure, "replica of server %d", server->number + 1);
    return FAIL_NONE;
}

/* One that has more than its primary gave it is replaced, too. */
static enum fail replica_reset(struct servers *servers, struct server *server,
                               struct failure *failure)
{
    struct failure why;
    if (replica_wait_in_step(servers, server, failure))
        return FAIL_UNAVAILABLE;
    if (!process_prove_blank_replica(&server->replica, &why))
        return FAIL_NONE;
    servers_end_process(servers, &server->replica);
    replica_release(servers, server);
    if (replica_begin(servers, server, failure) || replica_wait_in_step(servers, server, failure) ||
        process_prove_blank_replica(&server->replica, failure))
        return failure_wrap(failure, "replica of server %d", server->number + 1);
    return FAIL_NONE;
}

/* The first alone: of a program that is no server nothing more is started. */
static enum fail servers_start(struct servers *servers, int count, struct failure *failure)
{
    if (servers->count > 0)
        spares_begin(servers, count - servers->count);
    for (; servers->count < count; servers->count++) {
        struct server *server = &servers->rows[servers->count];
        server->number = servers->count;
        server->servers = servers;
        if (spares_take(servers, &server->process, failure))
            return failure_wrap(failure, "server %d", servers->count + 1);
        if (servers->count == 0)
            spares_begin(servers, count - 1);
        (void)snprintf(servers->version, sizeof servers->version, "%s", server->process.version);
    }
    return FAIL_NONE;
}

static int replicas_missing(const struct servers *servers, int count)
{
    int missing = 0;
    for (int i = 0; i < count; i++)
        missing += !servers->rows[i].replica.pid || servers->rows[i].is_cut;
    return missing;
}

enum fail servers_prepare(struct servers *servers, int count, bool has_replica,
                          struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    if (servers_suit(servers, count, has_replica, failure))
        return FAIL_NOT_APPLICABLE;
    if (servers->is_foreign)
        return foreign_prepare(servers, failure);
    if (!servers->has_folder && folder_open(&servers->folder, failure))
        return FAIL_UNAVAILABLE;
    servers->has_folder = true;
    if (servers_check(servers, failure) || servers_start(servers, count, failure))
        return FAIL_UNAVAILABLE;
    if (has_replica)
        spares_begin(servers, replicas_missing(servers, count));
    servers_set_clock(servers, 0);
    for (int i = 0; !fail && i < count; i++)
        fail = server_reset(servers, &servers->rows[i], has_replica, failure);
    for (int i = 0; !fail && has_replica && i < count; i++)
        fail = replica_reset(servers, &servers->rows[i], failure);
    for (int i = 0; !fail && servers->steering == BENT_TIME && i < count; i++) {
        servers->rows[i].gains_us = 0;
        clock_let_run(servers->rows[i].process.clock);
        if (servers->rows[i].replica.clock)
            clock_let_run(servers->rows[i].replica.clock);
    }
    if (!fail)
        spares_refill(servers);
    return fail;
}

static void log_closed(uv_handle_t *handle)
{
    free(handle);
}

void servers_close(struct servers *servers)
{
    for (int i = 0; i < SERVERS_MAX; i++) {
        struct server *server = &servers->rows[i];
        control_shut(server->held);
        server->held = NULL;
        process_kill(&server->replica);
        replica_release(servers, server);
        if (server->feed)
            proxy_close(server->feed, NULL, NULL);
        server->feed = NULL;
        process_kill(&server->process);
        servers_forget_saved(server);
    }
    spares_close(servers);
    foreign_close(servers);
    if (servers->has_folder)
        folder_shut(&servers->folder);
    servers->has_folder = false;
    servers->count = 0;
    if (servers->log)
        uv_close((uv_handle_t *)servers->log, log_closed);
    servers->log = NULL;
}

struct proxy_address servers_address(const struct servers *servers, int server)
{
    const struct url url =
        servers->is_foreign ? servers->url : process_url(&servers->rows[server].process);
    struct proxy_address address = {.port = url.port};
    memcpy(address.host, url.host, sizeof address.host);
    memcpy(address.path, url.path, sizeof address.path);
    return address;
}

redisContext *servers_control(const struct servers *servers, int server)
{
    return servers->is_foreign ? servers->foreign : servers->rows[server].process.control;
}

enum fail servers_prove_clock(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    if (servers->steering == REAL_TIME || server->is_dead)
        return FAIL_NONE;
    if (process_prove_clock(&server->process, failure))
        return failure_wrap(failure, "server %d", number + 1);
    if (server->replica.pid && process_prove_clock(&server->replica, failure))
        return failure_wrap(failure, "replica of server %d", number + 1);
    return FAIL_NONE;
}

/* On a new connection, where somebody has ended ours. */
static enum fail look(struct servers *servers, int server, struct pace *pace,
                      struct failure *failure)
{
    enum fail fail = pace_look(pace, servers_control(servers, server), failure);
    if (fail && servers->is_foreign && !foreign_again(servers, failure))
        fail = pace_look(pace, servers->foreign, failure);
    if (fail && servers->is_foreign)
        return failure_wrap(failure, "server at %s", servers->url.shown);
    return fail ? failure_wrap(failure, "server %d", server + 1) : FAIL_NONE;
}

enum fail servers_look_at_clocks(struct servers *servers, int count, struct failure *failure)
{
    for (int i = 0; servers->steering != STEERED && i < count; i++)
        if (!servers->rows[i].is_dead && look(servers, i, &servers->paces[i], failure))
            return FAIL_UNAVAILABLE;
    return FAIL_NONE;
}

enum fail servers_compare_clocks(struct servers *servers, int count, int64_t error_us,
                                 struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; !fail && servers->steering != STEERED && i < count; i++) {
        if (servers->rows[i].is_dead || servers->rows[i].process.is_stopped)
            continue;
        const struct pace then = servers->paces[i];
        fail = look(servers, i, &servers->paces[i], failure);
        if (!fail)
            fail = pace_compare(&then, &servers->paces[i], servers->rows[i].gains_us, error_us,
                                failure);
    }
    return fail;
}

void servers_set_clock(struct servers *servers, int64_t now_us)
{
    for (int i = 0; i < servers->count; i++) {
        const struct server *server = &servers->rows[i];
        if (server->process.clock)
            clock_freeze_at(server->process.clock, CLOCK_EPOCH_US + now_us);
        if (server->replica.clock)
            clock_freeze_at(server->replica.clock, CLOCK_EPOCH_US + now_us);
    }
}

int64_t servers_clock_us(const struct servers *servers, int server)
{
    return clock_says_us(servers->rows[server].process.clock);
}

void servers_jump_clock(struct servers *servers, int number, int64_t amount_us)
{
    const struct server *server = &servers->rows[number];
    clock_jump(server->process.clock, amount_us);
    if (server->replica.clock)
        clock_jump(server->replica.clock, amount_us);
}
