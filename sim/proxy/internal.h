/* internal.h - the proxy's own structs, shared by the files of this folder; owners include proxy.h.
 *
 *                 flow to_server                       flow to_client
 *   client side  ------------------>  server side  ------------------->  client side
 *                 held | backlog                       held | backlog
 *
 * A link is two sides (sockets) and two flows (directions). What a flow reads is framed and decided
 * in place; what passes is written at once from where it was read. Only what must wait is copied:
 * into held (not decided, or held by the owner) or into backlog (decided, the peer is full). Both
 * together are bounded: a full flow stops reading. */
#ifndef PICKLOCK_PROXY_INTERNAL_H
#define PICKLOCK_PROXY_INTERNAL_H

#include "proxy/carrier.h"
#include "proxy/pairing.h"
#include "proxy/proxy.h"
#include "proxy/send_thread.h"
#include "proxy/tls.h"
#include "redis/resp.h"

#include <sys/socket.h>
#include <uv.h>

enum {
    LOOKED_AT_MAX =
        16 * 1024,         /* a frame is decided when it is whole, or this much of it has come */
    KEPT_MAX = 256 * 1024, /* of one flow, beside that: then it stops reading, until half is gone */
    READ_MAX = 64 * 1024,  /* one read */
    DIAL_MS = 10000,       /* so long a dial may take, the handshake of TLS included */
    LINGER_MS = 2000,      /* an ended link waits so long for its peers to take the last bytes */
    BACKLOG_OF_LISTENER = 1024,
};

struct block {
    char *bytes;
    size_t begin, end, capacity;
};

size_t block_length(const struct block *block);
void block_append(struct block *block, const char *bytes, size_t length);
/* From the front. */
void block_move_on(struct block *block, size_t length);
void block_eat(struct block *block, size_t length); /* gives memory back when empty */
void block_free(struct block *block);

