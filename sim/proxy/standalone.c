/* standalone.c - see standalone.h: ties proxy, rules, log, signals and the parent's life to one
 * loop. */
#include "proxy/standalone.h"

#include "base/memory.h"
#include "proxy/lifetime.h"
#include "proxy/log.h"
#include "proxy/rules.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct standalone {
    const struct standalone_options *options;
    uv_loop_t loop;
    struct proxy *proxy;
    struct rules *rules;
    struct log *log;
    struct lifetime lifetime;
    uv_prepare_t before_sleep;
    uv_signal_t asked; /* SIGUSR1: for the counters */
    uint64_t requests, replies, faults;
    pid_t parent;
    bool is_ending;
    enum fail fail;
    struct failure *failure;
};

/* What the proxy keeps for us of one link. */
struct owned {
    struct rules_link *rules; /* NULL: no rules */
    struct proxy_link *link;
    void *observed; /* the observer's own */
    /* While a rule holds a request that an observer is to see: its bytes. */
    char *bytes;
    size_t length;
};

static const struct standalone_observer *observer_of(const struct standalone *self)
{
    return self->options->observer;
}

static void on_opened(void *context, struct proxy_link *link, int peer_port, void **owner)
{
    struct standalone *self = context;
    struct owned *owned = *owner = memory_new(1, sizeof *owned);
    owned->link = link;
    if (self->rules)
        owned->rules = rules_link_new(self->rules, link);
    if (observer_of(self))
        observer_of(self)->opened(observer_of(self)->context, link, peer_port, &owned->observed);
    if (self->log)
        log_open(self->log, proxy_link_number(link), peer_port);
}

static enum proxy_decision on_request(void *context, void *owner, struct proxy_request *request)
{
    struct standalone *self = context;
    struct owned *owned = owner;
    self->requests++;
    if (self->log)
        log_request(self->log, request);
    enum proxy_decision decision = owned->rules ? rules_request(owned->rules, request) : PROXY_PASS;
    if (!observer_of(self) || decision == PROXY_DROP)
        return decision;
    if (decision == PROXY_PASS)
        return observer_of(self)->request(observer_of(self)->context, owned->observed, request);
    free(owned->bytes); /* of one that was held, and never let go */
    owned->bytes = memory_new(request->length + 1, 1);
    memcpy(owned->bytes, request->bytes, request->length);
    owned->length = request->length;
    return PROXY_HOLD;
}

/* A rule held it, and does so no more. */
static void on_let_go(void *context, struct proxy_request *request)
{
    struct standalone *self = context;
    struct owned *owned = proxy_link_owner(request->link);
    enum proxy_decision decision = PROXY_PASS;
    char *bytes = owned->bytes;
    if (observer_of(self) && bytes) {
        owned->bytes = NULL;
        request->bytes = bytes;
        request->length = owned->length;
        decision = observer_of(self)->request(observer_of(self)->context, owned->observed, request);
        request->bytes = NULL;
        free(bytes);
    }
    if (decision == PROXY_PASS)
        proxy_request_forward(request);
}

static void on_heard(void *context, struct proxy_request *request)
{
    struct standalone *self = context;
    struct owned *owned = proxy_link_owner(request->link);
    if (observer_of(self))
        observer_of(self)->heard(observer_of(self)->context, owned->observed, request);
}

static enum proxy_decision on_reply(void *context, void *owner, struct proxy_request *request,
                                    const char *bytes, size_t length)
{
    struct standalone *self = context;
    struct owned *owned = owner;
    self->replies++;
    if (self->log)
        log_reply(self->log, request, bytes, length);
    const enum proxy_decision decision =
        owned->rules ? rules_reply(owned->rules, request, bytes, length) : PROXY_PASS;
    if (observer_of(self))
        observer_of(self)->executed(observer_of(self)->context, owned->observed, request, bytes,
                                    length,
                                    decision == PROXY_PASS   ? DELIVERED_NOW
                                    : decision == PROXY_HOLD ? DELIVERED_LATER
                                                             : DELIVERED_NEVER);
    return decision;
}

static void on_dialled(void *context, void *owner, int own_port)
{
    struct standalone *self = context;
    struct owned *owned = owner;
    if (observer_of(self))
        observer_of(self)->dialled(observer_of(self)->context, owned->observed, own_port);
}

static void on_closed(void *context, void *owner)
{
    struct standalone *self = context;
    struct owned *owned = owner;
    if (self->log)
        log_shut(self->log, proxy_link_number(owned->link));
    if (owned->rules)
        rules_link_free(owned->rules);
    if (observer_of(self))
        observer_of(self)->closed(observer_of(self)->context, owned->observed);
    free(owned->bytes);
    free(owned);
}

static void on_notice(void *context, void *owner, const char *words)
{
    struct standalone *self = context;
    struct owned *owned = owner;
    if (observer_of(self))
        observer_of(self)->notice(observer_of(self)->context, owned ? owned->observed : NULL,
                                  words);
    if (self->log)
        log_notice(self->log, owned ? proxy_link_number(owned->link) : 0, words);
    else if (self->options->notice)
        self->options->notice(self->options->context, words);
}

