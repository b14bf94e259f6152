/* key_watch.c - see key_watch.h. Source: Redis documentation, "Redis keyspace notifications". */
#include "worker/key_watch.h"

#include "live/control.h"
#include "live/servers.h"

#include <stdlib.h>
#include <string.h>

enum { GRANULE_US = 1000 }; /* a server counts whole milliseconds */

/* --- what the server says --- */

static enum fail no_events(struct key_watch *watch, struct failure *failure)
{
    key_watch_forget(watch);
    return failure_wrap(failure, "the server does not tell of writes to its keys");
}

static enum fail not_connected(struct key_watch *watch, struct failure *failure)
{
    failure_set(failure, FAIL_UNAVAILABLE, "%s",
                watch->events && watch->events->errstr[0] ? watch->events->errstr
                                                          : "no connection");
    return no_events(watch, failure);
}

static enum fail open_events(struct key_watch *watch, redisContext *control,
                             struct failure *failure)
{
    const struct timeval limit = {.tv_sec = CONTROL_SECONDS};
    if (watch->events)
        return FAIL_NONE;
    watch->events = redisConnectWithTimeout(control->tcp.host, control->tcp.port, limit);
    if (watch->servers)
        servers_note_context(watch->servers, watch->events);
    if (!watch->events || watch->events->err || redisSetTimeout(watch->events, limit) != REDIS_OK)
        return not_connected(watch, failure);
    redisReply *reply = control_ask(watch->events, failure, "PSUBSCRIBE __keyspace@*__:*");
    const bool is_done = reply && reply->type == REDIS_REPLY_ARRAY;
    if (reply && !is_done)
        failure_set(failure, FAIL_UNAVAILABLE, "PSUBSCRIBE was answered with no subscription");
    freeReplyObject(reply);
    return is_done ? FAIL_NONE : no_events(watch, failure);
}

/* What is no write: the key has gone by itself. */
static unsigned write_of(const char *event)
{
    if (strcmp(event, "expired") == 0 || strcmp(event, "evicted") == 0)
        return 0;
    if (strcmp(event, "expire") == 0 || strcmp(event, "persist") == 0)
        return LOOK_WROTE_EXPIRY;
    return strcmp(event, "del") == 0 ? LOOK_WROTE_END : LOOK_WROTE_VALUE;
}

/* "pmessage", the pattern, "__keyspace@0__:lock", "set". */
static unsigned write_told(struct key_watch *watch, const redisReply *reply, const char *key)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4)
        return 0;
    const char *about = strstr(reply->element[2]->str, "__:");
    if (!about || strcmp(about + 3, key) != 0)
        return 0;
    watch->has_expired |= strcmp(reply->element[3]->str, "expired") == 0;
    return write_of(reply->element[3]->str);
}

/* It answers in order: what it tells of before the answer is all so far. */
static enum fail ask_for_writes(struct key_watch *watch, struct failure *failure)
{
    int is_sent = redisAppendCommand(watch->events, "PING") == REDIS_OK ? 0 : -1;
    while (!is_sent && redisBufferWrite(watch->events, &is_sent) == REDIS_OK)
        ;
    return is_sent == 1 ? FAIL_NONE : not_connected(watch, failure);
}

static enum fail take_writes(struct key_watch *watch, const char *key, unsigned *writes,
                             struct failure *failure)
{
    *writes = 0;
    for (bool is_over = false; !is_over;) {
        redisReply *reply = control_answer(watch->events, "PING", failure);
        if (!reply)
            return no_events(watch, failure);
        *writes |= write_told(watch, reply, key);
        is_over = reply->type != REDIS_REPLY_ARRAY || reply->elements == 2;
        freeReplyObject(reply);
    }
    return FAIL_NONE;
}

/* Both at once: nothing is executed meanwhile. Where time is real, the key may end as it is looked
 * at, and that is told behind it. */
static enum fail see(struct key_watch *watch, redisContext *control, const struct lock_key *key,
                     bool is_real_time, struct key_state *state, unsigned *writes,
                     struct failure *failure)
{
    if ((!is_real_time && ask_for_writes(watch, failure)) ||
        look_at(control, key, state, failure) || (is_real_time && ask_for_writes(watch, failure)))
        return failure->code;
    return take_writes(watch, key->name, writes, failure);
}

/* --- between two executions --- */

static int64_t expires_us(const struct key_state *state, int64_t now_us)
{
    return state->ttl_us == TIME_NEVER ? TIME_NEVER : now_us + state->ttl_us;
}

static bool is_about(int64_t a_us, int64_t b_us)
{
    return a_us == b_us || (a_us != TIME_NEVER && b_us != TIME_NEVER &&
                            (a_us > b_us ? a_us - b_us : b_us - a_us) <= GRANULE_US);
}

