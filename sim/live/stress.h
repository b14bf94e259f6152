/* stress.h - what the files of the stress run share. Private to this folder.
 *
 *     load client (a client's endless loop)  --request-->  queue before each server  -->  server
 *
 * A load request is one command of a client on its way. A server of ours tells in which order it
 * reads (read_order.h), so all that have come go to it at once, and the order of execution is known
 * exactly. Before somebody else's server they stand in a queue, and one at a time is with it.
 * Replies go on in the order of execution. A delayed command waits outside the queue. Faults are
 * drawn by (seed, client, n-th thing), whatever the timing. */
#ifndef PICKLOCK_LIVE_STRESS_H
#define PICKLOCK_LIVE_STRESS_H

#include "base/histogram.h"
#include "base/timers.h"
#include "live/cluster.h"
#include "live/healing.h"
#include "live/held_up.h"
#include "live/injected_wait.h"
#include "live/internal.h"
#include "world/client.h"

enum {
    CHECK_EVERY_US = 100000, /* is all alive? */
    LOOKS_A_LEASE = 10,      /* what holds clients up here is known to such a part of it */
};

struct stress;
struct load_client;

/* A timer that knows what to do. */
struct load_timer {
    struct timer timer; /* first */
    void (*rings)(struct load_timer *timer);
    void *owner;
};

enum load_request_place {
    PLACE_UNSENT,   /* waits until there is a connection that is free */
    PLACE_UNDERWAY, /* between the client and the proxy */
    PLACE_DELAYED,  /* held before the queue */
    PLACE_QUEUED,
    PLACE_RUNNING,  /* with the server */
    PLACE_ANSWERED, /* its reply is held, or on its way to the client */
    PLACE_LOST,     /* its connection is gone, and its client does not know yet */
};

struct load_request {
    struct stress *stress; /* this and the next: its client need not be looked at */
    int client;
    struct load_client *load_client;
    struct load_request *next;  /* of the load client */
    struct load_request *after; /* in the queue */
    struct exchange *exchange;  /* NULL: its connection is gone, or (direct) it has not gone yet */
    struct connection *connection;
    enum load_request_place place;
    int server, lock, attempt;
    int node;                    /* the server that it goes to: in a cluster, the master */
    int followed;                /* so many redirections */
    enum redirect_kind redirect; /* its answer, to be followed */
    int redirected_to;
    bool is_asking; /* it goes behind ASKING */
    enum lane lane;
    enum operation op;
    struct command command;
    int64_t token;
    struct load_timer timeout, delay;
    enum {
        STRIKE_NONE,
        STRIKE_REQUEST,
        STRIKE_REPLY,
        STRIKE_SERVER,
        STRIKE_DELAY_BEFORE,
        STRIKE_DELAY_AFTER,
        STRIKE_PAST_LEASE_BEFORE,
        STRIKE_PAST_LEASE_AFTER,
    } strike;
    enum server_strike server_strike; /* of STRIKE_SERVER */
    int64_t delay_us;
    bool is_abandoned;    /* the client does not wait for it any more */
    bool ends_connection; /* when it has executed, its connection is cut */
    bool is_cut_off;      /* on the way out of wire_end() */
    bool is_kept_back;    /* heard while the client was stalled */
    bool is_held_back;    /* by a fault, and its client waits for it */
    bool is_queued;       /* by us, and its client waits for it */
    int64_t due_us;       /* its time-out was, and what had come by then is read; 0: it was not */
};

enum load_client_place {
    LOAD_THINKS,
    LOAD_ACQUIRES,
    LOAD_WRITES_FENCED,
    LOAD_READS,
    LOAD_WRITES,
    LOAD_APPENDS,
    LOAD_CUTS, /* the list, where it is long: a run may last, and all else that it needs does not
                  grow */
    LOAD_WORKS,
    LOAD_RELEASES,
    LOAD_DEAD,
};

struct load_client {
    struct stress *stress;
    struct client client;
    int number;
    int lock;
    enum load_client_place place;
    struct load_request *requests;
    struct connection *connections[SERVERS_MAX][LANE_COUNT];
    struct load_timer wake; /* the scheme's own timer */
    struct load_timer next; /* think, pause, restart */
    struct injected_wait wait;
    struct own_delay own;
    int64_t awake_us; /* when its last pause was to end */
    int64_t entries;  /* of the list, as its last append was told */
    int64_t called_us;
    int64_t commands; /* sent so far: what faults are drawn by */
    int64_t operations;
    int crash_in; /* so many moments from now, -1: not */
    bool is_paused, was_paused;
    bool is_working;            /* holds, and its work is not done */
    bool has_stalled_releasing; /* and the release has sent nothing since */
};

