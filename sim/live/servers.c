/* servers.c - see servers.h: start, empty, steer, check. Faults are in server_faults.c, replicas in
 * replica.c. */
#include "live/servers.h"

#include "base/monotonic.h"
#include "live/control.h"
#include "live/footprint.h"

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

/* --- somebody else's server --- */

enum { SWEEPS = 10 }; /* tries of the sweeper, a second apart */

/* What listens there, by name, where it is no server that a lock could be tried on. */
static enum fail foreign_check_mode(const char *info, struct failure *failure)
{
    char mode[16], role[16];
    control_field(info, "redis_mode", mode, sizeof mode);
    control_field(info, "role", role, sizeof role);
    if (strcmp(mode, "sentinel") == 0)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "it is a Redis Sentinel, which keeps no keys; name the primary that it "
                           "watches (SENTINEL get-master-addr-by-name NAME tells its address)");
    if (strcmp(mode, "cluster") == 0)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "it is a node of a Redis Cluster, which sends clients to other nodes "
                           "for other keys; name a server of its own, outside of the cluster");
    if (strcmp(role, "slave") == 0)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "it is a replica, which takes no writes; name its primary");
    return FAIL_NONE;
}

static enum fail foreign_check_info(redisContext *control, char *version, struct failure *failure)
{
    redisReply *info = control_ask(control, failure, "INFO");
    if (!info)
        return FAIL_UNAVAILABLE;
    enum fail fail = FAIL_NONE;
    if (info->type == REDIS_REPLY_STRING) {
        control_field(info->str, "redis_version", version, VERSION_MAX);
        fail = foreign_check_mode(info->str, failure);
    }
    freeReplyObject(info);
    return fail;
}

/* One key of ours, written and gone again: finds OOM, READONLY, LOADING, NOPERM before a run would.
 */
