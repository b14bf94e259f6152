/* served.c - see served.h: ties a proxy's hooks to rules, log, counters and whoever observes. */
#include "proxy/served.h"

#include "base/memory.h"
#include "base/monotonic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the proxy keeps for us of one link. */
struct owned {
    struct served_listener *served;
    struct rules_link *rules; /* NULL: no rules */
    struct proxy_link *link;
    void *observed; /* the observer's own */
    /* While a rule holds a request that an observer is to see: its bytes. */
    char *bytes;
    size_t length;
    int64_t held_since_us;
};

static const struct standalone_observer *observer_of(const struct served_listener *served)
{
    return served->all->options->observer;
}

/* The log, for an event of this listener; NULL: none. */
static struct log *log_of(const struct served_listener *served)
{
    if (served->all->log)
        log_listener(served->all->log, served->name[0] ? served->name : NULL);
    return served->all->log;
}

static void on_opened(void *context, struct proxy_link *link, int peer_port, void **owner)
{
    struct served_listener *served = context;
    struct owned *owned = *owner = memory_new(1, sizeof *owned);
    owned->served = served;
    owned->link = link;
    if (served->rules)
        owned->rules = rules_link_new(served->rules, link);
    if (observer_of(served))
        observer_of(served)->opened(observer_of(served)->context, link, peer_port,
                                    &owned->observed);
    if (log_of(served))
        log_open(served->all->log, proxy_link_number(link), peer_port);
}

/* Its rules were read anew: the link meets the new ones, once the old ones hold nothing of it. */
static void follow_rules(struct owned *owned)
{
    struct rules *rules = owned->served->rules;
    if (!owned->rules || rules_link_is_of(owned->rules, rules) || !rules_link_is_idle(owned->rules))
        return;
    rules_link_free(owned->rules);
    owned->rules = rules_link_new(rules, owned->link);
}

static bool on_passes_unseen(void *context, void *owner, struct proxy_request *request)
{
    const struct served_listener *served = context;
    const struct standalone_observer *observer = observer_of(served);
    struct owned *owned = owner;
    if (served->all->log)
        return false;
    follow_rules(owned);
    if (owned->rules && rules_may_meet(owned->rules, request))
        return false;
    return !observer || observer->passes_unseen(observer->context, owned->observed, request);
}

static enum proxy_decision on_request(void *context, void *owner, struct proxy_request *request)
{
    struct served_listener *served = context;
    struct owned *owned = owner;
    follow_rules(owned);
    if (log_of(served))
        log_request(served->all->log, request);
    enum proxy_decision decision = owned->rules ? rules_request(owned->rules, request) : PROXY_PASS;
    if (!observer_of(served) || decision == PROXY_DROP)
        return decision;
    if (decision == PROXY_PASS)
        return observer_of(served)->request(observer_of(served)->context, owned->observed, request);
    owned->held_since_us = monotonic_us();
    free(owned->bytes); /* of one that was held, and never let go */
    owned->bytes = memory_new(request->length + 1, 1);
    memcpy(owned->bytes, request->bytes, request->length);
    owned->length = request->length;
    return PROXY_HOLD;
}

/* A rule held it, and does so no more. */
static void on_let_go(void *context, struct proxy_request *request)
{
    struct served_listener *served = context;
    struct owned *owned = proxy_link_owner(request->link);
    enum proxy_decision decision = PROXY_PASS;
    char *bytes = owned->bytes;
    if (observer_of(served) && bytes) {
        owned->bytes = NULL;
        request->bytes = bytes;
        request->length = owned->length;
        request->held_us = monotonic_us() - owned->held_since_us;
        decision =
            observer_of(served)->request(observer_of(served)->context, owned->observed, request);
        request->bytes = NULL;
        free(bytes);
    }
    if (decision == PROXY_PASS)
        proxy_request_forward(request);
}

static void on_heard(void *context, struct proxy_request *request)
{
    struct served_listener *served = context;
    struct owned *owned = proxy_link_owner(request->link);
    if (observer_of(served))
        observer_of(served)->heard(observer_of(served)->context, owned->observed, request);
}

static enum proxy_decision on_reply(void *context, void *owner, struct proxy_request *request,
                                    const char *bytes, size_t length)
{
    struct served_listener *served = context;
    struct owned *owned = owner;
    if (log_of(served))
        log_reply(served->all->log, request, bytes, length);
    const enum proxy_decision decision =
        owned->rules ? rules_reply(owned->rules, request, bytes, length) : PROXY_PASS;
    if (observer_of(served))
        observer_of(served)->executed(observer_of(served)->context, owned->observed, request, bytes,
                                      length,
                                      decision == PROXY_PASS   ? DELIVERED_NOW
                                      : decision == PROXY_HOLD ? DELIVERED_LATER
                                                               : DELIVERED_NEVER);
    return decision;
}

static void on_dialled(void *context, void *owner, int own_port)
{
    struct served_listener *served = context;
    struct owned *owned = owner;
    if (observer_of(served))
        observer_of(served)->dialled(observer_of(served)->context, owned->observed, own_port);
}

