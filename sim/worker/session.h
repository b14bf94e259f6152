/* session.h - workers, the servers that they talk to, and all that is on its way between them.
 *
 *     worker A --listener A,1--> | proxy: request held | --> redis-server 1   (clock steered)
 *                                | reply held          |
 *
 * Nothing moves by itself: a request stands at its proxy until session_execute(), its reply until
 * session_deliver(), and time until session_set_now(). Each of these returns when all that follows
 * from it by itself has happened: every worker is at rest, every byte has arrived. A listener for
 * each client and server tells whose a command is. Handshakes of a connection (HELLO, AUTH, SELECT
 * ...) pass; any password of AUTH is the right one. A transaction is one message, that of its EXEC:
 * what it queues takes no effect before, and is answered at once. A command that waits at its
 * server is executed when it can go on; what is published stands on its way to each who has
 * subscribed. */
#ifndef PICKLOCK_WORKER_SESSION_H
#define PICKLOCK_WORKER_SESSION_H

#include "base/limits.h"
#include "worker/worker.h"

#include <hiredis/hiredis.h>

/* LOOKED_AT: bytes of a command or a reply that are seen; there are scripts of 1 MB. */
enum { SESSION_CLIENTS_MAX = 8, SESSION_NAME_MAX = 32, SESSION_LOOKED_AT = 2 * 1024 * 1024 };
#define SESSION_PATIENCE_US INT64_C(20000000)

/* WAITING: it has come to its server, and waits there for what somebody else does (BLPOP). */
enum transit { TRANSIT_REQUEST, TRANSIT_REPLY, TRANSIT_WAITING };

/* A command of a worker, or its reply, on its way. */
struct wire_message {
    struct wire_message *next; /* of all, oldest first */
    int client, server;
    char name[SESSION_NAME_MAX]; /* "EVALSHA" */
    int ordinal; /* the how-manieth command of that name from that client to that server, from 1 */
    enum transit transit;
    bool is_gone; /* its connection has ended: it may still be executed, and is heard by nobody */
    bool is_left; /* is_gone, because its worker has ended it; the caller clears it */
    bool is_published; /* a message of pub/sub: a reply from its beginning, that answers nothing */
    bool is_beside;    /* it was executed over a connection of ours, beside its own */
    bool can_wait;     /* at its server: */
    int64_t limit_us;  /* for so long, TIME_NEVER: for ever, */
    int64_t until_us;  /* WAITING: world time at which it is answered with nothing */
    int64_t turn;      /* WAITING: who came first is served first */
    int requests;      /* on the wire: 1, or those of a transaction */
    struct wire_twin *twin;      /* not NULL: it is executed there, not on its connection */
    const char *refusal;         /* not NULL: it is answered with this line, and not executed */
    bool is_offered, is_claimed; /* for the caller's use */
    int lane;                    /* the same */
    bool is_silent;              /* its connection is half-open: session_half_open() */
    bool is_behind;              /* another's reply is first to be heard on its connection */
    char *bytes;                 /* the request, RESP; the beginning of a large one */
    size_t length;
    char *reply; /* REPLY: RESP; the beginning of a large one */
    size_t reply_length;
    int64_t attempt; /* of its client, when it was sent */
    enum worker_op op;
    struct proxy_request *held; /* NULL: is_gone */
    struct wire *wire;          /* its connection; NULL: is_gone */
};

struct session;
struct servers;
struct wire_twin;
struct proxy_request;
struct wire;

/* What happens, as it happens. All borrowed until return; each may be NULL. */
struct session_events {
    void (*sent)(void *context, const struct wire_message *message);
    void (*executed)(void *context, const struct wire_message *message);
    void (*delivered)(void *context, const struct wire_message *message);
    /* A command that is not held, and its reply; why: what it is. */
    void (*passed)(void *context, int client, int server, const char *name, const char *why);
    void (*printed)(void *context, int client, const char *line);
    void (*noticed)(void *context, int client); /* it says that its lock is lost */
    void *context;
};

