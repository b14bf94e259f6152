/* foreign.c - the server that a URL names: somebody else's. See servers.h. */
#include "live/foreign.h"

#include "base/monotonic.h"
#include "live/control.h"
#include "live/footprint.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SWEEP_S = 5 }; /* how long the sweeper lives behind us; it tries again each second */

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

/* Whoever answers otherwise would only be waited for. */
static enum fail foreign_greet(redisContext *control, struct failure *failure)
{
    redisReply *reply = control_ask(control, failure, "PING");
    if (!reply)
        return FAIL_UNAVAILABLE;
    bool is_pong = reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "PONG") == 0;
    enum fail fail = FAIL_NONE;
    if (!is_pong)
        fail = failure_set(failure, FAIL_UNAVAILABLE,
                           "PING was answered with \"%.48s\", not with PONG: is it Redis?",
                           reply->str ? reply->str : "");
    freeReplyObject(reply);
    return fail;
}

/* One key of ours, written and gone again: finds OOM, READONLY, LOADING, NOPERM before a run would.
 */
static enum fail foreign_check(struct servers *servers, struct failure *failure)
{
    redisContext *control = servers->foreign;
    if (foreign_greet(control, failure) || foreign_check_info(control, servers->version, failure) ||
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

/* Who it is before which database: a Sentinel or a Cluster has none to select. */
static enum fail foreign_open(struct servers *servers, struct failure *failure)
{
    struct url plain = servers->url;
    plain.database = 0;
    return control_open(&servers->foreign, &plain, failure);
}

enum fail foreign_again(struct servers *servers, struct failure *failure)
{
    if (control_is_hurried() && control_is_mute(servers->foreign))
        return FAIL_UNAVAILABLE;
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
    (void)signal(SIGALRM, SIG_DFL); /* which ends it, whatever it waits for */
    (void)alarm(SWEEP_S);
    while (!is_done) {
        is_done = !control_open(&control, &sweeping->url, NULL) &&
                  !footprint_clear(control, sweeping->prefix, locks, NULL) &&
                  !footprint_leave(control, sweeping->prefix, NULL);
        control_shut(control);
        control = NULL;
        if (!is_done)
            (void)nanosleep(&between, NULL);
    }
}

/* Our mark before any key, and somebody who takes the keys away should we be killed. */
static enum fail foreign_mark(struct servers *servers, struct failure *failure)
{
    if (footprint_mark(servers->foreign, servers->prefix, failure))
        return FAIL_UNAVAILABLE;
    servers->is_marked = true;
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

enum fail foreign_prepare(struct servers *servers, struct failure *failure)
{
    if (!servers->foreign && foreign_open(servers, failure))
        return FAIL_UNAVAILABLE;
    servers->count = 1;
    if (foreign_check(servers, failure) || foreign_mark(servers, failure))
        return failure_wrap(failure, "server at %s", servers->url.shown);
    return FAIL_NONE;
}

enum fail servers_has_replica(struct servers *servers, struct failure *failure)
{
    char replicas[24] = "";
    if (!servers->is_foreign)
        return servers->rows[0].replica.pid
                   ? FAIL_NONE
                   : failure_set(failure, FAIL_INTERNAL, "server 1 was to have a replica");
    redisReply *info = control_ask(servers->foreign, failure, "INFO replication");
    if (!info)
        return FAIL_UNAVAILABLE;
    if (info->type == REDIS_REPLY_STRING)
        control_field(info->str, "connected_slaves", replicas, sizeof replicas);
    freeReplyObject(info);
    return atoll(replicas) > 0
               ? FAIL_NONE
               : failure_set(failure, FAIL_INPUT,
                             "not applicable: the scheme asks with WAIT for a replica, and the "
                             "server at %s has none; leave the URL out to use private servers",
                             servers->url.shown);
}

enum fail foreign_renew(struct servers *servers, struct failure *failure)
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

void foreign_close(struct servers *servers)
{
    struct failure ignored;
    bool is_clear = !servers->is_marked || /* nothing of ours is there */
                    (servers->foreign && !control_is_mute(servers->foreign) &&
                     !servers_clear(servers, &ignored) &&
                     !footprint_leave(servers->foreign, servers->prefix, &ignored));
    control_shut(servers->foreign);
    servers->foreign = NULL;
    if (!is_clear) {
        sweeper_leave(&servers->sweeper);
        return;
    }
    if (servers->sweeper.pid)
        sweeper_tell(&servers->sweeper, 0);
    (void)sweeper_end(&servers->sweeper); /* it had nothing to do any more */
}
