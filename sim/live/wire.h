/* wire.h - one client's connection: hiredis on the one side, its link in the fault proxy on the
 * other.
 *
 *     client (hiredis) ----> link in the proxy ----> server
 *                    request held        reply held
 *
 * Every command (a call: one request, or the pipeline of a transaction) stops twice: when its
 * request stands at the proxy, and when its reply does. The owner of the station lets it go on. A
 * connection keeps its order. The same code serves directed worlds, which look at the calls, and
 * stress, which is told of them. Knows nothing of schemes. */
#ifndef PICKLOCK_LIVE_WIRE_H
#define PICKLOCK_LIVE_WIRE_H

#include "live/url.h"
#include "proxy/proxy.h"
#include "redis/command.h"

#include <hiredis/async.h>

enum { CALL_REQUESTS_MAX = 4, WIRE_PORTS = 65536, STATION_WORDS_MAX = 300 };

struct wire;

/* One command on its way. Owned by its wire. */
struct call {
    struct wire *wire;
    struct call *next; /* sent after it */
    void *owner; /* who waits for it; NULL: nobody any more, and its reply goes on by itself */
    struct command command;
    int requests; /* and replies on the wire: those of the verb, and perhaps an EXPIRE of ours */
    int came;     /* requests at the proxy */
    int answered; /* replies at the proxy */
    int heard;    /* replies at the client */
    bool may_execute, may_be_heard;
    bool came_early; /* its reply was let through to free the way for later ones; it is not heard
                        yet */
    enum reply_error refused; /* not ERROR_NONE: the proxy answers in the server's place */
    struct reply reply;       /* when all are answered: as the server gave it */
    int64_t released_us; /* when it was let go to the server: not executed before; of uv_hrtime() */
    int64_t answered_us;
    struct proxy_request *at_proxy[CALL_REQUESTS_MAX];
    redisReply *replies[CALL_REQUESTS_MAX];
};

/* What a station tells. All may be NULL. */
struct wire_events {
    void (*came)(struct call *call);     /* its first request stands at the proxy */
    void (*executed)(struct call *call); /* its whole reply stands at the proxy */
    void (*heard)(struct call *call);    /* the client has it; the owner lets go of it */
    /* The connection ended, and not by us: its calls (call->owner) will not end. The wire is gone
     * afterwards. */
    void (*broken)(struct wire *wire);
};

/* A server as its clients see it: the proxy in front of it. */
struct station {
    uv_loop_t *loop;
    int number;
    const struct url *login; /* NULL: none */
    int expiry_s;            /* of what locks guard, on somebody else's server; 0: none */
    struct proxy *proxy;
    struct wire **by_port; /* of the client's end */
    const struct wire_events *events;
    int wires;                       /* that exist, those being closed too */
    char trouble[STATION_WORDS_MAX]; /* the last thing that the proxy or a connection complained
                                        about */
};

struct wire {
    struct station *station;
    void *owner;
    redisAsyncContext *async;
    uv_poll_t poll;
    int polled; /* enum uv_poll_event */
    int port;
    int greetings; /* requests of the login that have not passed the proxy yet */
    struct proxy_link *link;
    struct call *first, *last, *arriving;
    struct call *in_hook;
    bool is_cut;  /* by us: nobody is told */
    bool is_left; /* its client gave up on something on it: it ends when nothing is on it */
    bool poll_is_open, is_opened, is_told;
    bool is_greeted; /* the server has answered on it: wire_greet() */
};

enum fail station_open(struct station *station, uv_loop_t *loop, int number,
                       const struct proxy_address *upstream, const struct url *login,
                       struct failure *failure);
/* Closes the proxy; that, and what wires are left, end on the loop. Then station_free(). */
void station_shut(struct station *station);
void station_free(struct station *station);

/* Connects. FAIL_UNAVAILABLE: no descriptor, no port. */
enum fail wire_new(struct wire **wire, struct station *station, void *owner,
                   struct failure *failure);

/* Asks the server for a sign of life on it; then is_greeted. What it refuses is the station's
 * trouble. */
void wire_greet(struct wire *wire);

/* Sends a command with its keys under prefix (borrowed). The call lives until it is heard and has
 * left the proxy, or its wire is gone. */
struct call *wire_send(struct wire *wire, void *owner, const struct command *command,
                       const char *prefix);

/* The call's requests go on to the server. */
void call_execute(struct call *call);
/* They are answered with that error instead, and the server executes nothing; but MULTI and EXEC go
 * to it where a server that refuses so would let MULTI in. The reply is let through; it counts as
 * heard with call_hear(). Its request stands at the proxy. */
void call_refuse(struct call *call, enum reply_error error);
/* Its reply goes on to the client. */
void call_hear(struct call *call);
/* Nobody waits for it any more: it may still execute, and its reply goes to nobody. The caller
 * forgets it. */
void call_let_go(struct call *call);

static inline bool call_is_answered(const struct call *call)
{
    return call->answered == call->requests;
}

static inline bool call_is_heard(const struct call *call)
{
    return call->heard == call->requests;
}

/* Is no earlier call of the wire's still at the proxy, so that this one's request is seen there? */
bool call_is_at_head(const struct call *call);

/* Resets the connection on both sides; nobody is told, calls are gone; the wire itself goes with
 * the loop's next turns. */
void wire_cut(struct wire *wire);

#endif