struct session_options {
    const char *command;      /* of the workers */
    const char *redis_server; /* NULL: the one on the PATH */
    int clients, servers;
    bool has_replica;                    /* each server has one */
    const char (*names)[NAME_MAX_BYTES]; /* clients names; kept */
    const char *key;                     /* of the lock; kept */
    int64_t lease_us, work_us;
    int64_t wait_us; /* for so long an acquire may try again; 0: one attempt */
    bool may_exit;   /* who promises it may end when its lock is lost: session_has_exited() */
    /* Nothing becomes of its servers but what is executed. A new connection that asks one for INFO
     * hears what the first one did, and goes on to the server with the first byte that must. */
    bool repeats_info;
    uint64_t seed;
    int64_t patience_us;      /* real time that a worker may take to come to rest; 0: as below */
    const volatile int *stop; /* not NULL, and not 0: whatever waits gives up with FAIL_UNKNOWN */
    struct session_events events;
};

/* Servers run, workers are ready, and both are proved to live by our time. FAIL_INPUT,
 * FAIL_UNAVAILABLE: why not, in words for who wrote the worker. From the main thread only. */
enum fail session_new(struct session **session, const struct session_options *options,
                      struct failure *failure);
/* The same in two parts. What was started is not waited for: it begins while something else is
 * done, and then waits for its first request. Behind a failure to start there is none; one to
 * finish leaves it to be freed. */
enum fail session_start(struct session **session, const struct session_options *options,
                        struct failure *failure);
enum fail session_finish(struct session *session, struct failure *failure);
void session_free(struct session *session); /* NULL is fine */

/* All as it was behind session_new(): servers empty, no connection but those of a beginning, every
 * worker reset, world time 0 (their clocks have gone on; nothing of ours tells how far). Who has
 * something pending, was killed, hangs on its reset, or is not behind it as it began (connections,
 * timers) gets a new process; so do those of anew (bit a client). FAIL_UNKNOWN: it is not as it
 * was even then. */
enum fail session_reset(struct session *session, unsigned anew, struct failure *failure);

/* --- workers --- */
/* From here on, and returned by worker_ask(): nothing else is asked of that client before it
 * answers. */
enum fail session_ask(struct session *session, int client, struct worker_request request,
                      struct failure *failure);
/* Tells it to end the acquire that it is in. */
enum fail session_cancel(struct session *session, int client, struct failure *failure);
bool session_is_asked(const struct session *session, int client); /* and has not answered */
/* What it answered last. */
const struct worker_answer *session_answer(const struct session *session, int client);
unsigned session_promises(const struct session *session); /* bit enum worker_promise */
const char *session_library(const struct session *session);
/* The runtime of a worker, when it lacks the flags that make it steady ("node"); NULL. */
const char *session_unsteady(const struct session *session);
/* Does the runtime of that worker read the monotonic clock for itself, whatever its program does?
 */
bool session_has_idle_reads(const struct session *session, int client);
/* Why the reads of the program cannot be told from those; NULL: they can, by counts.told_reads. */
const char *session_untold(const struct session *session, int client);
const struct time_counts *session_counts(const struct session *session, int client);
int session_pid(const struct session *session, int client); /* of its process */
/* Kills its process: it is gone, and its memory. Settles nothing. */
void session_kill(struct session *session, int client);
/* Its wall clock jumps, for good. A wait until an instant of that clock keeps its length. */
void session_jump_clock(struct session *session, int client, int64_t amount_us);
/* From now on all its clocks gain so much a second (above -1 s), and its timers with them. */
void session_set_rate(struct session *session, int client, int64_t gains_us);
void session_forget_notice(struct session *session, int client);
bool session_has_notice(const struct session *session,
                        int client); /* it said that its lock is lost */
/* It ended by itself, as it promised for that. What it is asked from then on goes nowhere. */
bool session_has_exited(const struct session *session, int client);

/* --- messages --- */
struct wire_message *session_messages(const struct session *session); /* the oldest; NULL: none */
/* "A's 2nd EVALSHA to server 1"; names: the clients'. At most size bytes; returns text. */
const char *session_name_message(const char (*names)[NAME_MAX_BYTES],
                                 const struct wire_message *message, char *text, size_t size);
/* FAIL_UNKNOWN: the server did not answer, the worker did not come to rest. */
enum fail session_execute(struct session *session, struct wire_message *message,
                          struct failure *failure);
/* Of those that wait at that server the first that goes on now, because there is something for it,
 * or its time is over: it is a reply from here on. NULL: none does. */
enum fail session_serve(struct session *session, int server, struct wire_message **served,
                        struct failure *failure);
bool session_has_waiting(const struct session *session, int server);
/* All of them, at all servers. */
enum fail session_serve_all(struct session *session, struct failure *failure);
/* The message is over. */
enum fail session_deliver(struct session *session, struct wire_message *message,
                          struct failure *failure);
