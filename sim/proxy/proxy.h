/* proxy.h - the fault proxy: a byte-exact RESP-aware relay that can stop at every command and every
 * reply.
 *
 * A proxy is one listener on loopback in front of one upstream address, on the caller's libuv loop.
 * Each client connection (a link) has an upstream connection of its own. Requests and replies are
 * framed (redis/resp.h), paired, and shown to the owner's hooks, which decide: pass on, hold, drop,
 * answer, cut. Knows commands by name and bytes; knows nothing of locks. Facts of the wire: see
 * README.md of this folder. */
#ifndef PICKLOCK_PROXY_PROXY_H
#define PICKLOCK_PROXY_PROXY_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct proxy;
struct proxy_link;
struct resp_span;

/* An address: TCP host and port, or a unix socket path. */
struct proxy_address {
    char host[256]; /* numeric, or a name that getaddrinfo knows; "" when path is used */
    int port;       /* 0 for a listener: any free port */
    char path[108]; /* unix socket, or "" */
    bool is_tls;    /* rediss:// */
};

/* A request as it stands in the proxy. Valid until it is answered, dropped, or its reply has gone.
 */
struct proxy_request {
    struct proxy_link *link;
    uint64_t number;  /* of its link, from 1 */
    const char *name; /* command name in upper case: "SET"; "" when the bytes were not understood */
    const char
        *first_key; /* first argument (capped at PROXY_KEY_MAX bytes), NULL: none. Of EVAL and its
                       kin the first key; of AUTH and HELLO always NULL: passwords go nowhere */
    size_t first_key_length;
    bool in_transaction; /* between MULTI and EXEC */
    bool expects_reply;  /* false: CLIENT REPLY OFF/SKIP and the like */
    void *owner;         /* the owner's own */
    uint64_t marks;      /* the owner's own, too: 0 at first */
    const char *script;  /* in the request hook only: the first argument of EVAL, EVALSHA and kin,
                            NULL: none */
    size_t script_length;
    const char *bytes; /* in the request hook only, else NULL: the request, or the first capped part
                          of a large one */
    size_t length;
    const struct resp_span
        *words;      /* in the request hook only: where its words stand in bytes ... */
    int words_count; /* ... 0: that is not known (inline, or not whole, or more than a few) */
    int64_t held_us; /* how long the owner had held it, where he shows it to somebody else */
    int copies;      /* the owner may set it while deciding: so many more copies go upstream (their
                        replies are thrown away); only for a request that is looked at whole */
    uint64_t end;    /* proxy_request_end() */
};

enum { PROXY_KEY_MAX = 256, PROXY_NAME_MAX = 32 };

/* What the hooks say. HOLD keeps it (and all later ones of that direction of the link) until
 * proxy_*_forward() or proxy_*_answer(). */
enum proxy_decision { PROXY_PASS, PROXY_HOLD, PROXY_DROP };

/* One direction of a link. */
enum proxy_stream { PROXY_TO_SERVER, PROXY_TO_CLIENT };

/* Requests that pass unseen, one behind the other: their bytes all together, and their owner. */
struct proxy_repeated {
    int64_t count; /* 0: none */
    size_t length;
    void *owner;
};

/* Every hook may be NULL: pass. Hooks may call any proxy_* function on that link. */
struct proxy_hooks {
    /* A client connected; peer_port tells who (0 on a unix socket). The owner may set *link_owner.
     */
    void (*opened)(void *context, struct proxy_link *link, int peer_port, void **link_owner);
    /* A connection to the upstream was begun, whatever becomes of it: to that port, and from that
     * one of ours. Not called on a unix socket. */
    void (*dials)(void *context, int port, int own_port);
    /* The upstream connection stands, and nothing has been written to it; own_port is that of our
     * end (0 on a unix socket). */
    void (*dialled)(void *context, void *link_owner, int own_port);
    /* A whole request has come, or as much of it as will be looked at. */
    enum proxy_decision (*request)(void *context, void *link_owner, struct proxy_request *request);
    /* How many whole requests at the beginning of these bytes (borrowed; from: their place in the
     * stream) are as one that passed unseen, with an owner, and may pass so as well? They are shown
     * to nobody. */
    struct proxy_repeated (*repeats)(void *context, void *link_owner, const char *bytes,
                                     size_t length, uint64_t from);
    /* May this one (whole, outside MULTI, with one reply) pass without request() and reply()? Asked
     * in front of request(). NULL: none may, unless there is no request() either. Where it says so
     * and sets the request's owner, reply() or replies() is told it, and it must pass: of that
     * request nothing but its owner is known then. Such replies come in the order of their
     * requests. */
    bool (*passes_unseen)(void *context, void *link_owner, struct proxy_request *request);
    /* Its whole reply has come; bytes are borrowed (the first capped part of a large one). Once a
     * reply: SUBSCRIBE a b has two. */
    enum proxy_decision (*reply)(void *context, void *link_owner, struct proxy_request *request,
                                 const char *bytes, size_t length);
    /* So many replies of the same bytes, of requests that passed unseen, at once. Whoever sets
     * owners of these has it, and reply(): either is told. */
    void (*replies)(void *context, void *link_owner, struct proxy_request *request,
                    const char *bytes, size_t length, int64_t count);
    /* Bytes passed (borrowed), and are about to be written: whatever of them is to reach the wire,
     * the owner says with proxy_link_write(), then or later. */
    void (*passed)(void *context, void *link_owner, enum proxy_stream stream, const char *bytes,
                   size_t length);
    /* Only with passed: the stream's end stands behind the last of them, and goes on when the owner
     * says proxy_link_let_end(). */
    void (*ended)(void *context, void *link_owner, enum proxy_stream stream);
    /* The link is gone; requests without a reply count as unknown. Last call for this link. */
    void (*closed)(void *context, void *link_owner);
    /* Something worth a line in the log: bytes that were not understood, a dial that failed. */
    void (*notice)(void *context, void *link_owner, const char *words);
    /* A client went in the middle of a request, or a server in that of a reply: to whoever asks
     * what was executed an end like any other. */
    void (*broken_off)(void *context, void *link_owner, const char *words);
    /* The kernel has taken bytes to the client, or their end: he can read them. */
    void (*told)(void *context, void *link_owner);
    /* Behind what came from a server, and behind told(): nothing of the proxy's is under way. */
    void (*settled)(void *context);
    void *context;
};

