/* standalone.c - see standalone.h: ties listeners, log, signals and the parent's life to one loop.
 */
#include "proxy/standalone.h"

#include "base/memory.h"
#include "proxy/lifetime.h"
#include "proxy/served.h"
#include "proxy/status.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct standalone {
    const struct standalone_options *options;
    uv_loop_t loop;
    struct serving_listeners all;
    struct log *log;
    struct status *status;
    struct lifetime lifetime;
    uv_prepare_t before_sleep;
    uv_signal_t asked; /* SIGUSR1: for the counters */
    uint64_t reads;    /* of the configuration */
    pid_t parent;
    bool is_ending, has_told_of_log, is_observed, is_logged;
    enum fail fail;
    struct failure *failure;
};

static void say(const struct standalone *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct standalone *self, const char *format, ...)
{
    char words[1200];
    va_list values;
    va_start(values, format);
    vsnprintf(words, sizeof words, format, values);
    va_end(values);
    if (self->options->notice)
        self->options->notice(self->options->context, words);
}

/* On stderr, whether there is a log or not. Requests and replies are counted where they are looked
 * at: with rules or a log. */
static void on_asked(uv_signal_t *signal, int number)
{
    const struct standalone *self = signal->data;
    char words[600];
    (void)number;
    for (const struct served_listener *served = self->all.first; served; served = served->next) {
        status_words(served, words, sizeof words);
        say(self, "%s", words);
    }
}

/* --- the end --- */

static void on_all_closed(void *context)
{
    struct standalone *self = context;
    const struct standalone_observer *observer = self->options->observer;
    if (self->is_observed)
        observer->end(observer->context);
    if (self->status)
        status_close(self->status);
    lifetime_stop(&self->lifetime);
    uv_close((uv_handle_t *)&self->before_sleep, NULL);
    uv_close((uv_handle_t *)&self->asked, NULL);
}

static void end(void *context, const char *why)
{
    struct standalone *self = context;
    if (self->is_ending)
        return;
    self->is_ending = self->all.is_ending = true;
    if (self->is_logged) {
        log_listener(self->log, NULL);
        log_end(self->log, why);
    }
    if (!self->all.open)
        on_all_closed(self);
    while (self->all.first)
        served_close(self->all.first);
}

/* A log that cannot be written is told of at once; the clients are served all the same. */
static void on_before_sleep(uv_prepare_t *prepare)
{
    struct standalone *self = prepare->data;
    struct failure failure;
    if (log_flush(self->log, &failure) == FAIL_NONE || self->has_told_of_log)
        return;
    self->has_told_of_log = true;
    say(self, "%s; clients are served, and what they do is only counted", failure.text);
}

/* --- what is served --- */

static enum fail read_config(const struct standalone *self, struct proxy_config *config,
                             struct failure *failure)
{
    const struct standalone_options *options = self->options;
    if (options->config)
        return config_read(config, options->config, failure);
    return config_of_options(config, options->listen, options->upstream, options->rules, failure);
}

/* Rows that are served already: kept[i] is what serves row i. Those that listen where they did
 * under the same name come first: another one that took the place of a renamed one does not get it.
 */
static void find_kept(const struct standalone *self, const struct proxy_config *config,
                      struct served_listener **kept)
{
    for (int named = 1; named >= 0; named--)
        for (struct served_listener *served = self->all.first; served; served = served->next) {
            bool is_free = true;
            for (int i = 0; i < config->count; i++)
                is_free &= kept[i] != served;
            for (int i = 0; is_free && i < config->count; i++)
                if (!kept[i] && served_listens(served, &config->rows[i], named)) {
                    kept[i] = served;
                    is_free = false;
                }
        }
}

/* Those that are new listen. */
static enum fail listen_to_new(struct standalone *self, struct proxy_config *config,
                               struct served_listener **kept, struct served_listener **made,
                               struct failure *failure)
{
    for (int i = 0; i < config->count; i++) {
        struct listener_config *row = &config->rows[i];
        if (kept[i] || served_new(&made[i], &self->all, row, failure) == FAIL_NONE)
            continue;
        while (i-- > 0)
            if (made[i])
                served_close(made[i]);
        return failure->code;
    }
    return FAIL_NONE;
}

static void close_old(struct standalone *self)
{
    for (struct served_listener *served = self->all.first, *next; served; served = next) {
        next = served->next;
        if (served->number != self->reads)
            served_close(served);
    }
}

/* Certificates are read where an upstream wants them, and anew with the rest. */
static enum fail read_tls(const struct standalone *self, const struct proxy_config *config,
                          struct tls **tls, struct failure *failure)
{
    for (int i = 0; i < config->count && !*tls; i++)
        if (config->rows[i].upstream.is_tls && tls_new(tls, &self->options->tls, failure))
            return failure->code;
    return FAIL_NONE;
}

/* All speak with it from here on; links that there are keep what they began with. */
static void take_tls(struct standalone *self, struct tls *old)
{
    for (struct served_listener *served = self->all.first; served; served = served->next)
        proxy_use_tls(served->proxy, self->all.tls);
    tls_free(old);
}

