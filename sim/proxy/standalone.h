/* standalone.h - `picklock proxy`: a proxy with rules and a log, until a signal comes or its parent
 * is gone. */
#ifndef PICKLOCK_PROXY_STANDALONE_H
#define PICKLOCK_PROXY_STANDALONE_H

#include "base/fail.h"
#include "proxy/proxy.h"

struct standalone_options {
    const char *listen, *upstream; /* addresses; see proxy_address_read() */
    const char *rules;             /* file, or NULL */
    const char *log;               /* file, "-": stderr, or NULL */
    uint64_t seed;
    /* Called once, when it listens: port, or 0 on a unix socket. What it fails with ends the proxy.
     */
    enum fail (*ready)(void *context, int port, struct failure *failure);
    /* A notice when there is no log, and the counters that SIGUSR1 asks for (may be NULL). */
    void (*notice)(void *context, const char *words);
    void *context;
};

/* Returns when SIGINT or SIGTERM came, or the parent died (FAIL_NONE), or the log cannot be
 * written. */
enum fail standalone_run(const struct standalone_options *options, struct failure *failure);

#endif