union socket {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct flow;

/* length: as libuv has it. */
typedef void side_came(struct flow *flow, const char *bytes, ssize_t length);

struct side {
    struct proxy_link *link; /* NULL: a listener */
    union socket *socket;
    side_came *came;
    bool is_unix;
    bool is_open;                 /* initialised and not yet closed */
    bool is_connected;            /* bytes may be written */
    bool has_ended;               /* its last byte has been read */
    struct tls_session *tls;      /* of a server's; NULL: none */
    struct carried_side *carried; /* a carrier holds the socket; NULL: we do */
};

enum frame {
    FRAME_OPEN, /* not decided */
    FRAME_PASS,
    FRAME_DROP,
    FRAME_HELD,
};

enum flow_ending { NOT_ENDED, ENDED_BY_FIN, ENDED_BY_RST };

enum said { SAID_NOTHING, SAID_FORWARD, SAID_ANSWER };

struct pending_request {
    struct proxy_request shown;   /* first: the owner's pointer is ours */
    struct pending_request *next; /* of those that wait for a reply */
    struct pairing_command command;
    int64_t replies_left;
    enum pairing_feed feed;
    enum { HOOK_NONE, HOOK_REQUEST, HOOK_REPLY } in_hook;
    enum said said;   /* by the owner, inside the hook */
    bool is_queued;   /* waits for its reply */
    bool is_answered; /* by the owner: the bytes wait for their turn */
    bool is_ghost;    /* a copy: its reply is for nobody */
    bool
        is_unseen; /* replies_left requests of one owner that passed unseen, one behind the other */
    char *answer;
    size_t answer_length;
    char name[PROXY_NAME_MAX]; /* from here on nothing is zeroed, nor looked at by all */
    char key[PROXY_KEY_MAX];
};

struct framer {
    struct resp resp; /* first */
    struct framer *next;
};

/* What thousands of links have does not fit into a cache: what each command needs stands together,
 * in front. */
struct flow {
    struct proxy_link *link;
    struct side *from, *to;
    struct resp *framer;             /* while it looks, and of a frame that is not whole; or NULL */
    struct pending_request *request; /* that the frame in hand is, or answers; NULL: none */
    uint64_t settled;                /* bytes that passed */
    enum frame frame;
    enum flow_ending ending;
    bool is_to_server;
    bool is_writing, is_reading, is_running, runs_again;
    bool is_unwatched;   /* it reads, and the loop does not look: proxy_link_watch() */
    bool is_raw;         /* relayed unread from here on */
    bool is_mute;        /* nobody takes what is written */
    bool is_shut;        /* TLS: close_notify stands behind the last byte */
    bool is_whole;       /* the frame in hand is complete ... */
    struct resp_end end; /* ... and so, if it is a reply */
    bool is_streaming;   /* the beginning of the frame in hand has gone */
    bool is_done;
    bool has_begun;               /* its first byte has come */
    bool is_owner_full;           /* proxy_link_room() */
    bool is_end_told, is_end_let; /* the owner was told of the end; has let it go on */
    int copies;                   /* of the frame in hand that the owner wants */
    struct block held;            /* begins with the frame in hand */
    size_t parsed;                /* of held: seen by the framer */
    struct block backlog, writing;
    uv_write_t write;
};

enum leave { LEAVE_NOW, LEAVE_FIN, LEAVE_RST };

struct proxy_link {
    struct proxy *proxy;
    void *owner;
    struct pending_request *first, *last; /* wait for replies, in order */
    uint64_t requests_count;
    bool is_over, is_told, is_silent;
    bool is_dialled; /* its server is, or has been tried */
    bool may_repeat; /* a request has passed unseen, and its owner is told the reply */
    struct pairing pairing;
    struct side client, server;
    struct flow to_server, to_client;
    struct outlet outlet; /* what the server's side has at the thread that sends */
    struct proxy_link *next, *previous;
    uint64_t number;
    char name[PROXY_NAME_MAX * 2];
    int handles; /* open ones */
    enum leave client_leaves, server_leaves;
    union socket sockets[2];
    uv_connect_t dial;
    uv_timer_t timer;
};

/* A side alone. */
struct listening_side {
    union socket socket; /* first: freed by its handle */
    struct side side;
};

struct address {
    struct sockaddr_storage storage;
    socklen_t length; /* 0: a unix socket */
    char path[108];
    char text[300]; /* for messages */
    bool is_tls;
    char host[256]; /* as it was said */
};

struct proxy {
    uv_loop_t *loop;
    size_t looked_at; /* bytes of a frame: LOOKED_AT_MAX, unless the owner wants more */
    struct proxy_hooks hooks;
    struct side *listener; /* NULL: closed for good */
    int listeners;         /* those that are just closing, too */
    bool takes_any;        /* proxy_take_any_protocol() */
    bool is_refusing;      /* it is bound, and does not listen */
    bool holds_dials;      /* it listens, and hears nobody */
    bool dials_late;       /* proxy_dial_late() */
    struct address upstream;
    bool upstream_is_known;
    const struct tls *tls;           /* NULL: none is spoken */
    struct carriers *carriers;       /* hold the sockets of links that stand; NULL: we do */
    struct send_thread *send_thread; /* sends what goes to the server; NULL: the loop does */
    struct proxy_link *links;
    uint64_t links_opened;
    uint64_t links_ended, bytes_read, bytes_written; /* from and to clients */
    uint64_t reads, requests, replies;
    int64_t links_count, links_max;
    bool was_full;
    uint64_t noticed[NOTICE_COUNT];
    struct pending_request *spare; /* requests to use again */
    struct framer *framers[2];     /* so are these; of requests, of replies */
    bool is_closing;
    void (*done)(void *context);
    void *done_context;
    ssize_t received; /* into read_buffer, on its way to who reads it */
    char read_buffer[READ_MAX];
};

/* address.c */
enum fail address_resolve(const struct proxy_address *wanted, struct address *address,
                          struct failure *failure);

/* proxy.c */
void proxy_link_gone(struct proxy_link *link); /* takes link */
void proxy_told(const struct proxy_link *link);
void proxy_settled(const struct proxy *proxy); /* not from within a hook */
void proxy_notice(struct proxy *proxy, enum notice kind, void *link_owner, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* side.c */
void side_set_up(struct proxy *proxy, struct side *side, union socket *socket, bool is_unix,
                 void *data);
void side_connected(struct side *side);
void side_give(struct side *side); /* to a carrier, if there are any */
/* What is there now, of a socket that we hold, and what is taken now. Below 0: an error of libuv's,
 * UV_EAGAIN where it must wait. */
ssize_t side_receive(struct side *side, char *bytes, size_t room);
ssize_t side_send(struct side *side, const char *bytes, size_t length);
/* To the thread that sends; false: it does not take them. */
bool side_hand(struct side *side, const char *bytes, size_t length);
void side_settle(struct side *side); /* what that thread has of it is sent, or has come back */
/* As libuv's, wherever the socket is; came() may be told UV_EAGAIN. */
int side_read_start(struct side *side, side_came *came);
void side_read_stop(struct side *side);
int side_write(struct side *side, uv_write_t *write, const uv_buf_t *buffer, uv_write_cb wrote);
void side_shut_writing(struct side *side);          /* the peer sees FIN */
void side_close(struct side *side, enum leave how); /* LEAVE_RST: the peer sees RST */

/* link.c */
void link_side_closed(uv_handle_t *handle);
void link_handle_closed(struct proxy_link *link);
void link_give(struct proxy_link *link);    /* both its sockets to carriers: side_give() */
void link_abandon(struct proxy_link *link); /* closes what an ended link still has open */
/* Of a client that connects to the listener; or (not below 0) of that socket, which is taken. */
enum socket_kind { SOCKET_OF_LISTENER, SOCKET_UNIX };
void link_new(struct proxy *proxy, int socket, enum socket_kind kind);
/* Ends it: nothing passes any more; closed() and the farewell to both sides follow in the next turn
 * of the loop. */
void link_over(struct proxy_link *link, enum leave client_leaves, enum leave server_leaves);
void link_flow_done(struct flow *flow); /* all of it has gone through: its end goes on */
void link_flushed(struct flow *flow);   /* an ended link's backlog has been written */

/* dial.c */
void link_dial(struct proxy_link *link);

/* flow.c */
/* Feeds the framer of a flow that has one; returns how many bytes it has eaten. */
size_t flow_feed(struct flow *flow, const char *bytes, size_t length, enum resp_status *status);
void flow_init(struct flow *flow, struct proxy_link *link, struct side *from, struct side *to,
               enum resp_side resp_side);
void flow_run(struct flow *flow); /* looks again at what is held; finishes if it can */
/* What passed goes to the wire, or to the owner who asked for it; borrows bytes. */
void flow_emit(struct flow *flow, const char *bytes, size_t length);
void flow_write(struct flow *flow, const char *bytes, size_t length); /* now or later; borrows */
void flow_turn_raw(struct flow *flow, const char *why);
void flow_push(struct flow *flow); /* the sink can take bytes again: writes the backlog */
void flow_take(struct flow *flow, const char *bytes, size_t length); /* they were read */
/* Its source has ended. */
void flow_source_ended(struct flow *flow, enum flow_ending ending);
void flow_sink_gone(struct flow *flow);
/* Is what went written? Else it will be said: as long as it is writing. */
bool flow_is_written(struct flow *flow);
void flow_free(struct flow *flow);
void flows_free_framers(struct proxy *proxy);

/* flow_read.c */
void flow_start(struct flow *flow);    /* starts to read, unless it must not */
void flow_read_now(struct flow *flow); /* what has come, if it reads: see proxy_link_take() */
void flow_watch(struct flow *flow, bool is_watched); /* see proxy_link_watch() */

/* flow_tls.c */
/* A piece of the backlog, encrypted, behind what TLS has to say for itself: is what is written. */
void flow_encrypt(struct flow *flow);
/* What has come is in the session of TLS: goes on as what was read does. */
void flow_take_tls(struct flow *flow);
/* The sink's last byte has been written, and FIN follows. false: not yet (TLS says close_notify
 * first, and link_flushed() is called when that is written). */
bool flow_shut(struct flow *flow);
/* flow_handed.c */
/* The thread that sends has nothing of it any more; what that could not send is the first that
 * waits. */
void flow_settle(struct flow *flow);

/* request.c */
/* How many of these bytes, behind a frame, are whole requests that go on as others have gone
 * unseen. 0: of replies, too. */
size_t requests_repeat(struct flow *flow, const char *bytes, size_t length);
/* A whole request that nobody looks at: it is remembered, and goes on. Returns length; 0: it must
 * be decided. */
size_t request_passes_unseen(struct flow *flow, const char *bytes, size_t length);
enum frame request_decide(struct flow *flow, const char *bytes, size_t length);
int request_ended(struct flow *flow); /* returns how many copies of the frame go on behind it */
/* The first that waits has all its replies: frees it. */
void request_done(struct pending_request *request);
void request_keep_answer(struct pending_request *request, const char *bytes,
                         size_t length); /* copies */
void requests_free_all(struct proxy_link *link);
void requests_free_spare(struct proxy *proxy);

/* reply.c */
/* The whole reply of a request that passed unseen, and others of them wait behind it: it goes on,
 * and so do those of the same bytes behind it (there: as many as are at hand). Returns how many
 * bytes; 0: it must be decided. */
size_t replies_pass_unseen(struct flow *flow, const char *bytes, size_t length, size_t there);
enum frame reply_decide(struct flow *flow, const char *bytes, size_t length);
void reply_dropped(
    struct flow *flow); /* the reply in hand goes nowhere: what goes instead of it? */
void reply_ended(struct flow *flow);
bool reply_has_answers(const struct proxy_link *link);
void reply_emit_answers(struct proxy_link *link); /* those whose turn it is */
void reply_check_feed(struct proxy_link *link);   /* from here on replies cannot be framed? */

#endif
