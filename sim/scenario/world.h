/* world.h - what a directed run needs of a world, simulated or real: apply a choice, look, tell the
 * time.
 *
 * Both worlds answer the same questions in the same way, so that one interpreter drives a scenario
 * in either, and one schedule replays in both. A world writes its events into the sink that it was
 * made with. Implemented by world/core.c, over a backend in world/ (simulated) or live/ (real). */
#ifndef PICKLOCK_SCENARIO_WORLD_H
#define PICKLOCK_SCENARIO_WORLD_H

#include "history/event.h"
#include "scenario/choice.h"

enum phase {
    PHASE_IDLE, /* may acquire; a finished attempt's last result stands in client_view.last */
    PHASE_ACQUIRING,
    PHASE_HOLDING, /* granted, release not yet started, no loss noticed */
    PHASE_RELEASING,
    PHASE_DEAD, /* crashed */
};

struct client_view {
    enum phase phase;
    enum result last;       /* of the last operation that returned */
    unsigned connected;     /* bit a server: it has a connection to it; */
    unsigned connecting;    /* it connects to it, and has no answer yet; */
    unsigned redials;       /* it has ended a connection to it by itself: it connects anew */
    bool is_accessing;      /* a command of the critical section, or an extend, is under way */
    int64_t wake_us;        /* world time at which its timer is due; INT64_MAX: none */
    bool is_kept_waiting;   /* it is asked for something, has a connection that is half-open or does
                               nothing since a lease, and may yet go on */
    int attempt;            /* begun so far */
    int64_t token;          /* of the last attempt */
    const char *token_text; /* where it is a text (history/event.h), else NULL; lives as long as the
                               world */
    int64_t fence;          /* of its grant; 0: none */
};

/* Can clients reach a server? Nothing passes a silent one; one that refuses connections has none;
 * one that holds writes executes what may write (model_may_write()) only when it is open again. */
enum server_reach { REACH_OPEN, REACH_SILENT, REACH_REFUSED, REACH_READ_ONLY };

/* WAITING: its server has it, and answers when somebody else has done something, or its time is
 * over. */
enum message_state { MESSAGE_REQUEST, MESSAGE_REPLY, MESSAGE_WAITING, MESSAGE_VOID };

/* A request or reply on its way, and whose it is. */
struct message {
    int client, server;
    enum lane lane;
    struct command command;
    struct opaque opaque; /* of a foreign program: then `command` says nothing; else name is "" */
    enum message_state state;
    bool is_abandoned; /* the client no longer waits for it: it can only arrive, late, or be lost */
    bool is_silent;    /* its connection is half-open: it never comes, and its client waits */
    struct reply reply; /* MESSAGE_REPLY: what the server said */
    enum operation op;  /* of the client's attempt that sent it */
    int attempt;
    int64_t token;
    const char *token_text; /* as in client_view */
    int number;             /* no other message of the client has it, until this one is over */
    int connection; /* of the client, from 1: the one that its lane uses, one that it has left, or a
                       copy's own; 0 where it is void */
};

/* Does it stay where it is while its server is within such reach? */
bool message_is_held(const struct message *message, enum server_reach reach);

enum { MESSAGES_MAX = 4 * SERVERS_MAX };

struct world {
    const struct world_ops *ops; /* first member of every world */
};

struct world_ops {
    /* Applies one choice and returns when all that follows from it by itself has happened (the
     * reply is at the proxy, the client has taken its step, its requests are in flight).
     * FAIL_UNKNOWN: the choice is not possible now (diverged); says why. */
    enum fail (*apply)(struct world *world, const struct choice *choice, struct failure *failure);
    /* Can this choice be made at all here? E.g. no clock can be stepped without the shim.
     * FAIL_UNKNOWN and why. */
    enum fail (*can)(struct world *world, enum choice_kind kind, struct failure *failure);
    struct client_view (*client)(struct world *world, int client);
    /* The messages of a client, oldest first, by server; returns how many (at most MESSAGES_MAX).
     */
    int (*messages)(struct world *world, int client, struct message *messages);
    int64_t (*now_us)(struct world *world);
    void (*free)(struct world *world);
};

/* Of a Redis Cluster. */
enum { MASTERS = 3 };

/* What a directed run is made of; given to whoever makes a world. Kept by the world; names as in
 * history_head. */
struct run {
    const struct scheme *scheme;
    int clients, servers;
    char (*names)[NAME_MAX_BYTES];
    int64_t lease_us;    /* rounded up to the scheme's unit */
    uint64_t seed;       /* draws the tokens */
    uint32_t same_token; /* bit per client: these draw equal weak tokens (schemes with TOKEN_WEAK
                            only) */
    bool is_cluster;  /* the servers are the masters of a Redis Cluster, and one server to clients:
                         number 0, whoever of them has the lock's slot */
    bool has_replica; /* each server has a replica, in step until it is cut off */
    bool has_delex; /* simulated servers know DELEX, as from Redis 8.4 on; real ones know what they
                       know */
    struct event_sink sink;
};

/* The head of the history of such a run, in a world of that name; of what made it (server,
 * scenario) it says nothing. names as in run. */
struct history_head run_head(const struct run *run, const char *world);

#endif
