/* core_state.h - what the files of the core share. Private to this folder. */
#ifndef PICKLOCK_WORLD_CORE_STATE_H
#define PICKLOCK_WORLD_CORE_STATE_H

#include "world/core.h"

/* What a client has on its way. */
struct core_slot {
    struct message messages[MESSAGES_MAX]; /* oldest first */
    int messages_count;
    int channels[SERVERS_MAX][LANE_COUNT]; /* the connection that each uses; CONNECTION_NONE: makes
                                              one when it next sends */
};

struct core {
    struct world world; /* first */
    struct backend *backend;
    struct clients *clients;
    const struct run *run;
    int64_t now_us;
    int64_t events; /* written so far: the next index */
    struct core_slot slots[ACTORS_MAX];
    bool has_replica[SERVERS_MAX]; /* false again once it was promoted */
    bool is_cut[SERVERS_MAX];
    bool is_stopped[SERVERS_MAX];    /* then it is silent, too */
    unsigned held_dials[ACTORS_MAX]; /* bit a server: who connects there is not answered */
    bool has_saved[SERVERS_MAX];     /* its keys, and has the file yet */
    enum server_reach reach[SERVERS_MAX];
    int64_t gains_us[SERVERS_MAX];  /* what the server's clock gains a second, */
    int64_t gained_us[SERVERS_MAX]; /* and the world time up to which it has */
    struct failure error; /* a step went wrong, or a request could not be sent: the run is over */
};

/* --- core_events.c --- */
/* An event of that kind by that client (-1: none) at that server (-1: none), now. */
struct event core_event(const struct core *core, enum event_kind kind, int client, int server);
struct event core_client_event(const struct core *core, enum event_kind kind, int client);
struct event core_message_event(const struct core *core, enum event_kind kind,
                                const struct message *message);
/* Gives it the next index and hands it to the run's sink. */
void core_write(struct core *core, struct event *event);
/* CALL, RETURN, NOTICE and STRAND: what a client does that is not about one message. */
void core_write_operation(struct core *core, enum event_kind kind, int client, enum operation op,
                          enum result result);

/* --- core_clients.c: the client's side of a choice --- */
struct client_view core_view(const struct core *core, int client);
/* Writes what a step of the client led to, and sends its requests. */
void core_take_step(struct core *core, int client, const struct step_result *step);
/* Tells the client how a message ended (a reply, a time-out, a lost connection), and takes its
 * step. The message is borrowed: no part of the core's list. */
void core_notify(struct core *core, const struct message *message, enum moment_kind kind);
/* Choices of clients that are no faults: a row a kind, else NULL. */
typedef enum fail core_choice(struct core *, const struct choice *, struct failure *);
core_choice *core_client_choice(enum choice_kind kind);

/* --- core_messages.c --- */
/* The message that the choice means (naming.h); NULL and the failure's text when there is none. */
struct message *core_find(struct core *core, const struct choice *choice, struct failure *failure);
/* The same, and nothing in its state comes before it on its connection. */
struct message *core_find_first(struct core *core, const struct choice *choice,
                                struct failure *failure);
/* Puts a request behind all others of its client, on its channel's connection, and sends it. */
void core_send(struct core *core, const struct message *request);
/* Sends a copy of the request on a connection of its own; nobody waits for it. */
void core_send_copy(struct core *core, const struct message *request);
/* Something is told to the client unasked: a reply on its way. FAIL_UNKNOWN: there is no room. */
enum fail core_tell(struct core *core, int client, int server, const char *name,
                    struct failure *failure);
/* It is over: takes it out (later messages of the client move), and ends a connection that only it
 * used. */
void core_remove(struct core *core, struct message *message);
/* The client no longer waits for what is on the message's connection: its channel will use another
 * one. What is on it may still come. */
void core_leave(struct core *core, const struct message *message);
/* The same, by the client's own doing, behind a step of it: it gives up on each of them. */
void core_leave_by_itself(struct core *core, int client, int server, int lane);
/* The client's connections to the server are half-open from here on: what is on them is silent, and
 * its channels use other ones. */
void core_silence(struct core *core, int client, int server);
/* It gives up on what is silent, by its own doing. */
void core_leave_silent(struct core *core, int client, int server, int lane);
/* The message's connection breaks: what is on it becomes void, what nobody waits for is gone. */
void core_break(struct core *core, const struct message *message);
/* How many connections clients have to a server. */
int core_connections(const struct core *core, int server);

/* So do all connections of a client to a server. */
void core_break_all(struct core *core, int client, int server);
/* Of a client that is gone: all its connections, and what is on its way to and from it. */
void core_bury(struct core *core, int client);

/* --- core_faults.c --- */
core_choice *core_fault_choice(enum choice_kind kind);

/* Lets the clocks of servers that run at another rate gain what they have to by now. */
enum fail core_gain(struct core *core, struct failure *failure);

/* --- core.c --- */
/* Runs until what was done so far has led to all that it leads to, and reads the clock anew. */
enum fail core_settle(struct core *core, struct failure *failure);
/* The server executes the message's request, or (not ERROR_NONE) refuses it: a reply from here on.
 */
enum fail core_execute(struct core *core, struct message *message, enum reply_error error,
                       struct server_answer *answer, struct failure *failure);

#endif