/* All or nothing: what cannot be read, or listened to, changes nothing. */
static enum fail serve_config(struct standalone *self, struct proxy_config *config,
                              struct failure *failure)
{
    struct served_listener *kept[LISTENERS_MAX] = {0}, *made[LISTENERS_MAX] = {0};
    struct tls *old = self->all.tls, *read = NULL;
    enum fail fail = read_tls(self, config, &read, failure);
    if (fail)
        return fail;
    if (read)
        self->all.tls = read;
    find_kept(self, config, kept);
    fail = listen_to_new(self, config, kept, made, failure);
    if (fail) {
        self->all.tls = old;
        tls_free(read); /* nobody who was to listen has a link */
    }
    self->reads += !fail;
    for (int i = 0; !fail && i < config->count; i++) {
        struct served_listener *served = made[i] ? made[i] : kept[i];
        if (made[i])
            served_add(served);
        else
            served_change(served, &config->rows[i]);
        served->number = self->reads;
    }
    if (!fail)
        close_old(self);
    if (!fail && read)
        take_tls(self, old);
    return fail;
}

/* Of files of ours: what this machine trusts is no reason to outlive a terminal. */
static bool has_certificates(const struct standalone *self)
{
    const struct tls_options *tls = &self->options->tls;
    return self->all.tls && (tls->ca_file || tls->certificate);
}

static void say_read(const struct standalone *self)
{
    const struct standalone_options *options = self->options;
    const char *file = options->config ? options->config : options->rules;
    const bool is_both = file && has_certificates(self);
    say(self, "read %s%s anew", file ? file : "the certificates",
        is_both ? " and the certificates" : "");
}

static void on_hung_up(void *context)
{
    struct standalone *self = context;
    struct failure failure = {0};
    if (self->is_ending)
        return;
    struct proxy_config *config = memory_new(1, sizeof *config);
    enum fail fail = read_config(self, config, &failure);
    if (!fail)
        fail = serve_config(self, config, &failure);
    config_free(config);
    free(config);
    if (fail)
        say(self, "%s; what was served is served on", failure.text);
    else
        say_read(self);
    if (self->log)
        log_notice(self->log, 0, failure.text[0] ? failure.text : "rules were read anew");
}

/* --- the beginning --- */

static void watch(struct standalone *self)
{
    if (self->options->config || self->options->rules || has_certificates(self))
        self->lifetime.hung_up = on_hung_up;
    lifetime_start(&self->lifetime, &self->loop, self->parent, end, self);
    self->before_sleep.data = self->asked.data = self;
    int error = uv_prepare_init(&self->loop, &self->before_sleep) |
                uv_signal_init(&self->loop, &self->asked) |
                uv_signal_start(&self->asked, on_asked, SIGUSR1);
    if (self->log)
        error |= uv_prepare_start(&self->before_sleep, on_before_sleep);
    assert(!error);
}

static enum fail begin_log(struct standalone *self)
{
    if (log_clear(self->log, self->failure))
        return self->failure->code;
    self->is_logged = true;
    for (struct served_listener *served = self->all.first; served; served = served->next) {
        log_listener(self->log, served->name[0] ? served->name : NULL);
        log_begin(self->log, served->listen_text, served->upstream_text, self->options->seed);
    }
    return FAIL_NONE;
}

/* What stands where results go is replaced last: it stays where anything else fails. */
static enum fail begin(struct standalone *self)
{
    const struct standalone_options *options = self->options;
    const struct standalone_observer *observer = options->observer;
    struct failure *failure = self->failure;
    if (options->control && status_new(&self->status, &self->all, options->control, failure))
        return failure->code;
    if (observer &&
        observer->begin(observer->context, &self->loop, self->all.first->proxy, failure))
        return failure->code;
    self->is_observed = observer != NULL;
    for (struct served_listener *served = self->all.first; options->ready && served;
         served = served->next)
        if (options->ready(options->context, served->name, served->listen_text,
                           proxy_port(served->proxy), failure))
            return failure->code;
    if (self->log && begin_log(self))
        return failure->code;
    if (observer)
        observer->begun(observer->context);
    return FAIL_NONE;
}

static enum fail serve(struct standalone *self, struct proxy_config *config)
{
    self->all = (struct serving_listeners){.loop = &self->loop,
                                           .log = self->log,
                                           .options = self->options,
                                           .all_closed = on_all_closed,
                                           .context = self};
    enum fail fail = serve_config(self, config, self->failure);
    if (fail) {
        uv_run(&self->loop, UV_RUN_DEFAULT); /* what was opened is closed there */
        return fail;
    }
    watch(self);
    self->fail = begin(self);
    if (self->fail)
        end(self, "it cannot begin");
    uv_run(&self->loop, UV_RUN_DEFAULT);
    return self->fail;
}

enum fail standalone_run(const struct standalone_options *options, struct failure *failure)
{
    struct standalone *self = memory_new(1, sizeof *self);
    struct proxy_config *config = memory_new(1, sizeof *config);
    self->options = options;
    self->failure = failure;
    self->parent = getppid();
    enum fail fail = read_config(self, config, failure);
    if (!fail && options->log)
        fail = log_new(&self->log, options->log, failure);
    if (!fail && uv_loop_init(&self->loop) < 0)
        fail = failure_set(failure, FAIL_UNAVAILABLE, "no event loop: out of file descriptors?");
    else if (!fail) {
        fail = serve(self, config);
        int error = uv_loop_close(&self->loop);
        assert(!error);
    }
    if (self->log && log_close(self->log, fail ? NULL : failure) && !fail)
        fail = FAIL_INTERNAL;
    tls_free(self->all.tls);
    config_free(config);
    free(config);
    free(self);
    return fail;
}
