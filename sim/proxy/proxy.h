/* proxy.h - the fault proxy: a byte-exact RESP-aware relay that can stop at every command and every reply.
 *
 * A proxy is one listener on loopback in front of one upstream address, on the caller's libuv loop. Each client connection (a link) has an upstream
 * connection of its own. Requests and replies are framed (redis/resp.h), paired, and shown to the owner's hooks, which decide: pass on, hold,
 * drop, answer, cut. Knows commands by name and bytes; knows nothing of locks. Facts of the wire: see README.md of this folder. */
#ifndef PICKLOCK_PROXY_PROXY_H
#define PICKLOCK_PROXY_PROXY_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct proxy;
struct proxy_link;

/* An address: TCP host and port, or a unix socket path. */
struct proxy_address {
    char host[256]; /* numeric, or a name that getaddrinfo knows; "" when path is used */
    int port;       /* 0 for a listener: any free port */
    char path[108]; /* unix socket, or "" */
};

/* A request as it stands in the proxy. Valid until it is answered, dropped, or its reply has gone. */
struct proxy_request {
    struct proxy_link *link;
    uint64_t number;         /* of its link, from 1 */
    const char *name;        /* command name in upper case: "SET"; "" when the bytes were not understood */
    const char *first_key;   /* first argument (capped, see length), NULL: none */
    size_t first_key_length;
    bool in_transaction;     /* between MULTI and EXEC */
    bool expects_reply;      /* false: CLIENT REPLY OFF/SKIP and the like */
    int64_t forwarded_us;    /* uv_hrtime()/1000 when its last byte went upstream, 0: not yet */
    void *owner;             /* the owner's own */
};

/* What the hooks say. HOLD keeps it (and all later ones of that direction of the link) until proxy_*_forward() or _drop(). */
enum proxy_decision { PROXY_PASS, PROXY_HOLD, PROXY_DROP };

/* Every hook may be NULL: pass. Hooks may call any proxy_* function on that link. */
struct proxy_hooks {
    /* A client connected; peer_port tells who (0 on a unix socket). The owner may set *link_owner. */
    void (*opened)(void *context, struct proxy_link *link, int peer_port, void **link_owner);
    /* A whole request has come, or as much of it as will be looked at. */
    enum proxy_decision (*request)(void *context, void *link_owner, struct proxy_request *request);
    /* Its whole reply has come; bytes are borrowed (the first capped part of a large one). */
    enum proxy_decision (*reply)(void *context, void *link_owner, struct proxy_request *request,
                                 const char *bytes, size_t length);
    /* The link is gone; requests without a reply count as unknown. Last call for this link. */
    void (*closed)(void *context, void *link_owner);
    /* Something worth a line in the log: bytes that were not understood, a dial that failed. */
    void (*notice)(void *context, void *link_owner, const char *words);
    void *context;
};

enum fail proxy_new(struct proxy **proxy, uv_loop_t *loop, const struct proxy_address *listen,
                    const struct proxy_address *upstream, const struct proxy_hooks *hooks,
                    struct failure *failure);
int proxy_port(const struct proxy *proxy); /* the port that it listens on */
/* New links go there from now on (a restarted or promoted server). */
void proxy_set_upstream(struct proxy *proxy, const struct proxy_address *upstream);
/* Closes listener and links; closed() comes for each; done(context) when all handles are closed. Takes proxy. */
void proxy_close(struct proxy *proxy, void (*done)(void *context), void *context);

/* The held request goes on to the server / is thrown away / is answered with these bytes instead. */
void proxy_request_forward(struct proxy_request *request);
void proxy_request_drop(struct proxy_request *request);
void proxy_request_answer(struct proxy_request *request, const char *bytes, size_t length);
/* The held reply goes on to the client / is thrown away. */
void proxy_reply_forward(struct proxy_request *request);
void proxy_reply_drop(struct proxy_request *request);

enum proxy_cut { PROXY_FIN, PROXY_RST };
/* Ends both sides of the link; the client sees FIN or RST. closed() follows. */
void proxy_link_cut(struct proxy_link *link, enum proxy_cut how);
/* From here on nothing passes in either direction, and nothing is closed: half-open. */
void proxy_link_silence(struct proxy_link *link);

#endif