/* Takes it out: nothing comes of it any more. */
void session_forget(struct session *session, struct wire_message *message);
/* Has it a subscription? What is published there comes to it unasked. */
bool session_is_subscribed(const struct session *session, int client);
/* From here on the server's answer is these bytes (kept; RESP), and it executes nothing. */
void session_refuse(struct wire_message *message, const char *bytes, size_t length);
/* A copy that travels by itself: whenever it is executed, nobody hears of it. */
struct wire_message *session_copy(struct session *session, const struct wire_message *message);

/* --- connections: numbers are the caller's, from 1; 0: none --- */
void session_set_connection(struct wire_message *message, int connection);
/* Nothing passes on them any more; the worker does not know yet. */
void session_silence(struct session *session, int client, int connection);
bool session_is_silent(const struct wire_message *message);
/* Is there one that passes nothing any more, and of whose end the worker will hear? */
bool session_has_silence(const struct session *session, int client);
/* What a connection of these workers was set to, as far as they have said: RESP 2 or 3; the number
 * of the database (SELECT), where the lock is then. */
int session_protocol(const struct session *session);
int session_database(const struct session *session);
/* All connections of that worker to that server are half-open from here on: what it has sent, or
 * sends, stands there, and it is not told. How many there were. New ones pass. */
int session_half_open(struct session *session, int client, int server);
/* Has it one that is? */
bool session_has_half_open(const struct session *session, int client);
/* Goes up with each byte that the worker has sent or received, and each connection that it tried.
 */
uint64_t session_traffic(const struct session *session, int client);
/* Whether that worker is answered when it connects to that server. Settles nothing.
 * FAIL_UNKNOWN: why it cannot be helped. */
enum fail session_answer_dials(struct session *session, int client, int server, bool is_answered,
                               struct failure *failure);
/* Bit a server: that worker has a connection to it that was not cut; it connects to it, and is not
 * answered. */
unsigned session_connected(const struct session *session, int client);
unsigned session_connecting(const struct session *session, int client);
/* Bit a server: that worker has ended a connection to it by itself in this run. */
unsigned session_redials(const struct session *session, int client);
/* The worker is told (reset): those of that number, and those that were silenced. What was on them
 * may still be executed. Settles nothing. */
void session_cut(struct session *session, int client, int connection);
/* The same for all connections to a server, but those that were silenced, or are half-open. */
void session_cut_server(struct session *session, int server);

/* --- time --- */
int64_t session_now_us(const struct session *session);
/* When the next thread of that worker, or (-1) of any, goes on by itself; TIME_NEVER. */
int64_t session_next_us(struct session *session, int client);
enum fail session_set_now(struct session *session, int64_t now_us, struct failure *failure);
/* The same for the servers, and for workers none of whose threads would go on by itself then: the
 * others stay behind, as if they stalled. Settles nothing. */
void session_let_pass(struct session *session, int64_t now_us);
/* A worker that stayed behind goes on: what it is told before all is settled it hears before its
 * timers ring. Settles nothing. */
void session_catch_up(struct session *session, int client);
enum fail session_settle(struct session *session, struct failure *failure);

/* --- servers --- */
const char *session_folder(const struct session *session); /* the private one, of all it runs */
struct servers *session_servers(struct session *session);
/* It was replaced: connections go to the new one. */
void session_follow_server(struct session *session, int server);
/* Its process has ended, and nobody has taken its place yet: whoever dials it meanwhile is reset,
 * as expected. */
void session_set_dead(struct session *session, int server, bool is_dead);
/* Its connections but the silenced ones are reset, and who connects is refused (ECONNREFUSED),
 * until session_accept(). FAIL_UNAVAILABLE: why not. Settles nothing. */
enum fail session_refuse_all(struct session *session, int server, struct failure *failure);
enum fail session_accept(struct session *session, int server, struct failure *failure);
redisContext *session_control(const struct session *session, int server);
/* Has no worker a ring of io_uring, or a process that it has started since it began? Have all
 * servers, replicas and those before them, too, had no connections but ours so far: those that came
 * through the proxy, and those that servers_note_dial() was told of? FAIL_UNKNOWN: somebody went
 * past the proxy, or may have, or that is not known. */
enum fail session_check_past(struct session *session, struct failure *failure);
/* Has that shown, that somebody did? */
bool session_is_past(const struct session *session);
const char *session_server_version(const struct session *session);

#endif
