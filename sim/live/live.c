/* live.c - see live.h: what all runs in the real world stand on. */
#include "live/internal.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "live/cluster.h"
#include "live/footprint.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    TICK_MS = 50,            /* how often a waiting world looks whether its servers still live */
    DEATH_LIMIT_US = 300000, /* its connections end before the system tells of its end */
    ERROR_LOCAL_US = 2000,   /* a server counts whole milliseconds; both clocks may be slewed */
    ERROR_REMOTE_US = 5000,
};

#define CLOSE_LIMIT_US INT64_C(10000000) /* connections on loopback end at once, or never */

static void looked(uv_timer_t *timer)
{
    (void)timer;
}

/* As many open files as we may have: a client's connection takes three. Fewer are no failure yet.
 */
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

enum fail live_new(struct live **made, const struct live_options *options, struct failure *failure)
{
    struct live *live = memory_new(1, sizeof *live);
    struct failure local, *why = failure ? failure : &local;
    unsigned long long drawn = 0;
    *made = NULL;
    live->stop = options->stop;
    raise_limit();
    int error = uv_loop_init(&live->loop);
    if (error < 0) {
        free(live);
        return failure_set(why, FAIL_UNAVAILABLE, "libuv: %s", uv_strerror(error));
    }
    (void)uv_timer_init(&live->loop, &live->tick);
    (void)signal(SIGPIPE, SIG_IGN); /* a peer that is gone is an error of write(), not our end */
    error = uv_random(NULL, NULL, &drawn, sizeof drawn, 0, NULL);
    footprint_prefix(drawn, live->prefix);
    if (error < 0)
        failure_set(why, FAIL_UNAVAILABLE, "no random numbers: %s", uv_strerror(error));
    else if (!servers_open(&live->servers, options, live->prefix, &live->loop, &live->tick, why)) {
        *made = live;
        return FAIL_NONE;
    }
    enum fail fail = why->code;
    live_free(live);
    return fail;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    for (int i = 0; i < live->endpoints_count; i++)
        endpoint_shut(&live->endpoints[i]);
    servers_close(&live->servers);
    uv_close((uv_handle_t *)&live->tick, NULL);
    wakeup_shut(&live->wakeup);
    (void)uv_run(&live->loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&live->loop);
    assert(left == 0);
    for (int i = 0; i < live->endpoints_count; i++)
        endpoint_free(&live->endpoints[i]);
    free(live);
}

const char *live_server_version(const struct live *live)
{
    return live->servers.version;
}

enum fail live_learn_version(struct live *live, int locks, struct failure *failure)
{
    if (live->servers.version[0])
        return FAIL_NONE;
    servers_expect_locks(&live->servers, locks);
    return servers_prepare(&live->servers, 1, false, failure);
}

bool live_has_own_servers(const struct live *live)
{
    return !live->servers.is_foreign;
}

bool live_is_real_time(const struct live *live)
{
    return live->servers.steering != STEERED;
}

enum fail live_suits(const struct live *live, int servers, bool has_replica,
                     struct failure *failure)
{
    return servers_suit(&live->servers, servers, has_replica, failure);
}

enum fail live_can(const struct live *live, enum choice_kind kind, struct failure *failure)
{
    return servers_can(&live->servers, kind, failure);
}

int64_t live_clock_error_us(const struct live *live)
{
    if (live->servers.steering == STEERED)
        return 0;
    return live->servers.is_foreign ? ERROR_REMOTE_US : ERROR_LOCAL_US;
}

enum fail live_compare_clocks(struct live *live, struct failure *failure)
{
    return servers_compare_clocks(&live->servers, live->looked_at, live_clock_error_us(live),
                                  failure);
}

/* --- a run --- */

void live_follow_server(struct live *live, int server)
{
    const struct proxy_address upstream = servers_address(&live->servers, server);
    proxy_set_upstream(live->endpoints[server].proxy, &upstream);
}

