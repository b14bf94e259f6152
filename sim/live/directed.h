/* directed.h - what the files of the directed real world share. Private to this folder.
 *
 * The mirror of the simulated world: the same messages, the same events, the same refusals; but
 * here a message is a call that stands in the proxy, and what a server answers is what redis-server
 * answered. */
#ifndef PICKLOCK_LIVE_DIRECTED_H
#define PICKLOCK_LIVE_DIRECTED_H

#include "live/internal.h"
#include "world/client.h"

/* A message in flight, and whose it is. */
struct flight {
    struct message message;    /* first */
    struct exchange *exchange; /* NULL when void; its connection is the connection: the lane's, one
                          that the client has left, or a copy's own */
    struct reply reply;        /* MESSAGE_REPLY */
    enum operation op;
    int attempt;
    int64_t token;
};

struct directed;

struct actor {
    struct directed *directed;
    struct client client;
    struct flight flights[MESSAGES_MAX]; /* oldest first */
    int flights_count;
    struct connection *connections[SERVERS_MAX][LANE_COUNT]; /* NULL: connects when it next sends */
};

struct directed {
    struct world world; /* first */
    struct live *live;
    const struct run *run;
    int64_t now_us;   /* world time */
    int64_t began_us; /* uv_hrtime() at world time 0, where time is real */
    int64_t events;   /* written so far: the next index */
    char prefix[KEY_PREFIX_MAX];
    struct actor actors[ACTORS_MAX];
    bool has_replica[SERVERS_MAX]; /* false again once it was promoted */
    bool is_cut[SERVERS_MAX];
    struct failure trouble; /* what went wrong without having been chosen */
    int broken_server;      /* 1 + the server of a connection that ended by itself; 0: none */
};

/* --- directed_events.c --- */
struct event directed_event(const struct directed *directed, enum event_kind kind, int client,
                            int server);
void directed_write(struct directed *directed, struct event *event);
struct event directed_flight_event(const struct directed *directed, enum event_kind kind,
                                   const struct flight *flight);
/* CALL, RETURN and NOTICE: what a client does that is not about one command. */
void directed_operation(struct directed *directed, enum event_kind kind, int client,
                        enum operation op, enum result result);
/* Writes what a step led to, and sends its requests. */
void directed_news(struct directed *directed, int client, const struct client_news *news);
/* Tells the client of a message's end and takes its step. */
void directed_tell(struct directed *directed, const struct flight *flight, enum moment_kind kind);

/* --- directed_flights.c --- */
/* The message that the choice means (naming.h); NULL and the failure's text when there is none. */
struct flight *directed_find(struct directed *directed, const struct choice *choice,
                             struct failure *failure);
/* Puts a request behind all others of its client, and sends it; what goes wrong is kept as the
 * world's trouble. */
void directed_send(struct directed *directed, const struct flight *flight);
/* Sends a copy of the request on a connection of its own; nobody waits for it. */
void directed_copy(struct directed *directed, const struct flight *flight);
/* Takes it out; what answers it goes to nobody, and a connection that only it used ends. */
void directed_remove(struct directed *directed, struct flight *flight);
/* The first message before flight on its connection, and in its state: it comes first. NULL: none.
 */
const struct message *directed_before(const struct directed *directed, const struct flight *flight);
/* The client leaves the flight's connection for a new one; what is in flight there may still come.
 */
void directed_leave(struct directed *directed, const struct flight *flight);
/* Cuts the flight's connection: what is in flight on it becomes void, what nobody waits for is
 * gone. */
void directed_cut(struct directed *directed, const struct flight *flight);
/* Cuts all connections of a client to a server. */
void directed_cut_all(struct directed *directed, int client, int server);
/* Connections to that server that are somebody's: a lane's, or that of a message. */
int directed_connections(const struct directed *directed, int server);

/* --- directed_settle.c --- */
enum awaited { AWAITED_NOTHING, AWAITED_EXECUTION, AWAITED_DELIVERY };
/* Runs the loop until every request that was sent stands at the proxy, every connection that was
 * cut is gone, and the call (may be NULL) has come as far as awaited. Real time is read anew.
 * FAIL_UNKNOWN: what did not come. */
enum fail directed_settle(struct directed *directed, const struct exchange *exchange,
                          enum awaited awaited, struct failure *failure);
/* Where time is real: reads the clock. */
void directed_read_clock(struct directed *directed);
/* Time passes: steered clocks are moved, real time is waited for. */
enum fail directed_pass_time(struct directed *directed, int64_t amount_us, struct failure *failure);
extern const struct connection_events directed_connection_events;

/* --- directed_faults.c --- */
enum fail directed_fault(struct directed *directed, const struct choice *choice,
                         struct failure *failure);

#endif