struct queue {
    struct load_request *first, *last;
    int running;              /* with the server, */
    int silent;               /* which has answered none of them in so many looks */
    struct load_timer outage; /* rings when it is struck, and at the end of what goes on */
    enum server_reach reach;  /* silent: nothing goes to the server, nor from it to a client */
    enum server_strike due;   /* strikes when nothing is with the server, */
    int64_t due_us;           /* and goes on so long */
    enum server_strike later; /* has struck with a part of it, and the next one is to come */
    int parts;                /* of it that have struck */
    int lock;                 /* that the one asks for by whom it was drawn */
    bool is_striking;         /* that is so: it strikes at the next turn */
    bool is_going;            /* its process ends: so do connections */
    bool has_refused;         /* connections, at some time */
    int server;
    struct stress *stress;
};

/* What there are open files for. */
struct load_room {
    int64_t connections;
    int64_t dials; /* of them at a time: with carriers, those that no carrier holds yet */
};

struct stress {
    struct live *live;
    const struct stress_options *options;
    struct run run; /* what tokens are drawn by */
    struct near_link near;
    struct carriers *carriers;       /* NULL: none are needed */
    struct send_thread *send_thread; /* NULL: the loop sends all */
    int64_t began_us;
    int64_t events;
    struct timers timers;
    int64_t rings_late_us; /* the timer that rings now */
    struct held_up held_up;
    struct load_client *load_clients;
    struct queue queues[SERVERS_MAX];
    char (*prefixes)[KEY_PREFIX_MAX]; /* a lock each */
    struct histogram *latency;
    int64_t operations, grants;
    int64_t struck[STRUCK_COUNT];
    int64_t connections_refused;
    struct load_room room;
    int greeted; /* clients that every server has answered */
    bool is_healing, has_seen_enough, is_ending;
    bool is_striking;             /* a server, which may run the loop */
    struct lock_healing *healing; /* a lock each */
    struct failure failure;
    bool has_seen_death;     /* the failure: a server died, and how */
    bool is_ordered;         /* every server tells in which order it reads */
    unsigned char *homes;    /* of a cluster: whose each lock's slot was when it began */
    unsigned char *believes; /* whose it is, as a client has learned, + 1; a row a client. 0: not */
    struct failure doubt;    /* FAIL_UNKNOWN: nothing can be concluded, and why */
};

/* --- stress.c --- */
int64_t stress_now_us(const struct stress *stress);
struct event stress_event(struct stress *stress, enum event_kind kind,
                          const struct load_client *load_client, int server);
void stress_write(struct stress *stress, struct event *event);
/* Clients live on while a strike runs the loop. context: the stress. */
void stress_meanwhile(void *context);
void stress_timer(struct stress *stress, struct load_timer *timer, int64_t in_us);
/* The n-th draw of a client for one kind of fault: 0 .. 999999, and a second number. */
enum draw {
    DRAW_LOCK,
    DRAW_COMMAND,
    DRAW_PAUSE,
    DRAW_CRASH,
    DRAW_THINK,
    DRAW_DRIFT,
    DRAW_AIMED,
    DRAW_HOLD
};
uint64_t stress_draw(const struct stress *stress, int client, enum draw draw, int64_t n);
/* 0 .. 2 x mean, from one draw. */
int64_t stress_spread(uint64_t drawn, int64_t mean_us);

/* --- load_life.c --- */
/* A server's death is told as such, not as the broken connections that it leads to. */
void load_life_check(struct stress *stress);
/* Also in the end: what they held is gone, and counts as what it is. */
void load_life_check_carriers(struct stress *stress);
/* Every CHECK_EVERY_US in which the loop has turned: commands with a server of which it answers
 * none for as long as an answer may take end the run. */
void load_life_check_answers(struct stress *stress);
/* It counts from here on. */
void load_life_forget_silence(struct stress *stress);
/* Has a server answered none of them since the last look, or longer? */
bool load_life_is_silent(const struct stress *stress);
/* In short spans: a clock that jumps is not lost in a long run. The first that went wrong is kept.
 */
void load_life_compare_clocks(struct stress *stress);
/* Its clients are not all connected, as failure says. FAIL_NONE: since a process is gone, and the
 * run is one that has ended. */
enum fail load_life_unbegun(struct stress *stress, struct stress_outcome *outcome,
                            struct failure *failure);
/* Where a process is gone, or a connection, the run ended there: nothing is concluded from what
 * came behind the last proof, which is that end itself where servers live on. FAIL_..: what failed
 * leaves nothing to conclude from. */
enum fail load_life_end(struct stress *stress, struct stress_outcome *outcome,
                        struct failure *failure);

