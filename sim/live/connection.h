/* connection.h - one client's connection: hiredis on the one side, its link in the fault proxy on
 * the other.
 *
 *     client (hiredis) ----> link in the proxy ----> server
 *                    request held        reply held
 *
 * Every command (a call: one request, or the pipeline of a transaction) stops twice: when its
 * request stands at the proxy, and when its reply does. The owner of the endpoint lets it go on. A
 * connection keeps its order. A direct endpoint has no proxy between: there a request goes at once,
 * and only the reply stops, at the client. The same code serves directed worlds, which look at the
 * calls, and stress, which is told of them. Knows nothing of schemes. */
#ifndef PICKLOCK_LIVE_CONNECTION_H
#define PICKLOCK_LIVE_CONNECTION_H

#include "base/bytes.h"
#include "live/near_link.h"
#include "live/read_follower.h"
#include "live/url.h"
#include "proxy/proxy.h"
#include "redis/command.h"
#include "redis/resp.h"

#include <hiredis/async.h>

enum { CALL_REQUESTS_MAX = 4, CONNECTION_PORTS = 65536, ENDPOINT_WORDS_MAX = 300 };

struct connection;
struct read_order;

/* One command on its way. Owned by its connection. */
struct exchange {
    struct connection *connection;
    struct exchange *next; /* sent after it */
    void *owner;  /* who waits for it; NULL: nobody any more, and its reply goes on by itself */
    int requests; /* and replies on the connection: those of the verb, and perhaps an EXPIRE of ours
                   */
    int arrived;  /* requests at the proxy */
    int answered; /* replies at the proxy */
    int delivered;  /* replies at the client */
    bool is_direct; /* no proxy sees it */
    bool may_execute, may_be_delivered;
    bool arrived_early; /* its reply was let through to free the way for later ones; it is not heard
                        yet */
    bool is_strange;    /* the reply is what no server answers to the command, nor an error */
    enum reply_error refused; /* not ERROR_NONE: the proxy answers in the server's place */
    struct proxy_request *last_request; /* from its arrival to the last answer */
    struct proxy_request *at_proxy[CALL_REQUESTS_MAX];
    int64_t
        released_us; /* when it was let go to the server: not executed before; of monotonic_us() */
    uint64_t end;    /* of its requests, in the stream to the server; 0: unknown */
    int64_t read_us; /* the server has read it all, then; 0: not yet (read_order.h) */
    struct exchange *executed_next; /* after it on that server, and not taken yet */
    struct command command;
    struct reply reply; /* when all are answered: as the server gave it */
    int64_t answered_us;
    redisReply *replies[CALL_REQUESTS_MAX]; /* until they are decoded; an error stays */
};

/* What a endpoint tells. All may be NULL. */
struct connection_events {
    void (*arrived)(struct exchange *exchange);   /* its first request stands at the proxy */
    void (*executed)(struct exchange *exchange);  /* its whole reply stands at the proxy */
    void (*delivered)(struct exchange *exchange); /* the client has it; the owner lets go of it */
    /* The connection ended, and not by us: its calls (call->owner) will not end. The connection is
     * gone afterwards. */
    void (*broken)(struct connection *connection);
};

/* What is known to be there for connections, so that nobody need wait until the loop says so. */
enum due {
    DUE_WRITE, /* it has something to write */
    DUE_TAKE,  /* it has written, and the proxy can read it */
    DUE_HEAR,  /* the proxy has let a reply go, and it can read that */
    DUE_COUNT
};

struct due_list {
    struct connection *first, **end;
};

/* A server as its clients see it: the proxy in front of it. */
struct endpoint {
    int proved_pid; /* the way through the proxy was shown to lead to that process; 0: to none */
    uv_loop_t *loop;
    int number;
    const struct url *login; /* NULL: none */
    int expiry_s;            /* of what locks guard, on somebody else's server; 0: none */
    struct proxy *proxy;
    struct connection **by_port;  /* of the client's end */
    const struct near_link *near; /* clients connect to the proxy so; NULL: over TCP */
    struct connection *coming;    /* it is being connected so; else NULL */
    redisReader *reader;          /* of one reply after the other; NULL: none yet */
    struct resp framer;           /* where one ends; client_end.c */
    int direct_port; /* clients connect to the server there, without the proxy; 0: through it */
    const struct connection_events *events;
    uv_prepare_t flush; /* writes what connections have to write, before the loop waits */
    struct due_list due[DUE_COUNT];
    bool is_eager;            /* endpoint_move() is called whenever there is something to move */
    struct read_order *order; /* of what the server executes; NULL: not asked for */
    int connections;          /* that exist, those being closed too; ... */
    int linked;               /* ... and those of them that have a link */
    bool is_misread; /* a reply was not what Redis says: those before it may not be, either */
    char complaint[ENDPOINT_WORDS_MAX]; /* the last thing that the proxy or a connection complained
                                        about */
};

