/* state.h - what the files of the simulated world share: its state, messages in flight included.
 *
 * Private to this folder. No pointers but to what the run keeps, so that a copy is a memcpy. */
#ifndef PICKLOCK_WORLD_STATE_H
#define PICKLOCK_WORLD_STATE_H

#include "redis/model.h"
#include "world/client.h"
#include "world/simulated.h"

/* A message in flight, and whose it is. */
struct flight {
    struct message message; /* first */
    int connection;         /* 0: the one that the client's lane uses; else one that it has left, or
                               the copy's own */
    struct model_watch watch; /* of that connection, unless it is 0 */
    struct reply reply;       /* MESSAGE_REPLY: what the server said */
    enum operation op;
    int attempt;
    int64_t token;
};

struct actor {
    struct client client;
    struct flight flights[MESSAGES_MAX]; /* oldest first */
    int flights_count;
    int connections; /* numbers given so far */
};

struct simulated_server {
    struct model model;
    struct model replica; /* what the replica had when it was cut off */
    bool has_replica;     /* false again once it was promoted */
    bool is_cut;
    int64_t skew_us; /* its clock - world clock */
    /* A connection a client and lane: what WATCH keeps. */
    struct model_watch watches[ACTORS_MAX][LANE_COUNT];
};

struct simulated {
    struct world world; /* first */
    const struct run *run;
    int64_t now_us;
    int64_t events; /* written so far: the next index */
    enum contract_violation
        violation; /* a client's step broke that rule, at the step violation_at */
    int64_t violation_at;
    struct actor actors[ACTORS_MAX];
    struct simulated_server servers[SERVERS_MAX];
};

/* Wall clock at world time 0: 2026-01-01T00:00:00Z. */
#define SIMULATED_EPOCH_US (INT64_C(1767225600) * 1000000)

/* An event of that kind by that client (-1: none) at that server (-1: none), now. */
struct event simulated_event(const struct simulated *sim, enum event_kind kind, int client,
                             int server);

/* Gives it the next index and hands it to the run's sink. */
void simulated_write(struct simulated *sim, struct event *event);

/* An event about a message in flight. */
struct event simulated_flight_event(const struct simulated *sim, enum event_kind kind,
                                    const struct flight *flight);

/* The message that the choice means (naming.h); NULL and the failure's text when there is none. */
struct flight *flight_find(struct simulated *sim, const struct choice *choice,
                           struct failure *failure);

/* Puts a request behind all others of its client. */
void flight_add(struct simulated *sim, const struct flight *flight);

/* Takes it out; pointers to later messages of that client move. */
void flight_remove(struct simulated *sim, struct flight *flight);

/* The first message before flight on its connection, and in its state: it comes first. NULL: none.
 */
const struct message *flight_before(const struct simulated *sim, const struct flight *flight);

/* What the flight's connection watches. */
struct model_watch *flight_watch(struct simulated *sim, struct flight *flight);

/* The client no longer waits for what is on the flight's connection: it will use another one. What
 * is in flight there may still come. */
void connection_leave(struct simulated *sim, const struct flight *flight);

/* Puts the flight on a connection of its own. */
void connection_part(struct simulated *sim, struct flight *flight);

/* The flight's connection breaks: what is in flight on it becomes void, what nobody waits for is
 * gone. */
void connection_break(struct simulated *sim, const struct flight *flight);

/* So do all connections of a server. */
void connections_break(struct simulated *sim, int server);

/* Writes what a step of the client led to, and puts its requests in flight. */
void simulated_news(struct simulated *sim, int client, const struct client_news *news);

/* Tells the client of a message's end (a reply, a time-out, a lost connection) and takes its step;
 * the flight itself is not touched. */
void simulated_tell(struct simulated *sim, const struct flight *flight, enum moment_kind kind);

/* The faults: simulated_faults.c. */
enum fail simulated_fault(struct simulated *sim, const struct choice *choice,
                          struct failure *failure);

#endif