/* --- load_requests.c --- */
extern const struct connection_events stress_connection_events;
static inline struct stress *stress_of(const struct load_request *request)
{
    return request->stress;
}
/* Sends what the load client wants sent. */
void load_request_send(struct load_client *load_client, const struct request *request);
/* Sends what could not be sent yet, if it can now. */
void load_request_go(struct load_request *request);
/* Takes up again what came while the load client was stalled. */
void load_requests_resume(struct load_client *load_client);
void load_request_fault(struct load_request *request, enum fault fault, int64_t amount_us);
/* Lets the next of them go to the server, if it is free. */
void load_requests_pump(struct stress *stress, int server);
/* Out of its queue, in which it stands. */
void load_request_dequeue(struct load_request *request);
/* Frees it; not while it is in a queue or with a server. */
void load_request_free(struct load_request *request);

/* --- load_waits.c --- */
/* It calls acquire: what we keep it waiting for counts from here. */
void load_own_delay_begins(struct load_client *load_client);
/* It is granted the lock: where what kept it waiting may be what makes that late, the history says
 * how long we did. */
void load_own_delay_tell(struct load_client *load_client);
/* It waits because of nothing but us: for its turn, or for a connection. Said twice it counts once.
 */
void load_request_queue_begins(struct load_request *request);
void load_request_queue_ends(struct load_request *request);
/* Its time-out rings, maybe not the first time. A reply that has come by then is heard, which this
 * process may not have got round to: it is read in the turn behind that, or is on its way already,
 * by a process that holds connections. */
bool load_request_may_be_heard(struct load_request *request);
/* A fault keeps the client waiting, one more or one less. */
void load_wait_begins(struct load_client *load_client);
void load_wait_ends(struct load_client *load_client);
/* A fault holds it back: while its client waits for it, that is a wait that was injected. Said
 * twice it counts once. */
void load_request_hold_back(struct load_request *request);
/* Nothing does any more, or its client waits no longer. */
void load_request_let_on(struct load_request *request);
/* So long faults have kept clients waiting up to now, all together. */
int64_t load_waits_us(const struct stress *stress, int64_t now_us);

/* --- load_draws.c --- */
/* Draws what falls on the command, if anything. */
void load_request_draw(struct load_request *request);
bool load_request_is_past_lease(const struct load_request *request);

/* --- load_cluster.c: nothing of it happens where there is none --- */
enum { LOCK_KEY_MAX = KEY_PREFIX_MAX + 16 };
void load_cluster_key(const struct stress *stress, int lock, char key[LOCK_KEY_MAX]);
/* Prefixes are filled: whose each lock's slot is. */
enum fail load_cluster_begin(struct stress *stress, struct failure *failure);
void load_cluster_end(struct stress *stress);
/* Where the client sends a command about its lock that is for that server. */
int load_cluster_node(const struct load_client *load_client, int server);
/* It is answered, and maybe not executed, but to be sent on: then request->redirect says how. */
bool load_cluster_redirects(struct load_request *request);
/* It has executed: does its connection watch keys from then on? */
void load_cluster_note_watch(const struct load_request *request);
/* Its client has heard so: it goes to the other master. */
void load_cluster_follow(struct load_request *request);
/* What the lock's counter says in the end. Freed with freeReplyObject(); NULL: why not. */
redisReply *load_cluster_counter(struct stress *stress, int lock, struct failure *failure);

/* --- load_room.c --- */
/* Connections that are being made at a time before the run begins. */
enum { GREET_BATCH = 200, GREET_BATCH_CARRIED = 50 };
/* What the run may have. FAIL_UNAVAILABLE, with the number of clients that fit:
 * those that there are no connections for would be counted and do nothing; all or none. */
enum fail load_room(const struct stress *stress, struct load_room *room, struct failure *failure);
/* So many processes hold the proxy's ends of connections; 0: we do. */
int load_room_processes(const struct stress_options *options);

/* --- load_carriers.c: the processes that hold the proxy's ends; before connections there are none,
 * and nothing happens where none are needed --- */
enum fail load_carriers_begin(struct stress *stress, struct failure *failure);
/* FAIL_UNAVAILABLE: one has ended. */
enum fail load_carriers_check(const struct stress *stress, struct failure *failure);
/* All clients have gone. What they used of a processor. */
int64_t load_carriers_end(struct stress *stress);

/* --- load_greet.c --- */
/* Connects all clients, each to an answer from each server, before the clock starts: a storm of
 * connections is not what is measured, and who is counted is there. */
enum fail load_greet(struct stress *stress, struct failure *failure);

/* --- load_send_thread.c: behind load_carriers_begin(); before the last connections are gone it
 * goes on
 * --- */
enum fail load_send_thread_begin(struct stress *stress, struct failure *failure);
void load_send_thread_end(struct stress *stress);

/* --- load_order.c --- */
/* Follows the servers' reads, where all of them tell of them: before there are connections. */
void load_order_follow(struct stress *stress);
/* Where the run is to go without the proxy, connections go to the servers from here on; after
 * load_order_follow(). FAIL_UNAVAILABLE: the order would not be known. */