static void on_struck(void *context, struct rules_link *link, const struct rules_told *told)
{
    struct standalone *self = context;
    (void)link;
    self->faults += !told->words;
    if (self->log)
        log_fault(self->log, told);
}

/* On stderr, whether there is a log or not. Requests and replies are counted where they are looked
 * at: with rules or a log. */
static void on_asked(uv_signal_t *signal, int number)
{
    const struct standalone *self = signal->data;
    char words[400], looked_at[120] = "";
    (void)number;
    if (!self->proxy || self->is_ending || !self->options->notice)
        return;
    const struct proxy_traffic traffic = proxy_traffic(self->proxy);
    if (self->rules || self->log)
        snprintf(looked_at, sizeof looked_at,
                 "; %" PRIu64 " requests, %" PRIu64 " replies, %" PRIu64 " faults", self->requests,
                 self->replies, self->faults);
    snprintf(words, sizeof words,
             "%" PRIu64 " connections so far, %" PRId64 " open; %" PRIu64
             " bytes from clients, %" PRIu64 " to them%s",
             traffic.links, proxy_links_count(self->proxy), traffic.read, traffic.written,
             looked_at);
    self->options->notice(self->options->context, words);
}

/* --- the end --- */

static void on_proxy_closed(void *context)
{
    struct standalone *self = context;
    self->proxy = NULL;
    if (observer_of(self))
        observer_of(self)->end(observer_of(self)->context);
    lifetime_stop(&self->lifetime);
    uv_close((uv_handle_t *)&self->before_sleep, NULL);
    uv_close((uv_handle_t *)&self->asked, NULL);
}

static void end(void *context, const char *why)
{
    struct standalone *self = context;
    if (self->is_ending)
        return;
    self->is_ending = true;
    if (self->log)
        log_end(self->log, why);
    proxy_close(self->proxy, on_proxy_closed, self);
}

static void on_before_sleep(uv_prepare_t *prepare)
{
    struct standalone *self = prepare->data;
    if (self->fail || log_flush(self->log, self->failure) == FAIL_NONE)
        return;
    self->fail = self->failure->code;
    end(self, "the log cannot be written");
}

/* --- the beginning --- */

static void watch(struct standalone *self)
{
    lifetime_start(&self->lifetime, &self->loop, self->parent, end, self);
    self->before_sleep.data = self->asked.data = self;
    int error = uv_prepare_init(&self->loop, &self->before_sleep) |
                uv_signal_init(&self->loop, &self->asked) |
                uv_signal_start(&self->asked, on_asked, SIGUSR1);
    if (self->log)
        error |= uv_prepare_start(&self->before_sleep, on_before_sleep);
    assert(!error);
}

static enum fail serve(struct standalone *self, const struct proxy_address *listen,
                       const struct proxy_address *upstream)
{
    const struct standalone_options *options = self->options;
    bool looks = self->rules || self->log || options->observer;
    const struct proxy_hooks hooks = {
        .opened = on_opened,
        .dialled = on_dialled,
        .request = looks ? on_request : NULL,
        .reply = looks ? on_reply : NULL,
        .closed = on_closed,
        .notice = on_notice,
        .context = self,
    };
    if (self->rules)
        rules_start(self->rules, &self->loop, options->seed,
                    &(struct rules_hooks){on_struck, on_let_go, on_heard, self});
    enum fail fail = proxy_new(&self->proxy, &self->loop, listen, upstream, &hooks, self->failure);
    if (fail) {
        uv_run(&self->loop, UV_RUN_DEFAULT); /* what was opened is closed there */
        return fail;
    }
    watch(self);
    if (options->observer &&
        (self->fail = options->observer->begin(options->observer->context, &self->loop, self->proxy,
                                               self->failure)))
        end(self, "the history cannot begin");
    if (self->log)
        log_begin(self->log, options->listen, options->upstream, options->seed);
    if (!self->fail && options->ready &&
        (self->fail = options->ready(options->context, proxy_port(self->proxy), self->failure)))
        end(self, "nobody can be told where it listens");
    uv_run(&self->loop, UV_RUN_DEFAULT);
    return self->fail;
}

enum fail standalone_run(const struct standalone_options *options, struct failure *failure)
{
    struct proxy_address listen, upstream;
    struct standalone *self = memory_new(1, sizeof *self);
    self->options = options;
    self->failure = failure;
    self->parent = getppid();
    enum fail fail = proxy_address_read(options->listen, &listen, failure);
    if (fail)
        failure_wrap(failure, "--listen");
    else if ((fail = proxy_address_read(options->upstream, &upstream, failure)))
        failure_wrap(failure, "--upstream");
    if (!fail && options->rules)
        fail = rules_read(&self->rules, options->rules, failure);
    if (!fail && options->log)
        fail = log_new(&self->log, options->log, failure);
    if (!fail && uv_loop_init(&self->loop) < 0)
        fail = failure_set(failure, FAIL_UNAVAILABLE, "no event loop: out of file descriptors?");
    else if (!fail) {
        fail = serve(self, &listen, &upstream);
        int error = uv_loop_close(&self->loop);
        assert(!error);
    }
    if (self->rules)
        rules_free(self->rules);
    if (self->log && log_close(self->log, fail ? NULL : failure) && !fail)
        fail = FAIL_INTERNAL;
    free(self);
    return fail;
}
