/* world_state.h - what the files of a world of workers share. Private to this folder.
 *
 * One session, with two faces to the core: clients and backend. */
#ifndef PICKLOCK_WORKER_WORLD_STATE_H
#define PICKLOCK_WORKER_WORLD_STATE_H

#include "worker/guarded.h"
#include "worker/key_watch.h"
#include "world/core.h"

struct workers;

struct clients_face {
    struct clients clients; /* first */
    struct workers *workers;
};

struct backend_face {
    struct backend backend; /* first */
    struct workers *workers;
};

/* A worker that is asked for something, while nothing is on its way to or from it. */
struct worker_rest {
    bool is_one;      /* it rests like that */
    bool is_endless;  /* and will for ever: its timers are not rung any more */
    int rings;        /* of its timers since then, none of which sent anything */
    int64_t since_us; /* world time */
    uint64_t traffic; /* session_traffic() */
};

struct worker_face {
    enum phase phase;
    enum result last;
    int attempt;
    int64_t fence;
    bool has_notice; /* told in this attempt */
    /* Bit a server: where its attempt wrote the lock's key last, and where it deleted it. */
    unsigned made, taken;
    bool is_accessing; /* its critical section waits for what it asked for */
    bool is_cancelled; /* its attempt was, while it acquired */
    bool is_extending; /* it is asked to, while it holds */
    struct guarded_section guarded;
    struct worker_rest rest;
};

struct workers {
    struct clients_face clients;
    struct backend_face backend;
    int holders; /* faces that the core has not freed */
    struct session *session;
    bool is_session_kept; /* it ends with somebody else */
    const struct run *run;
    const char *told; /* the key's name, as workers were; static */
    struct lock_key key;
    struct key_watch watches[SERVERS_MAX];
    struct worker_face faces[SESSION_CLIENTS_MAX];
    /* By message.number: NULL: no such one is under way. */
    struct wire_message *messages[SESSION_CLIENTS_MAX][MESSAGES_MAX];
    struct effects effects;     /* of the last execution */
    struct server_wire section; /* ours, to the first server: what critical sections ask there */
};

void workers_release(struct workers *workers);

struct workers *workers_of_clients(const struct clients *clients);
/* All that the worker did until it came to rest. */
enum fail workers_collect(struct workers *workers, int client, struct step_result *step,
                          struct failure *failure);

/* --- worker_rest.c --- */
/* Behind each step of it: does it wait for ever? */
bool workers_is_stranded(struct workers *workers, int client);
/* See client_view. */
bool workers_is_kept_waiting(const struct workers *workers, int client);

/* --- worker_connections.c: of clients_ops --- */
enum fail workers_silence(struct clients *clients, int client, int server, struct step_result *step,
                          struct failure *failure);
enum fail workers_answer_dials(struct clients *clients, int client, int server, bool is_answered,
                               struct step_result *step, struct failure *failure);

/* --- worker_execute.c --- */
/* The server executes that message (borrowed), which is known as wire; answer: filled. */
enum fail workers_execute(struct workers *workers, struct wire_message *wire,
                          const struct message *message, struct server_answer *answer,
                          struct failure *failure);
/* What a critical section asks of what the lock guards. */
enum fail workers_execute_access(struct workers *workers, const struct message *message,
                                 struct server_answer *answer, struct failure *failure);
/* What went on by itself meanwhile, one at a time: see backend.h. */
enum fail workers_serve(struct workers *workers, struct served *served, struct failure *failure);

extern const struct backend_ops workers_backend_ops;

#endif