enum fail load_order_go_direct(const struct stress *stress, struct failure *failure);
/* All clients have been answered: then each was seen to be read from. FAIL_UNAVAILABLE: which
 * server's order is not known. */
enum fail load_order_prove(const struct stress *stress, struct failure *failure);
/* Where the options say so, connections go to the proxy by unix sockets from here on. */
enum fail load_order_go_near(struct stress *stress, struct failure *failure);
/* All connections have gone. */
void load_order_drop(struct stress *stress);

/* Another process is to take the server's place, and has. FAIL_UNAVAILABLE: its order is not told.
 */
void load_order_leave(struct stress *stress, int server);
enum fail load_order_take(struct stress *stress, int server, struct failure *failure);

/* --- load_strikes.c: what is done to servers --- */
/* Is what strikes next the last part of it? */
bool load_strike_is_last(const struct queue *queue, enum server_strike strike);
/* Must it come to its end, also when the run heals? */
bool load_strike_must_end(enum server_strike strike);
/* Does the part that is next, and tells; is_struck false: there was nothing to strike.
 * FAIL_UNKNOWN: it has not struck.
 */
enum fail load_strike(struct queue *queue, enum server_strike strike, bool *is_struck,
                      struct failure *failure);
/* Connections have gone where they are to: what is to be so before the server is open again. */
enum fail load_strike_end(struct queue *queue, enum server_strike strike, struct failure *failure);
/* What is so of the server from then on; open: nothing. */
enum server_reach load_strike_reach(enum server_strike strike);

/* --- load_outages.c: when servers are struck, and how long they are out of reach --- */
void outage_tell(struct stress *stress, int server, int lock, enum fault fault, int64_t amount_us);
/* The request's strike does so to its server, as soon as nothing is with it. */
void outage_draw(const struct load_request *request);
/* Begins the one that was drawn, if any; nothing is with the server. */
void outage_begin_due(struct queue *queue);
/* Does the server hold back that request, which is next, for now? */
bool outage_holds(const struct queue *queue, const struct load_request *request);
/* All that go on end now. */
void outages_end(struct stress *stress);
/* The run is over, and nobody is told any more: servers go on. */
enum fail outages_leave(struct stress *stress, struct failure *failure);
/* Draws whether the clock of that server runs fast or slow, from now on; and tells it. */
void server_drifts(struct stress *stress, int server);
/* A connection was refused: by a server that had been told to? Counts it. */
bool outage_refused(struct stress *stress, int server);
/* Its connection is gone; its client hears of it next. Not while it is with a server. */
void load_request_lose(struct load_request *request);

/* --- lanes.c --- */
/* A connection is gone, with all that is on it, of which nothing is with the server. */
void lane_lose(struct load_client *load_client, struct connection *connection);
/* The same for all that it has to a server: they are reset. */
void lanes_reset(struct load_client *load_client, int server);
/* The load client does not use the connection any more, as far as it is concerned. */
void lanes_forget(struct load_client *load_client, const struct connection *connection);
/* Is something on it with the server? */
bool lane_is_executing(const struct load_client *load_client, const struct connection *connection);
/* Something on a connection has come to its end. One that something was given up on ends now, when
 * nothing more is on it; what waits for a connection is sent. */
void lane_settle(struct load_client *load_client, struct connection *connection, int server,
                 enum lane lane);
/* Ends a connection with all that is on it, as soon as nothing of it is with the server. The client
 * is told of those that it waits for: of struck (may be NULL), which an event has named already, as
 * kind says; of the others that they are lost. */
void lane_end(struct load_client *load_client, struct connection *connection,
              const struct load_request *struck, enum moment_kind kind);
/* The load client dies: what is with a server runs there to its end, the rest is gone. */
void lanes_drop(struct load_client *load_client);
/* Is there room for more connections than every client needs? */
bool lanes_have_room(const struct stress *stress);
/* Are there open files for one more now? Those of connections that have just ended are not free
 * yet. Else: after how long somebody who wants one asks again. */
bool lanes_can_dial(const struct stress *stress);
int64_t lanes_dial_again_us(const struct stress *stress);

/* --- load_clients.c --- */
void load_client_init(struct load_client *load_client, struct stress *stress, int number);
/* Its first attempt comes after a while, in step with nobody's. */
void load_client_begin(struct load_client *load_client);
/* Draws whether its clock runs fast or slow, from now on; and tells it. */
void load_client_drifts(struct load_client *load_client);
enum { DRIFT_US = 100000 }; /* gained, or lost, every second, at most */
/* The release has been answered, maybe not the last time: does the client stall before it hears? */
bool load_client_stalls_releasing(struct load_client *load_client);
/* A request of the load client has ended for it. request is borrowed. */
void load_client_told(struct load_client *load_client, const struct load_request *request,
                      enum moment_kind kind, const struct reply *reply);

#endif