static enum fail foreign_check(struct servers *servers, struct failure *failure)
{
    redisContext *control = servers->foreign;
    if (control_do(control, failure, "PING") ||
        foreign_check_info(control, servers->version, failure) ||
        (servers->url.database && control_do(control, failure, "SELECT %d", servers->url.database)))
        return FAIL_UNAVAILABLE;
    char key[64];
    unsigned long long drawn = 0;
    if (uv_random(NULL, NULL, &drawn, sizeof drawn, 0, NULL) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "the system gives no random numbers");
    (void)snprintf(key, sizeof key, "picklock:%016llx:probe", drawn);
    if (control_do(control, failure, "SET %s 1 PX 10000", key) ||
        control_do(control, failure, "DEL %s", key))
        return FAIL_UNAVAILABLE;
    return FAIL_NONE;
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

/* Who it is before which database: a Sentinel or a Cluster has none to select. */
static enum fail foreign_open(struct servers *servers, struct failure *failure)
{
    struct url plain = servers->url;
    plain.database = 0;
    return control_open(&servers->foreign, &plain, failure);
}

/* The connection was lost: a new one, with our name, and our mark. */
static enum fail foreign_again(struct servers *servers, struct failure *failure)
{
    control_shut(servers->foreign);
    servers->foreign = NULL;
    if (control_open(&servers->foreign, &servers->url, failure) ||
        footprint_mark(servers->foreign, servers->prefix, failure))
        return failure_wrap(failure, "server at %s", servers->url.shown);
    return FAIL_NONE;
}

struct sweeping {
    struct url url;
    char prefix[KEY_PREFIX_MAX];
};

/* In the sweeper: we are gone, and keys of so many locks may be left. */
static void sweep_keys(const void *context, int locks)
{
    const struct sweeping *sweeping = context;
    const struct timespec between = {.tv_sec = 1};
    redisContext *control = NULL;
    bool is_done = locks == 0;
    for (int i = 0; !is_done && i < SWEEPS; i++) {
        if (i > 0)
            (void)nanosleep(&between, NULL);
        is_done = !control_open(&control, &sweeping->url, NULL) &&
                  !footprint_clear(control, sweeping->prefix, locks, NULL) &&
                  !footprint_leave(control, sweeping->prefix, NULL);
        control_shut(control);
        control = NULL;
    }
}

/* Our mark before any key, and somebody who takes the keys away should we be killed. */
static enum fail foreign_mark(struct servers *servers, struct failure *failure)
{
    if (footprint_mark(servers->foreign, servers->prefix, failure))
        return FAIL_UNAVAILABLE;
    /* Soon for the first time: who cannot renew is told at once. */
    servers->renewed_us = monotonic_us() - (FOOTPRINT_RENEW_MS - FOOTPRINT_FIRST_MS) * 1000;
    if (!servers->sweeper.pid) {
        struct sweeping sweeping = {.url = servers->url};
        (void)snprintf(sweeping.prefix, sizeof sweeping.prefix, "%s", servers->prefix);
        if (sweeper_start(&servers->sweeper, sweep_keys, &sweeping, failure))
            return FAIL_UNAVAILABLE;
    }
    sweeper_tell(&servers->sweeper, servers->locks);
    return FAIL_NONE;
}

static enum fail foreign_prepare(struct servers *servers, struct failure *failure)
{
    if (!servers->foreign && foreign_open(servers, failure))
        return FAIL_UNAVAILABLE;
    servers->count = 1;
    if (foreign_check(servers, failure) || foreign_mark(servers, failure))
        return failure_wrap(failure, "server at %s", servers->url.shown);
    return FAIL_NONE;
}

/* Often enough that our mark does not expire; anew, where the connection was lost meanwhile. */
static enum fail foreign_renew(struct servers *servers, struct failure *failure)
{
    if (!servers->foreign || monotonic_us() < servers->renewed_us + FOOTPRINT_RENEW_MS * 1000)
        return FAIL_NONE;
    servers->renewed_us = monotonic_us();
    if (!footprint_renew(servers->foreign, servers->prefix, servers->locks, failure))
        return FAIL_NONE;
    return foreign_again(servers, failure);
}

void servers_expect_locks(struct servers *servers, int locks)
{
    if (locks > servers->locks)
        servers->locks = locks;
    if (servers->sweeper.pid)
        sweeper_tell(&servers->sweeper, servers->locks);
}

enum fail servers_clear(struct servers *servers, struct failure *failure)
{
    if (!servers->is_foreign || !servers->foreign)
        return FAIL_NONE;
    if (!footprint_clear(servers->foreign, servers->prefix, servers->locks, failure))
        return FAIL_NONE;
    if (foreign_again(servers, failure))
        return FAIL_UNAVAILABLE;
    return footprint_clear(servers->foreign, servers->prefix, servers->locks, failure)
               ? failure_wrap(failure, "server at %s", servers->url.shown)
               : FAIL_NONE;
}

/* What was not cleared the sweeper tries to, behind us: nobody waits for that. */
static void foreign_close(struct servers *servers)
{
    struct failure ignored;
    bool is_clear = servers->foreign && !servers_clear(servers, &ignored) &&
                    !footprint_leave(servers->foreign, servers->prefix, &ignored);
    control_shut(servers->foreign);
    servers->foreign = NULL;
    if (!is_clear) {
        sweeper_leave(&servers->sweeper);
        return;
    }
    if (servers->sweeper.pid)
        sweeper_tell(&servers->sweeper, 0);
    sweeper_end(&servers->sweeper);
}

/* --- private servers --- */

/* The shim by a path of our own: where the program lies, blanks and colons may stand, at which
 * LD_PRELOAD splits. */
static enum fail shim_link(struct servers *servers, struct failure *failure)
{
    char shim[CLOCK_PATH_MAX], link[PROCESS_PATH_MAX];
    if (clock_shim_find(shim, failure))
        return FAIL_UNAVAILABLE;
    (void)snprintf(link, sizeof link, "%s/clock.so", servers->folder.path);
    if (symlink(shim, link) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", link, strerror(errno));
    (void)snprintf(servers->shim, sizeof servers->shim, "%s", link);
    return FAIL_NONE;
}

static enum fail page_open(struct servers *servers, struct server *server, struct failure *failure)
{
    if (servers->steering == REAL_TIME)
        return FAIL_NONE;
    if (!servers->shim[0] && shim_link(servers, failure))
        return FAIL_UNAVAILABLE;
    (void)snprintf(server->page_path, sizeof server->page_path, "%s/clock-%d", servers->folder.path,
                   server->number + 1);
    if (clock_page_open(&server->page, server->page_path, failure))
        return FAIL_UNAVAILABLE;
    clock_freeze_at(server->page, CLOCK_EPOCH_US);
    return FAIL_NONE;
}

static enum fail server_start(struct servers *servers, struct server *server,
                              struct failure *failure)
{
    char folder[PROCESS_PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s/server-%d-%d", servers->folder.path,
                   server->number + 1, servers->started++);
    if (!server->page && page_open(servers, server, failure))
        return FAIL_UNAVAILABLE;
    const struct process_options options = {.program = servers->program,
                                            .folder = folder,
                                            .shim = server->page ? servers->shim : NULL,
                                            .page = server->page_path,
                                            .clock = server->page,
                                            .port = server->process.port};
    if (process_start(&server->process, &options, failure))
        return failure_wrap(failure, "server %d", server->number + 1);
    (void)snprintf(servers->version, sizeof servers->version, "%s", server->process.version);
    return FAIL_NONE;
}

enum fail servers_check(struct servers *servers, struct failure *failure)
{
    if (servers->is_foreign)
        return foreign_renew(servers, failure);
    for (int i = 0; i < servers->count; i++) {
        struct server *server = &servers->rows[i];
        if (process_check(&server->process, failure) ||
            (server->replica.pid && process_check(&server->replica, failure)))
            return failure_wrap(failure, "server %d", i + 1);
    }
    return FAIL_NONE;
}

static enum fail server_empty(struct servers *servers, struct server *server, bool has_replica,
                              struct failure *failure)
{
    if (server->page)
        clock_set_offset(server->page, 0);
    if (servers_prove_clock(servers, server->number, failure))
        return FAIL_UNAVAILABLE;
    if (!has_replica || server->is_cut)
        replica_stop(server);
    if (control_do(server->process.control, failure, "FLUSHALL") ||
        control_do(server->process.control, failure, "SCRIPT FLUSH"))
        return failure_wrap(failure, "server %d", server->number + 1);
    if (!has_replica)
        return FAIL_NONE;
    if (!server->replica.pid && replica_start(servers, server, failure))
        return failure_wrap(failure, "replica of server %d", server->number + 1);
    return replica_wait_in_step(servers, server, failure);
}

enum fail servers_prepare(struct servers *servers, int count, bool has_replica,
                          struct failure *failure)
{
    if (servers_suit(servers, count, has_replica, failure))
        return FAIL_NOT_APPLICABLE;
    if (servers->is_foreign)
        return foreign_prepare(servers, failure);
    if (!servers->has_folder && folder_open(&servers->folder, failure))
        return FAIL_UNAVAILABLE;
    servers->has_folder = true;
    if (servers_check(servers, failure))
        return FAIL_UNAVAILABLE;
    for (; servers->count < count; servers->count++) {
        struct server *server = &servers->rows[servers->count];
        server->number = servers->count;
        if (server_start(servers, server, failure))
            return FAIL_UNAVAILABLE;
    }
    servers_set_clock(servers, 0);
    for (int i = 0; i < count; i++)
        if (server_empty(servers, &servers->rows[i], has_replica, failure))
            return FAIL_UNAVAILABLE;
    for (int i = 0; servers->steering == BENT_TIME && i < count; i++) {
        servers->rows[i].gains_us = 0;
        clock_let_run(servers->rows[i].page);
    }
    return FAIL_NONE;
}

void servers_close(struct servers *servers)
{
    for (int i = 0; i < SERVERS_MAX; i++) {
        struct server *server = &servers->rows[i];
        replica_stop(server);
        if (server->feed)
            proxy_close(server->feed, NULL, NULL);
        server->feed = NULL;
        process_kill(&server->process);
        clock_page_shut(server->page);
        server->page = NULL;
    }
    foreign_close(servers);
    if (servers->has_folder)
        folder_shut(&servers->folder);
    servers->has_folder = false;
    servers->count = 0;
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
    if (!server->page)
        return FAIL_NONE;
    if (process_prove_clock(&server->process, server->page, failure))
        return failure_wrap(failure, "server %d", number + 1);
    if (server->replica.pid && process_prove_clock(&server->replica, server->page, failure))
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
        if (look(servers, i, &servers->paces[i], failure))
            return FAIL_UNAVAILABLE;
    return FAIL_NONE;
}

enum fail servers_compare_clocks(struct servers *servers, int count, int64_t error_us,
                                 struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; !fail && servers->steering != STEERED && i < count; i++) {
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
    for (int i = 0; i < servers->count; i++)
        if (servers->rows[i].page)
            clock_freeze_at(servers->rows[i].page, CLOCK_EPOCH_US + now_us);
}
