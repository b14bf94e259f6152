/* serve.h - `picklock proxy --toxiproxy-api`: proxies that are steered over HTTP, until a signal
 * comes or its parent is gone. */
#ifndef PICKLOCK_TOXIPROXY_SERVE_H
#define PICKLOCK_TOXIPROXY_SERVE_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

struct toxiproxy_options {
    const char *api;    /* an address; see proxy_address_read() */
    const char *config; /* file, or NULL: what POST /populate takes */
    int takes_any_host; /* 0 or 1 */
    uint64_t seed;      /* of toxicity, jitter and pieces */
    /* Called once, when it listens. What it fails with ends it. */
    enum fail (*ready)(void *context, int port, struct failure *failure);
    void (*notice)(void *context, const char *words);
    void *context;
};

enum fail toxiproxy_serve(const struct toxiproxy_options *options, struct failure *failure);

#endif