enum fail proxy_new(struct proxy **proxy, uv_loop_t *loop, const struct proxy_address *listen,
                    const struct proxy_address *upstream, const struct proxy_hooks *hooks,
                    struct failure *failure);
int proxy_port(const struct proxy *proxy); /* the port that it listens on */
/* Hooks see so many bytes of a request or a reply, if it has them, instead of the first 16 KiB; as
 * much is kept in memory. Before anybody connects. */
void proxy_look_at(struct proxy *proxy, size_t bytes);
/* Links that nothing goes on to the server from have no connection to it: each dials when the first
 * byte does. Before anybody connects. */
void proxy_dial_late(struct proxy *proxy);
enum notice {
#define NOTICE(id, name, words) NOTICE_##id,
#include "proxy/notices.def"
#undef NOTICE
    NOTICE_COUNT
};
const char *proxy_notice_name(enum notice kind);
/* How many notices of that kind there were so far. */
uint64_t proxy_noticed(const struct proxy *proxy, enum notice kind);
/* Links that there are, with those that have ended and still hold descriptors. */
int64_t proxy_links_count(const struct proxy *proxy);
/* What has gone over all links so far: whoever waits for a client knows that all of it has arrived.
 */
struct proxy_traffic {
    uint64_t links;   /* accepted */
    uint64_t ended;   /* goes up when a client is told of an end, of one direction or of both */
    uint64_t read;    /* bytes from clients */
    uint64_t written; /* bytes to clients that the kernel took */
    uint64_t requests, replies; /* seen by a hook or not */
};
struct proxy_traffic proxy_traffic(const struct proxy *proxy);
/* Goes up with each read from a client or a server: while it stands, no more than one was worked
 * on.
 */
uint64_t proxy_reads(const struct proxy *proxy);
/* Any protocol may be spoken on links: one whose client does not begin as clients of Redis do, with
 * an array, is relayed unread. */
void proxy_take_any_protocol(struct proxy *proxy);
/* A link for the client at the other end of that unix socket (taken), as if it had connected, with
 * no port: opened() comes before this returns. */
void proxy_take_client(struct proxy *proxy, int socket);
/* What upstreams with TLS are spoken to with: must be said before the first link to one. Keeps tls
 * until it is closed. */
struct tls;
void proxy_use_tls(struct proxy *proxy, const struct tls *tls);
/* Carriers (kept) hold the sockets of links from here on; NULL: none do, and whatever links there
 * are end at once. The kernel has what was told, or proxy_traffic() counts as ended, a little later
 * then. */
struct carriers;
void proxy_carry(struct proxy *proxy, struct carriers *carriers);
/* A thread (kept) sends what goes to the server, where it can; NULL: the loop does. It is stopped
 * before it is taken away, and calls proxy_sent_back(). */
struct send_thread;
struct outlet;
void proxy_send_by(struct proxy *proxy, struct send_thread *send_thread);
void proxy_sent_back(struct outlet *outlet);
/* New links go there from now on (a restarted or promoted server). */
void proxy_set_upstream(struct proxy *proxy, const struct proxy_address *upstream);
/* Who connects from here on is refused (ECONNREFUSED), until proxy_accept(); the port stays the
 * proxy's, and links stay as they are. Only of a TCP listener that takes connections.
 * FAIL_UNAVAILABLE: why it cannot. */
enum fail proxy_refuse(struct proxy *proxy, struct failure *failure);
/* Takes connections again; nothing to do where none are refused. */
enum fail proxy_accept(struct proxy *proxy, struct failure *failure);
/* Who connects from here on is neither answered nor refused, until proxy_answer_dials(); how many
 * do, -1: not known. Only of an IPv4 listener that takes connections. FAIL_UNKNOWN: why it cannot.
 */