struct connection {
    struct endpoint *endpoint;
    void *owner;
    redisAsyncContext *async;
    struct exchange *first, *last, *arriving;
    struct exchange *in_hook;
    struct read_stream stream; /* as its server reads it */
    struct proxy_link *link;
    int polled;            /* enum uv_poll_event */
    int greetings;         /* requests of the login that have not passed the proxy yet, ... */
    int unheard_greetings; /* ... and whose answers were not heard */
    bool is_unwatched;     /* the loop does not look for replies: who lets them go knows */
    bool is_due[DUE_COUNT], is_flushing;
    bool is_bare; /* hiredis has nothing to do with what goes over it: client_end.c, and then ... */
    bool is_cut;  /* by us: nobody is told */
    bool is_watching; /* keys, for a transaction: whoever uses it says so */
    bool is_left;     /* its client gave up on something on it: it ends when nothing is on it */
    bool poll_is_open, is_opened, is_told;
    bool was_refused;  /* nobody listened there: ECONNREFUSED */
    bool is_greeted;   /* the server has answered on it: wire_greet() */
    struct bytes out;  /* ... what is to be written, */
    struct bytes part; /* and of a reply that has not all come */
    struct connection *due_next[DUE_COUNT];
    uint64_t sent; /* bytes, on a direct connection */
    int port;
    int server_port; /* of the proxy's end of the connection to the server; 0: not yet */
    uv_poll_t poll;
};

enum fail endpoint_open(struct endpoint *endpoint, uv_loop_t *loop, int number,
                        const struct proxy_address *upstream, const struct url *login,
                        struct failure *failure);
/* Closes the proxy; that, and what connections are left, end on the loop. Then endpoint_free(). */
void endpoint_shut(struct endpoint *endpoint);
void endpoint_free(struct endpoint *endpoint);

/* Of an eager one: replies that were let go are heard, what clients have to say is written, and
 * read by the proxy. One wait of the loop then serves a whole round trip; without it, it is three.
 * It comes by itself behind each reply of a server, and before the loop waits; whoever has made
 * clients say something else, and is about to choose how long to wait, calls it. */
void endpoint_move(struct endpoint *endpoint);

/* Connects. FAIL_UNAVAILABLE: no descriptor, no port. */
enum fail connection_new(struct connection **connection, struct endpoint *endpoint, void *owner,
                         struct failure *failure);

/* Asks the server for a sign of life on it; then is_greeted. What it refuses is the endpoint's
 * complaint. */
void connection_greet(struct connection *connection);

/* Sends bytes of one request (borrowed) to which nobody waits for an answer, and which the proxy
 * lets pass: nothing of the connection's is before the proxy then. */
void connection_pass(struct connection *connection, const char *bytes, size_t length);

/* Sends a command with its keys under prefix (borrowed). The call lives until it is heard and has
 * left the proxy, or its connection is gone. */
struct exchange *connection_send(struct connection *connection, void *owner,
                                 const struct command *command, const char *prefix);

/* The call's requests go on to the server. */
void exchange_execute(struct exchange *exchange);
/* They are answered with that error instead, and the server executes nothing; but MULTI and EXEC go
 * to it where a server that refuses so would let MULTI in. The reply is let through; it counts as
 * heard with exchange_deliver(). Its request stands at the proxy. */
void exchange_refuse(struct exchange *exchange, enum reply_error error);
/* Its reply goes on to the client. */
void exchange_deliver(struct exchange *exchange);
/* Nobody waits for it any more: it may still execute, and its reply goes to nobody. The caller
 * forgets it. */
void exchange_let_go(struct exchange *exchange);

static inline bool exchange_is_answered(const struct exchange *exchange)
{
    return exchange->answered == exchange->requests;
}

static inline bool exchange_is_delivered(const struct exchange *exchange)
{
    return exchange->delivered == exchange->requests;
}

/* Is no earlier call of the connection's still at the proxy, so that this one's request is seen
 * there? */
bool exchange_is_at_head(const struct exchange *exchange);

/* It is answered. FAIL_UNKNOWN: with what is_strange; server: which one, from 0. */
enum fail exchange_check_answer(const struct exchange *exchange, int server,
                                struct failure *failure);

/* Resets the connection on both sides; nobody is told, calls are gone; the connection itself goes
 * with the loop's next turns. */
void connection_cut(struct connection *connection);

#endif
