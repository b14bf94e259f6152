/* serve.c - see serve.h: ties interface, proxies, signals and the parent's life to one loop. */
#include "toxiproxy/serve.h"

#include "base/infile.h"
#include "base/memory.h"
#include "proxy/lifetime.h"
#include "toxiproxy/http.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

struct serving {
    uv_loop_t loop;
    struct collection collection;
    struct http *http;
    struct lifetime lifetime;
    bool is_ending;
};

static void end(void *context, const char *why)
{
    struct serving *self = context;
    (void)why;
    if (self->is_ending)
        return;
    self->is_ending = true;
    http_close(self->http);
    collection_close(&self->collection);
    lifetime_stop(&self->lifetime);
}

static enum fail populate(struct serving *self, const char *path, struct failure *failure)
{
    char *text = NULL;
    size_t length = 0;
    if (infile_read(path, API_BODY_MAX, &text, &length, failure))
        return failure->code;
    enum fail fail = api_populate(&self->collection, text, length, failure);
    free(text);
    return fail ? failure_wrap(failure, "%s", path) : FAIL_NONE;
}

static enum fail serve(struct serving *self, const struct toxiproxy_options *options,
                       const struct proxy_address *listen, pid_t parent, struct failure *failure)
{
    int port;
    self->collection = (struct collection){
        .loop = &self->loop,
        .seed = options->seed,
        .takes_any_host = options->takes_any_host,
        .notice = options->notice,
        .context = options->context,
    };
    enum fail fail = http_new(&self->http, &self->loop, listen, &self->collection, &port, failure);
    if (fail)
        return failure_wrap(failure, "--toxiproxy-api");
    lifetime_start(&self->lifetime, &self->loop, parent, end, self);
    if (options->config)
        fail = populate(self, options->config, failure);
    if (!fail)
        fail = options->ready(options->context, port, failure);
    if (fail)
        end(self, "it cannot begin");
    uv_run(&self->loop, UV_RUN_DEFAULT);
    return fail;
}

enum fail toxiproxy_serve(const struct toxiproxy_options *options, struct failure *failure)
{
    struct proxy_address listen;
    pid_t parent = getppid();
    if (proxy_address_read(options->api, &listen, failure))
        return failure_wrap(failure, "--toxiproxy-api");
    struct serving *self = memory_new(1, sizeof *self);
    enum fail fail = FAIL_NONE;
    if (uv_loop_init(&self->loop) < 0) {
        fail = failure_set(failure, FAIL_UNAVAILABLE, "no event loop: out of file descriptors?");
    } else {
        fail = serve(self, options, &listen, parent, failure);
        int error = uv_loop_close(&self->loop);
        assert(!error);
    }
    free(self);
    return fail;
}
