/* session_state.h - what the files of a session share. Private to this folder. */
#ifndef PICKLOCK_WORKER_SESSION_STATE_H
#define PICKLOCK_WORKER_SESSION_STATE_H

#include "live/servers.h"
#include "worker/server_wire.h"
#include "worker/session.h"

/* A proxy before a server, for one client alone. */
struct listener {
    struct session *session;
    struct proxy *proxy;
    int client, server;
    struct proxy_traffic seen; /* when its worker was last made to look */
};

/* What INFO was answered, in so many words: session_options.repeats_info. */
struct told_info {
    struct told_info *next;
    int server;
    char *asked, *reply; /* RESP; reply: NULL: none has come yet */
    size_t asked_length, reply_length;
};

/* A connection of a worker's, as its proxy sees it. Freed when it has ended. */
struct wire {
    struct wire *next; /* of the session's */
    struct proxy_link *link;
    int client, server;
    int connection;  /* the caller's number; 0: none */
    int outstanding; /* requests on it that the server has, and has not answered */
    bool is_silent, is_cut, is_half_open;
    bool has_said_who;      /* rightly: AUTH, HELLO with AUTH */
    bool has_greeted;       /* HELLO: replies may have other forms than they had before */
    bool has_begun;         /* a command that is held has come on it */
    struct told_info *asks; /* what it waits to be told; NULL: nothing that is remembered */
    char *queued;           /* since its MULTI: RESP; NULL: there is none */
    size_t queued_length;
    struct wire_twin *twin; /* NULL: nothing was watched on it, nor a transaction begun */
    struct wire_ear *ear;   /* NULL: nothing was subscribed to on it */
};

struct pending {
    enum worker_op op;
    bool is_answered;
};

/* Differences between what was sent and what arrived that stay: a worker that does not read an old
 * connection. Never waited for again. */
struct slack {
    uint64_t sent, received, connections;
    uint64_t unseen; /* ends of connections: at least so many */
};

/* What a worker is like when it has just begun: to hold a reset against. */
struct beginning {
    int connections;
    int64_t next_us; /* as session_next_us() */
    uint64_t drawn, uuids;
    bool has_children;
};

/* A worker's own clocks and timers, beside the time of all (both as a page tells it). */
struct own_time {
    int64_t since_us, gained_us; /* they were so far ahead then, */
    int64_t gains_us;            /* and have gained so much a second since */
};

struct worker_slot {
    struct session *session;
    struct worker *worker;
    int number;
    int64_t attempt;         /* acquires so far */
    enum worker_op op;       /* asked last, of ACQUIRE, EXTEND, RELEASE */
    int64_t asked_id;        /* 0: it has answered */
    struct pending *pending; /* by id, from 1 */
    int64_t pending_count;
    struct worker_answer answer;
    bool has_notice, has_exited;
    unsigned connecting; /* where it rested last: session_connecting() */
    unsigned redials;
    struct own_time own_time;
    struct slack slack;
    int lost_looks;             /* in a row that found our library in its process no more */
    struct beginning beginning; /* of its first process */
};

struct name_count {
    char name[SESSION_NAME_MAX];
    int client, server, count;
};

struct session {
    uv_loop_t loop;
    uv_timer_t tick;
    struct servers servers;
    struct session_options options;
    struct session_events events;
    struct worker_events worker_events;
    char shim[PROCESS_PATH_MAX], helpers[PROCESS_PATH_MAX];
    int workers_started;
    struct worker_slot clients[SESSION_CLIENTS_MAX];
    struct listener listeners[SESSION_CLIENTS_MAX][SERVERS_MAX];
    struct wire_message *first, *last;
    struct wire *wires;
    struct told_info *told_info;
    struct name_count *names;
    int names_count;
    int64_t now_us;                    /* world time; */
    int64_t origin_us;                 /* when that was 0, on all pages */
    int outstanding;                   /* requests that a server has, and has not answered */
    char waited_for[SESSION_NAME_MAX]; /* the name of the one that went there last */
    int64_t activity;                  /* goes up with all that happens */
    int64_t turns;                     /* commands that have waited at a server so far */
    int protocol, database;            /* what its workers said: HELLO, SELECT */
    bool has_selected;
    bool wants_who;    /* one of them has said who it is: so each has to, on each connection */
    bool has_promises; /* one of them has said what it promises: so has each, each time */
    unsigned promises;
    bool is_past;  /* a server had a connection that is none of ours */
    unsigned dead; /* bit a server: its process has ended, and nobody has taken its place yet */
    char library[PROTOCOL_TEXT_MAX];
    struct failure failure; /* the first thing that went wrong by itself */
    bool is_closing;
    bool shares_processor;
};

/* --- begin.c --- */
/* All that run by now take turns on one processor. */
void session_share_processor(struct session *session);
/* Virtual, for a program that sleeps while it begins. */
enum { SESSION_BEGIN_US = 5000000, SESSION_PROOF_US = 7000 };
/* They begin, and the proofs take some time: then it is 0. */
static inline int64_t session_lead_us(const struct session *session)
{
    return SESSION_BEGIN_US + (int64_t)SESSION_PROOF_US * session->options.clients;
}
enum fail session_begin(struct session *session, struct failure *failure);
/* The process of a client, which may have had one before; it has said nothing yet. */
enum fail session_start_worker(struct session *session, int client, struct failure *failure);
/* INIT or RESET: what its library sends meanwhile is let go at once. FAIL_UNKNOWN: no answer. */
enum fail session_make_ready(struct session *session, int client, enum worker_op op,
                             struct failure *failure);
