/* server_eviction.c - memory pressure on a private server, until keys of locks are evicted; and
 * which. See servers.h. Source: redis-server 7.0, evict.c. */
#include "live/servers.h"

#include "live/control.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- one key, and no other --- */

enum { STEP_BYTES = 32, SQUEEZES_MAX = 20000, TOUCHES = 200 };

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
    int64_t limit = control_info_number(control, "memory", "used_memory", failure);
    for (int i = 0; limit > 0 && i < SQUEEZES_MAX; i++, limit -= STEP_BYTES) {
        if (control_do(control, failure, "CONFIG SET maxmemory %" PRId64, limit))
            return FAIL_UNAVAILABLE;
        int64_t exists = control_integer(control, failure, "EXISTS %s", key);
        if (exists == 0)
            return FAIL_NONE;
        if (exists < 0)
            return FAIL_UNAVAILABLE;
    }
    return failure_set(failure, FAIL_UNKNOWN, "memory pressure did not evict the key");
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
    int64_t evicted = control_info_number(control, "stats", "evicted_keys", failure);
    enum fail fail = touch_others(control, key, failure);
    if (!fail)
        fail = control_do(control, failure, "CONFIG SET maxmemory-policy %s", policy);
    if (!fail)
        fail = squeeze(control, key, failure);
    if (control_do(control, fail ? &ignored : failure, "CONFIG SET maxmemory 0") && !fail)
        fail = FAIL_UNAVAILABLE;
    /* Gone is not yet evicted, and another key may have gone with it. */
    int64_t now = fail ? 0 : control_info_number(control, "stats", "evicted_keys", failure);
    if (!fail && now != evicted + 1)
        fail = failure_set(failure, FAIL_UNKNOWN,
                           "it was to evict the lock key alone, and has evicted %" PRId64 " keys",
                           now - evicted);
    return fail ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}

/* --- any of those that expire --- */

enum { PRESSURE_BYTES = 64, PRESSURES = 64 };

/* Lowers the limit little by little until some have been evicted. */
static enum fail press(redisContext *control, int64_t *evicted, struct failure *failure)
{
    const int64_t before = control_info_number(control, "stats", "evicted_keys", failure);
    int64_t limit = control_info_number(control, "memory", "used_memory", failure);
    *evicted = 0;
    if (before < 0 || limit < 0)
        return FAIL_UNAVAILABLE;
    for (int i = 0; i < PRESSURES && *evicted == 0; i++) {
        limit -= PRESSURE_BYTES;
        if (control_do(control, failure, "CONFIG SET maxmemory %" PRId64, limit))
            return FAIL_UNAVAILABLE;
        const int64_t now = control_info_number(control, "stats", "evicted_keys", failure);
        if (now < 0)
            return FAIL_UNAVAILABLE;
        *evicted = now - before;
    }
    return FAIL_NONE;
}

enum fail servers_press(struct servers *servers, int number, int64_t *evicted,
                        struct failure *failure)
{
    redisContext *control = servers_control(servers, number);
    struct failure ignored;
    enum fail fail = control_do(control, failure, "CONFIG SET maxmemory-policy volatile-random");
    if (!fail)
        fail = press(control, evicted, failure);
    if (control_do(control, fail ? &ignored : failure, "CONFIG SET maxmemory 0") && !fail)
        fail = FAIL_UNAVAILABLE;
    return fail ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}