/* A proxy before each server that is ready, and clients go that way. */
static enum fail stand_before(struct live *live, int servers,
                              const struct connection_events *events, struct failure *failure)
{
    const struct url *login = live->servers.is_foreign ? &live->servers.url : NULL;
    for (; live->endpoints_count < servers; live->endpoints_count++) {
        int number = live->endpoints_count;
        const struct proxy_address upstream = servers_address(&live->servers, number);
        if (endpoint_open(&live->endpoints[number], &live->loop, number, &upstream, login, failure))
            return failure->code;
        live->endpoints[number].expiry_s = live->servers.is_foreign ? FOOTPRINT_KEYS_S : 0;
    }
    for (int i = 0; i < live->endpoints_count; i++) {
        live->endpoints[i].complaint[0] = '\0';
        live->endpoints[i].is_misread = false;
    }
    enum fail fail = FAIL_NONE;
    for (int i = 0; !fail && i < servers; i++) {
        live_follow_server(live, i);
        fail = live_prove_path(live, i, failure);
    }
    live_wait_for_connections(live);
    if (!fail)
        fail = servers_look_at_clocks(&live->servers, servers, failure);
    if (fail)
        return fail;
    live->looked_at = servers;
    for (int i = 0; i < live->endpoints_count; i++)
        live->endpoints[i].events = events;
    live->is_busy = true;
    return FAIL_NONE;
}

enum fail live_prepare(struct live *live, int servers, bool has_replica, int locks,
                       const struct connection_events *events, struct failure *failure)
{
    assert(!live->is_busy && servers > 0 && servers <= SERVERS_MAX);
    assert(locks > 0 && locks <= LOCKS_MAX);
    servers_expect_locks(&live->servers, locks);
    if (servers_prepare(&live->servers, servers, has_replica, failure))
        return failure->code;
    return stand_before(live, servers, events, failure);
}

enum fail live_prepare_cluster(struct live *live, const char *key, int locks,
                               const struct connection_events *events, struct failure *failure)
{
    assert(!live->is_busy && locks > 0 && locks <= LOCKS_MAX);
    servers_expect_locks(&live->servers, locks);
    if (cluster_prepare(&live->servers, key, failure))
        return failure->code;
    return stand_before(live, CLUSTER_MASTERS, events, failure);
}

void live_cluster_prefix(const struct live *live, int lock, char *prefix)
{
    char of_lock[KEY_PREFIX_MAX];
    live_lock_prefix(live, lock, of_lock);
    (void)snprintf(prefix, KEY_PREFIX_MAX, "{%.*s}:", KEY_PREFIX_MAX - 4, of_lock);
}

void live_lock_prefix(const struct live *live, int lock, char *prefix)
{
    (void)snprintf(prefix, KEY_PREFIX_MAX, "%.40s%d:", live->prefix, lock);
}

static bool has_connections(const struct live *live)
{
    for (int i = 0; i < live->endpoints_count; i++)
        if (live->endpoints[i].connections)
            return true;
    return false;
}

void live_wait_for_connections(struct live *live)
{
    int64_t limit_us = monotonic_us() + CLOSE_LIMIT_US;
    /* Without a look at the servers: connections end whether those live or not. */
    (void)uv_timer_start(&live->tick, looked, TICK_MS, TICK_MS);
    while (has_connections(live) && monotonic_us() < limit_us)
        (void)uv_run(&live->loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&live->tick);
}

enum fail live_finish(struct live *live, struct failure *failure)
{
    live->is_busy = false;
    live_wait_for_connections(live);
    enum fail fail = servers_clear(&live->servers, failure);
    for (int i = 0; i < live->endpoints_count; i++) {
        struct failure local;
        live->endpoints[i].events = NULL;
        if (live_accept(live, i, fail ? &local : failure) && !fail)
            fail = FAIL_UNAVAILABLE;
    }
    return fail;
}

/* --- waiting --- */

static void ticked(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

enum fail live_run_until(struct live *live, bool (*is_done)(void *context), void *context,
                         int64_t limit_us, struct failure *failure)
{
    bool has_ticked = false;
    enum fail fail = FAIL_NONE;
    if (is_done(context))
        return FAIL_NONE;
    const int64_t until_us = monotonic_us() + limit_us;
    live->tick.data = &has_ticked;
    uv_update_time(&live->loop);
    (void)uv_timer_start(&live->tick, ticked, TICK_MS, TICK_MS);
    while (!fail && !is_done(context)) {
        (void)uv_run(&live->loop, UV_RUN_ONCE);
        if (!has_ticked || is_done(context))
            continue;
        has_ticked = false;
        fail = servers_check(&live->servers, failure);
        if (!fail && monotonic_us() > until_us)
            fail = failure_set(failure, FAIL_UNKNOWN, "nothing came");
    }
    (void)uv_timer_stop(&live->tick);
    return fail;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

bool live_server_died(struct live *live, struct failure *failure)
{
    return live_run_until(live, never, NULL, DEATH_LIMIT_US, failure) == FAIL_UNAVAILABLE;
}
