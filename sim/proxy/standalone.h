/* standalone.h - `picklock proxy`: a proxy with rules and a log, until a signal comes or its parent
 * is gone. */
#ifndef PICKLOCK_PROXY_STANDALONE_H
#define PICKLOCK_PROXY_STANDALONE_H

#include "base/fail.h"
#include "proxy/proxy.h"
#include "proxy/tls.h"

/* Will the client hear the reply? LATER: as far as is known; then heard() says when, or closed()
 * that it did not. */
enum delivery { DELIVERED_NOW, DELIVERED_LATER, DELIVERED_NEVER };

/* Whoever writes down what happens between the rules and the server. Each has the proxy's own
 * meaning (struct proxy_hooks); request is asked when no rule holds the request any more. */
struct standalone_observer {
    /* Before anybody connects, when all else has begun but that the address is told. FAIL_*: the
     * proxy does not serve. */
    enum fail (*begin)(void *context, uv_loop_t *loop, struct proxy *proxy,
                       struct failure *failure);
    void (*begun)(void *context); /* nothing can keep it from serving any more */
    void (*opened)(void *context, struct proxy_link *link, int peer_port, void **owner);
    void (*dialled)(void *context, void *owner, int own_port);
    bool (*passes_unseen)(void *context, void *owner, struct proxy_request *request);
    enum proxy_decision (*request)(void *context, void *owner, struct proxy_request *request);
    /* The server has executed it. */
    void (*executed)(void *context, void *owner, struct proxy_request *request, const char *bytes,
                     size_t length, enum delivery heard);
    void (*heard)(void *context, void *owner, struct proxy_request *request);
    void (*closed)(void *context, void *owner);
    void (*notice)(void *context, void *owner, const char *words); /* owner NULL: of no link */
    void (*end)(void *context); /* all links are gone; handles are closed behind it */
    void *context;
};

struct standalone_options {
    const char *listen, *upstream; /* addresses; see proxy_address_read() */
    const char *rules;             /* file, or NULL */
    const char *config;            /* file of listeners, instead of these three; or NULL */
    const char *log;               /* file, "-": stderr, or NULL */
    const char *control;           /* unix socket that tells counters, or NULL */
    struct tls_options tls;        /* of upstreams that are rediss:// */
    uint64_t seed;
    const struct standalone_observer *observer; /* of the only listener; NULL: none */
    /* Called once a listener, when all listen: its name ("": the only one), its address as it was
     * given, its port (0 on a unix socket). What it fails with ends the proxy. */
    enum fail (*ready)(void *context, const char *name, const char *listen, int port,
                       struct failure *failure);
    /* A notice when there is no log, what SIGHUP came to, and the counters that SIGUSR1 asks for
     * (may be NULL). */
    void (*notice)(void *context, const char *words);
    void *context;
};

/* Returns when SIGINT or SIGTERM came, or the parent died (FAIL_NONE), or FAIL_INTERNAL where the
 * log is not whole. SIGHUP reads rules or config, and certificates, anew: what is wrong with them
 * is told, and changes nothing; connections that there are keep the certificates of their
 * beginning.
 */
enum fail standalone_run(const struct standalone_options *options, struct failure *failure);

#endif
