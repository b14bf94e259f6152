/* proxied.c - see proxied.h: ties turns and story to the loop of the proxy that stands alone. */
#include "watch/proxied.h"

#include "base/memory.h"
#include "watch/internal.h"

#include <stdlib.h>

enum { TICK_MS = 20 };

struct watched_proxy {
    struct watched_run watching; /* first: the hooks' context */
    struct standalone_observer observer;
    uv_timer_t tick, next_turn;
    bool has_begun;
};

static void on_tick(uv_timer_t *timer)
{
    watching_tick(timer->data);
}

static enum fail begin(void *context, uv_loop_t *loop, struct proxy *proxy, struct failure *failure)
{
    struct watched_proxy *watched = context;
    struct watched_run *watching = &watched->watching;
    if (history_writer_show(watching->writer, failure))
        return failure->code;
    watching->proxy = proxy;
    watching->next_turn = &watched->next_turn;
    watched->tick.data = watched->next_turn.data = watching;
    if (uv_timer_init(loop, &watched->tick) | uv_timer_init(loop, &watched->next_turn) |
        uv_timer_start(&watched->tick, on_tick, TICK_MS, TICK_MS))
        return failure_set(failure, FAIL_UNAVAILABLE, "no timers");
    return FAIL_NONE;
}

static void begun(void *context)
{
    struct watched_proxy *watched = context;
    watched->has_begun = true;
    history_writer_replace(watched->watching.writer);
}

static void end(void *context)
{
    struct watched_proxy *watched = context;
    uv_close((uv_handle_t *)&watched->tick, NULL);
    uv_close((uv_handle_t *)&watched->next_turn, NULL);
}

enum fail watched_proxy_new(struct watched_proxy **made, const struct watch_options *options,
                            struct watch_outcome *outcome, struct failure *failure)
{
    struct url url;
    struct watched_proxy *watched = memory_new(1, sizeof *watched);
    enum fail fail = url_read(options->url, &url, failure);
    if (!fail)
        fail = watching_open(&watched->watching, options, outcome, failure);
    if (fail) {
        free(watched);
        return fail;
    }
    if (watching_connect(&watched->watching, &url, false, failure)) {
        (void)watched_proxy_close(watched, failure); /* adds no words */
        return failure->code;
    }
    watched_observe(&watched->watching, &watched->observer);
    watched->observer.begin = begin;
    watched->observer.begun = begun;
    watched->observer.end = end;
    *made = watched;
    return FAIL_NONE;
}

const struct standalone_observer *watched_proxy_observer(struct watched_proxy *watched)
{
    return &watched->observer;
}

enum fail watched_proxy_close(struct watched_proxy *watched, struct failure *failure)
{
    const enum fail fail = watching_close(
        &watched->watching, watched->has_begun ? FAIL_NONE : FAIL_UNAVAILABLE, failure);
    free(watched);
    return fail;
}