/* World time, for servers and all workers, as a page tells it. */
static inline int64_t session_page_us(const struct session *session)
{
    return session->now_us + session->origin_us;
}

/* The same, as that worker's page tells it. */
int64_t session_own_us(const struct session *session, int client);

/* --- reset.c --- */
void session_note_beginnings(struct session *session);

/* --- message_names.c --- */
/* The how manieth of that name it is, from 1. */
int session_next_ordinal(struct session *session, int client, int server, const char *name);
/* Counts names from 1 again. */
void session_forget_names(struct session *session);

/* --- messages.c --- */
/* A worker that has ended a connection waits for nothing on it any more. */
void session_take_left(struct session *session);

/* --- dials.c --- */
/* Sockets of it that connected to us, or try to, and that it has not closed; less those that we
 * take for open. Above 0: it dials, or we have cut one. Below: the end of one is on its way. */
int64_t dials_unknown_sockets(const struct session *session, int client);
bool dials_are_held(const struct session *session, int client); /* to any server */
/* Where everybody rests: who dials, and is not answered. */
void dials_find(struct session *session);
enum fail listener_open(struct session *session, int client, int server, struct failure *failure);

/* One that is published, on its way to who has subscribed on that connection. bytes: RESP. */
void session_add_published(struct wire *wire, struct session *session, const char *bytes,
                           size_t length);

/* --- handshake.c --- */
/* Is that command one that a connection begins with? It passes unheld. */
bool session_is_handshake(const char *name);
/* What the proxy answers to who says who he is (AUTH, HELLO with AUTH), since our servers have no
 * passwords: static; NULL: the server is asked. */
const char *session_answer_handshake(const struct proxy_request *request);
/* The same, and what a connection is answered that has not said who it is, where another one of
 * these workers has: static; NULL: the server is asked. */
const char *session_hear_who(struct session *session, struct wire *wire,
                             const struct proxy_request *request);
/* What it sets its connection to. The session fails where workers select two databases. */
void session_note_handshake(struct session *session, int client,
                            const struct proxy_request *request);

/* INFO that was answered before is answered so again, and true. Else the reply is remembered. Where
 * that is wanted, while a connection has said nothing that is held, nor HELLO. */
bool session_repeats_info(struct session *session, struct wire *wire,
                          struct proxy_request *request);
void session_remember_info(struct wire *wire, const struct proxy_request *request,
                           const char *reply, size_t length);
void told_info_free(struct told_info *told);

/* --- transaction.c --- */
/* What belongs to a transaction that is open: answered at once, and true. */
bool transaction_takes(struct wire *wire, struct proxy_request *request);
/* Is it executed beside its connection? message: of that request, which stands there. */
void transaction_fill(struct wire *wire, struct wire_message *message);
/* On the twin of its connection, which may be gone; of a message without one, on a new one. */
enum fail transaction_execute(struct session *session, struct wire_message *message,
                              struct failure *failure);
void wire_twin_end_watch(struct wire_twin *twin); /* NULL is fine, of all three */
void wire_twin_keep(struct wire_twin *twin);
void wire_twin_release(struct wire_twin *twin); /* the last one to hold it closes it */

/* Opens a connection of our own to that server, set as those of the workers are. */
enum fail session_open_beside(struct session *session, int server, struct server_wire *wire,
                              struct failure *failure);

/* --- waiting.c --- */
/* Can it wait at its server, and for how long? */
void waiting_fill(struct wire_message *message);
/* One that can is tried: a reply, or WAITING. */
enum fail waiting_execute(struct session *session, struct wire_message *message,
                          struct failure *failure);

/* --- subscriptions.c --- */
/* Is it executed where its connection listens? */
bool ear_takes(const struct session *session, const struct wire *wire, const char *name);
enum fail ear_execute(struct session *session, struct wire_message *message,
                      struct failure *failure);
/* What was published at that server so far is on its way. */
enum fail ears_listen(struct session *session, int server, struct failure *failure);
void ear_free(struct wire_ear *ear); /* NULL is fine */

/* --- settle.c --- */
/* Something went wrong, by whoever it is about. The first one stays. */
void session_fail(struct session *session, int client, const struct failure *failure);

/* --- helpers.c --- */
/* Writes the helper modules into the folder (made here). */
enum fail helpers_write(const char *folder, struct failure *failure);
/* Where session->shim is. By a path of our own: where the program lies, blanks and colons may
 * stand, at which LD_PRELOAD splits. */
enum fail helpers_link_shim(struct session *session, struct failure *failure);

/* --- prove.c --- */
/* Is the worker's time ours? Asked twice, around a step of SESSION_PROOF_US; a third time where
 * that is not told to the microsecond. */
enum fail session_prove_time(struct session *session, int client, struct failure *failure);

#endif