/* Can it be so by itself? */
static bool is_as_left(const struct key_watch *watch, const struct key_state *now, int64_t now_us)
{
    const int64_t end_us = expires_us(&watch->last, watch->last_us);
    if (!watch->last.is_there)
        return !now->is_there;
    if (!now->is_there)
        return end_us != TIME_NEVER && end_us <= now_us + GRANULE_US;
    return strcmp(now->value, watch->last.value) == 0 && is_about(expires_us(now, now_us), end_us);
}

static void leave(struct key_watch *watch, const struct lock_key *key,
                  const struct key_state *state, int64_t now_us)
{
    watch->is_known = true;
    watch->last = *state;
    watch->last_us = now_us;
    (void)strcpy(watch->name, key->name);
}

enum fail key_watch_before(struct key_watch *watch, redisContext *control,
                           const struct lock_key *key, int64_t now_us, struct key_state *state,
                           struct failure *failure)
{
    unsigned writes = 0;
    watch->has_expired = false;
    if (open_events(watch, control, failure) ||
        see(watch, control, key, now_us == KEY_WATCH_REAL_TIME, state, &writes, failure))
        return failure->code;
    const bool is_same_key = watch->is_known && strcmp(watch->name, key->name) == 0;
    /* Nobody makes a key between two executions: it went behind the look. */
    if (now_us == KEY_WATCH_REAL_TIME && watch->has_expired)
        *state = (struct key_state){.ttl_us = TIME_NEVER};
    watch->has_expired = false;
    watch->is_past =
        is_same_key &&
        (writes || (now_us != KEY_WATCH_REAL_TIME && !is_as_left(watch, state, now_us)));
    if (watch->is_past)
        return failure_set(
            failure, FAIL_UNKNOWN,
            "somebody changed the key '%s' past the proxy, between two commands that "
            "were seen: what it did to the lock nobody here can tell",
            key->name);
    return FAIL_NONE;
}

/* What is left of it then, as a server counts: whole milliseconds, of both instants. False: it may
 * be over. */
static bool reckon_ttl(const struct key_watch *watch, int64_t clock_us, int64_t *ttl_us)
{
    const int64_t passed_ms = clock_us / GRANULE_US - watch->last_us / GRANULE_US;
    *ttl_us = watch->last.ttl_us;
    if (*ttl_us != TIME_NEVER)
        *ttl_us -= passed_ms * GRANULE_US;
    return *ttl_us > GRANULE_US;
}

enum fail key_watch_reckon(struct key_watch *watch, redisContext *control,
                           const struct lock_key *key, int64_t clock_us, struct key_state *state,
                           struct failure *failure)
{
    int64_t ttl_us = TIME_NEVER;
    const bool is_known = watch->is_known && strcmp(watch->name, key->name) == 0;
    if (!is_known || (watch->last.is_there && !reckon_ttl(watch, clock_us, &ttl_us)))
        return key_watch_before(watch, control, key, clock_us, state, failure);
    *state = watch->last;
    state->ttl_us = ttl_us;
    watch->has_expired = watch->is_past = false;
    return FAIL_NONE;
}

enum fail key_watch_behind(struct key_watch *watch, redisContext *control,
                           const struct lock_key *key, int64_t now_us, struct key_state *state,
                           unsigned *writes, struct failure *failure)
{
    if (see(watch, control, key, now_us == KEY_WATCH_REAL_TIME, state, writes, failure))
        return failure->code;
    leave(watch, key, state, now_us);
    return FAIL_NONE;
}

enum fail key_watch_level(const struct key_watch *watch, unsigned writes, bool is_refused,
                          struct key_state *before, struct key_state *behind,
                          struct failure *failure)
{
    const bool is_written = writes & (LOOK_WROTE_VALUE | LOOK_WROTE_EXPIRY);
    const bool is_about_to_end = !behind->is_there || behind->ttl_us <= 2 * GRANULE_US;
    if (watch->has_expired && is_written && is_about_to_end)
        return failure_set(failure, FAIL_UNKNOWN,
                           "the key '%s' was over before it could be looked at behind the command "
                           "that wrote it: it was given less time to live than a look takes, or "
                           "this machine stood still for so long: which of them nobody here can "
                           "tell",
                           watch->name);
    if (!watch->has_expired || !before->is_there) {
        if (!is_written && before->is_there && behind->is_there)
            behind->ttl_us = before->ttl_us;
    } else if (!is_written && (behind->is_there || is_refused)) {
        *behind = *before; /* it was there, and went when we looked, or behind that */
    } else {
        *before = (struct key_state){.ttl_us = TIME_NEVER}; /* it went before */
    }
    return FAIL_NONE;
}

void key_watch_forget(struct key_watch *watch)
{
    if (watch->events)
        redisFree(watch->events);
    *watch = (struct key_watch){.servers = watch->servers};
}