enum fail proxy_hold_dials(struct proxy *proxy, struct failure *failure);
bool proxy_holds_dials(const struct proxy *proxy);
int proxy_held_dials(const struct proxy *proxy);
/* Whoever still dials has his connection now; nothing to do where none are held. */
enum fail proxy_answer_dials(struct proxy *proxy, struct failure *failure);
/* Closes listener and links; closed() comes for each; done(context) when all handles are closed.
 * Takes proxy. */
void proxy_close(struct proxy *proxy, void (*done)(void *context), void *context);
/* The same, and both sides of each link see FIN, whatever they still send: that may take 2 s. */
void proxy_leave(struct proxy *proxy, void (*done)(void *context), void *context);

/* The held request goes on to the server / is answered with these bytes instead. */
void proxy_request_forward(struct proxy_request *request);
void proxy_request_answer(struct proxy_request *request, const char *bytes, size_t length);
/* These bytes (borrowed) go to the server in front of the held request. What the server makes of
 * them nobody knows: the request and all behind it are relayed unread, with a notice; replies to
 * what was asked before are shown. */
void proxy_request_spoil(struct proxy_request *request, const char *bytes, size_t length);
/* The held reply goes on to the client. */
void proxy_reply_forward(struct proxy_request *request);
/* Other bytes go to the client instead of the reply (the held one, or inside the reply hook). */
void proxy_reply_answer(struct proxy_request *request, const char *bytes, size_t length);

/* The client hears these bytes, which answer nothing (a published message), behind what it was told
 * so far. Not in the middle of a reply. */
void proxy_link_say(struct proxy_link *link, const char *bytes, size_t length);

/* Where it ends in the stream of bytes to the server; UINT64_MAX: not all of it has passed yet. Of
 * one that passes unseen, where it will end. */
uint64_t proxy_request_end(const struct proxy_request *request);

/* So many bytes from the client have passed to the server. */
uint64_t proxy_link_passed(const struct proxy_link *link);

/* What the client has written is read now: whoever wrote it knows, and need not wait until the loop
 * says so. Not from within a hook. */
void proxy_link_take(struct proxy_link *link);
/* Does the loop look for what the client writes? In the beginning it does. Whoever has it not do so
 * says proxy_link_take() whenever there may be something, its end too. Where reading had stopped
 * and goes on, the loop looks again. Of a socket that a carrier holds it says nothing. */
void proxy_link_watch(struct proxy_link *link, bool is_watched);

enum proxy_cut { PROXY_FIN, PROXY_RST };
/* Ends both sides of the link; the client sees FIN or RST. closed() follows. */
void proxy_link_cut(struct proxy_link *link, enum proxy_cut how);
/* Ends it: client and server both see RST, at once. closed() follows. */
void proxy_link_reset(struct proxy_link *link);
/* For owners with a passed hook: writes bytes (borrowed) now, or keeps them until the peer takes
 * them; the stream's end goes on; nothing is read while the owner has no room (nothing is lost). */
void proxy_link_write(struct proxy_link *link, enum proxy_stream stream, const char *bytes,
                      size_t length);
void proxy_link_let_end(struct proxy_link *link, enum proxy_stream stream);
void proxy_link_room(struct proxy_link *link, enum proxy_stream stream, bool has_room);
/* From here on nothing passes in either direction, and nothing is closed: half-open. */
void proxy_link_silence(struct proxy_link *link);
/* Ends the silence; not a byte was lost. */
void proxy_link_speak(struct proxy_link *link);
/* Can no reply come over it now? Its server has ended, or its client takes no more of them. */
bool proxy_link_is_stuck(const struct proxy_link *link);
/* Has its client ended it, from its side? What is held on it, nobody waits for any more. */
bool proxy_link_is_left(const struct proxy_link *link);

/* The next bytes of the held request (reply) go on, the rest stays held. Never the last byte of
 * what has come: returns how many went. */
size_t proxy_request_forward_part(struct proxy_request *request, size_t bytes);
size_t proxy_reply_forward_part(struct proxy_request *request, size_t bytes);
/* Bytes of the held request (reply) that have not gone; SIZE_MAX: not all of them have come. */
size_t proxy_request_left(struct proxy_request *request);
size_t proxy_reply_left(struct proxy_request *request);

void *proxy_link_owner(const struct proxy_link *link); /* as the owner set it */
uint64_t proxy_link_number(
    const struct proxy_link *link); /* of its proxy, from 1, in the order of arrival */
const char *
proxy_link_name(const struct proxy_link *link); /* what CLIENT SETNAME or HELLO said, or "" */

/* Reads "host:port", "port", "[::1]:port", "unix:/path", each of the first three behind redis:// or
 * rediss://, too. FAIL_INPUT with what was expected. */
enum fail proxy_address_read(const char *text, struct proxy_address *address,
                             struct failure *failure);
/* Is there such a host? FAIL_UNAVAILABLE: why not. */
enum fail proxy_address_check(const struct proxy_address *address, struct failure *failure);

#endif