static void on_closed(void *context, void *owner)
{
    struct served_listener *served = context;
    struct owned *owned = owner;
    if (log_of(served))
        log_shut(served->all->log, proxy_link_number(owned->link));
    if (owned->rules)
        rules_link_free(owned->rules);
    if (observer_of(served))
        observer_of(served)->closed(observer_of(served)->context, owned->observed);
    free(owned->bytes);
    free(owned);
}

static void on_broken_off(void *context, void *owner, const char *words)
{
    struct served_listener *served = context;
    struct owned *owned = owner;
    const struct standalone_options *options = served->all->options;
    char named[600];
    if (log_of(served)) {
        log_notice(served->all->log, owned ? proxy_link_number(owned->link) : 0, words);
        return;
    }
    snprintf(named, sizeof named, "%s%s%s", served->name, served->name[0] ? ": " : "", words);
    if (options->notice)
        options->notice(options->context, named);
}

static void on_notice(void *context, void *owner, const char *words)
{
    struct served_listener *served = context;
    struct owned *owned = owner;
    if (observer_of(served))
        observer_of(served)->notice(observer_of(served)->context, owned ? owned->observed : NULL,
                                    words);
    on_broken_off(context, owner, words);
}

static void on_struck(void *context, struct rules_link *link, const struct rules_told *told)
{
    struct served_listener *served = context;
    (void)link;
    served->faults += !told->words;
    if (log_of(served))
        log_fault(served->all->log, told);
}

/* --- its life --- */

static void start_rules(struct served_listener *served, struct listener_config *row)
{
    const struct rules_hooks hooks = {on_struck, on_let_go, on_heard, served};
    served->rules = row->rules;
    row->rules = NULL;
    if (served->rules)
        rules_start(served->rules, served->all->loop, served->all->options->seed, &hooks);
}

static void served_free(struct served_listener *served)
{
    if (served->rules)
        rules_free(served->rules);
    free(served->listen_text);
    free(served->upstream_text);
    free(served);
}

enum fail served_new(struct served_listener **made, struct serving_listeners *all,
                     struct listener_config *row, struct failure *failure)
{
    struct served_listener *served = memory_new(1, sizeof *served);
    const bool looks = row->rules || all->log || all->options->observer;
    const struct proxy_hooks hooks = {
        .opened = on_opened,
        .dialled = on_dialled,
        .request = looks ? on_request : NULL,
        .passes_unseen = looks ? on_passes_unseen : NULL,
        .reply = looks ? on_reply : NULL,
        .closed = on_closed,
        .notice = on_notice,
        .broken_off = on_broken_off,
        .context = served,
    };
    served->all = all;
    memcpy(served->name, row->name, sizeof served->name);
    if (proxy_new(&served->proxy, all->loop, &row->listen, &row->upstream, &hooks, failure)) {
        served_free(served);
        return failure->code;
    }
    all->open++;
    proxy_use_tls(served->proxy, all->tls);
    served->listen = row->listen;
    served->listen_text = memory_text(row->listen_text);
    served->upstream_text = memory_text(row->upstream_text);
    start_rules(served, row);
    *made = served;
    return FAIL_NONE;
}

void served_add(struct served_listener *served)
{
    struct served_listener **at = &served->all->first;
    while (*at)
        at = &(*at)->next;
    *at = served;
}

bool served_listens(const struct served_listener *served, const struct listener_config *row,
                    bool is_named)
{
    if (is_named)
        return !strcmp(served->name, row->name) && !strcmp(served->listen_text, row->listen_text);
    return row->listen.port == proxy_port(served->proxy) &&
           !strcmp(row->listen.host, served->listen.host) &&
           !strcmp(row->listen.path, served->listen.path);
}

static void replace_text(char **text, const char *by)
{
    free(*text);
    *text = memory_text(by);
}

void served_change(struct served_listener *served, struct listener_config *row)
{
    struct rules *old = served->rules;
    memcpy(served->name, row->name, sizeof served->name);
    replace_text(&served->listen_text, row->listen_text);
    start_rules(served, row);
    if (old)
        rules_free(old);
    if (strcmp(served->upstream_text, row->upstream_text) != 0) {
        proxy_use_tls(served->proxy, served->all->tls);
        proxy_set_upstream(served->proxy, &row->upstream);
        replace_text(&served->upstream_text, row->upstream_text);
    }
}

static void on_proxy_closed(void *context)
{
    struct served_listener *served = context;
    struct serving_listeners *all = served->all;
    served_free(served);
    if (--all->open == 0 && all->is_ending)
        all->all_closed(all->context);
}

void served_close(struct served_listener *served)
{
    struct served_listener **at = &served->all->first;
    while (*at && *at != served)
        at = &(*at)->next;
    if (*at)
        *at = served->next;
    if (served->all->is_ending)
        proxy_close(served->proxy, on_proxy_closed, served);
    else
        proxy_leave(served->proxy, on_proxy_closed, served);
}
