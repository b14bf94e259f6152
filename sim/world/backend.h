/* backend.h - what carries out the choices of a directed world: its servers, the connections to
 * them, and what travels on those.
 *
 * The core (core.h) knows every rule: which choice is possible, what becomes of a message, which
 * event is written. A backend only carries out: it sends a request, lets a server execute it,
 * delivers the reply, ends a connection, moves time, restarts a server. Implemented by simulated.c
 * and by live/.
 *
 * Who a message is: message.client and message.number, which no other message of that client has
 * until this one is over. A connection is the client and message.connection; it is made when
 * something is first sent on it, and its number is used again after disconnect(). */
#ifndef PICKLOCK_WORLD_BACKEND_H
#define PICKLOCK_WORLD_BACKEND_H

#include "scenario/world.h"

/* What a server made of a request. */
struct server_answer {
    struct reply reply;
    int64_t from_us, until_us;     /* world time: executed between the two */
    const struct effects *effects; /* of an opaque request; else NULL. Borrowed until the next op */
    bool is_waiting;               /* it waits at the server: there is no reply yet */
};

/* A reply that comes by no choice of its own. */
struct served {
    int client, server; /* client -1: there is none */
    int number;         /* of the message that waited; -1: it answers nothing, and is a new one, */
    const char *name;   /* called so (static) */
    struct server_answer answer;
};

/* Who promotes a replica: somebody by hand, or a redis-sentinel that finds the primary dead. */
enum promoter { PROMOTER_OPERATOR, PROMOTER_SENTINEL };

struct backend {
    const struct backend_ops *ops; /* first member of every backend */
};

/* All texts go into failure, which is never NULL. What returns enum fail may take real time.
 * (NULL): may be left out, where the core's own rules are all of it, and nothing has to be done. */
struct backend_ops {
    /* (NULL) Can this choice be made at all here? FAIL_UNKNOWN or FAIL_NOT_APPLICABLE: why not. */
    enum fail (*can)(const struct backend *, enum choice_kind, struct failure *);

    /* --- time --- */
    /* (NULL) World time: now_us, what it is where choices alone move it; or what the backend's own
     * clock says. */
    int64_t (*now_us)(const struct backend *, int64_t now_us);
    /* A choice is about to be made: from here on the servers' clocks say now_us. */
    void (*begin)(struct backend *, int64_t now_us);
    /* (NULL) Time passes; the core moves world time on itself. */
    enum fail (*pass_time)(struct backend *, int64_t amount_us, struct failure *);

    /* --- messages and connections --- */
    /* (NULL) The request leaves its client, and stands before its server. FAIL_UNAVAILABLE: no
     * connection can be made. */
    enum fail (*send)(struct backend *, const struct message *, struct failure *);
    /* The server executes the request; or (not ERROR_NONE) refuses it unexecuted with that error.
     */
    enum fail (*execute)(struct backend *, const struct message *, enum reply_error,
                         struct server_answer *, struct failure *);
    /* (NULL) A command that waited at its server goes on, or something is told to a client unasked:
     * the first such reply. It is asked for behind each choice, until there is none. */
    enum fail (*serve)(struct backend *, struct served *, struct failure *);
    /* (NULL) The reply reaches its client. */
    enum fail (*deliver)(struct backend *, const struct message *, struct failure *);
    /* (NULL) The message is over, and whatever is still to come of it is nobody's. */
    void (*forget)(struct backend *, const struct message *);
    /* The connection is gone, and what is on it. */
    void (*disconnect)(struct backend *, int client, int connection);
    /* (NULL) Returns when all that the choice led to has happened. FAIL_UNKNOWN: what did not come;
     * FAIL_UNAVAILABLE: a server or a connection ended without having been chosen. */
    enum fail (*settle)(struct backend *, struct failure *);

    /* --- servers; what cannot be done leaves them as they were --- */
    enum fail (*jump_clock)(struct backend *, int server, int64_t amount_us, struct failure *);
    /* Another process takes its place; all its connections are gone by then. */
    enum fail (*restart_empty)(struct backend *, int server, struct failure *);
    /* The same, with all the keys that it had. */
    enum fail (*restart_with_keys)(struct backend *, int server, struct failure *);
    /* It saves its keys; and is restarted with those that it saved last. */
    enum fail (*save_keys)(struct backend *, int server, struct failure *);
    enum fail (*restart_with_saved)(struct backend *, int server, struct failure *);
    enum fail (*flush_keys)(struct backend *, int server, struct failure *);
    /* (NULL) It ends all connections, the core so many behind it. */
    enum fail (*kill_clients)(struct backend *, int server, int connections, struct failure *);
    enum fail (*cut_replica)(struct backend *, int server, struct failure *);
    /* is_cut: its replica was cut off before. */
    enum fail (*fail_over)(struct backend *, int server, enum promoter, bool is_cut,
                           struct failure *);
    /* FAIL_UNKNOWN: there is no lock key. */
    enum fail (*evict)(struct backend *, int server, struct failure *);
    enum fail (*flush_scripts)(struct backend *, int server, struct failure *);
    /* (NULL: no run is of a cluster) A choice of the lock's slot, which server it goes to. */
    enum fail (*slot)(struct backend *, enum choice_kind, int server, struct failure *);
    /* (NULL) Its process stands still, until clients can reach it again. */
    enum fail (*stop)(struct backend *, int server, struct failure *);
    /* (NULL) From here on clients can reach the server so. One that refuses has no connection by
     * then. */
    enum fail (*set_reach)(struct backend *, int server, enum server_reach, struct failure *);
    /* (NULL) A client asks for a connection to a server that refuses them. FAIL_UNKNOWN: it is not
     * refused. */
    enum fail (*fail_to_connect)(struct backend *, int client, int server, struct failure *);

    void (*free)(struct backend *);
};

#endif
