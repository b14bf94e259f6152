/* actions.h - what a client can do next, and what can be done to it or to a server: the actions of
 * one record.
 *
 * Pure functions of the record: computed once for each, then kept by state_space.h. What a request
 * does at its server is not known here: ACTION_ARRIVE is listed, and executed by whoever has the
 * server. What goes wrong is not known here either, but asked of each fault of the config
 * (fault.h). */
#ifndef PICKLOCK_EXPLORE_MODEL_ACTIONS_H
#define PICKLOCK_EXPLORE_MODEL_ACTIONS_H

#include "base/bits.h"
#include "explore/model/client_state.h"
#include "explore/model/server_state.h"

enum action_kind {
    ACTION_TICK, /* a tick; of nobody */
    ACTION_ACQUIRE,
    ACTION_RELEASE,
    ACTION_WRITE, /* three of the critical section */
    ACTION_READ_COUNTER,
    ACTION_WRITE_COUNTER,
    ACTION_WAKE,
    ACTION_ARRIVE,
    ACTION_HEAR,
    ACTION_GIVE_UP,
    ACTION_INJECT,  /* a fault, which costs a strike of its budget */
    ACTION_DELAYED, /* what a fault that struck leads to; costs nothing more */
};

/* What an action did that others must know. */
#define EFFECT_BITS(BIT)                                                                           \
    BIT(DID_GRANT)                                                                                 \
    BIT(DID_REFUSE)                                                                                \
    BIT(DID_NOT_MINE)                                                                              \
    BIT(DID_RETURN) /* an operation ended, in any way but "granted" */                             \
    BIT(DID_CRASH)  /* the scheme's own code tripped */                                            \
    BIT(DID_UNSUPPORTED)                                                                           \
    BIT(DID_GUESS)      /* with DID_REFUSE: no server had told it that the lock is taken */        \
    BIT(DID_DISCONNECT) /* from the action's server; from all when it is NO_SERVER */              \
    BIT(DID_FORGET)     /* a server: its keys */                                                   \
    BIT(DID_STRAND)     /* it acquires or releases, and waits for nothing that could come */
BITS(effect_bit, EFFECT_BITS);

/* And more: the scheme broke a rule; breach_of_did() is which. In a draft a field may stand above
 * it (declared.h). */
enum { DID_BREACH = 1 << EFFECT_BITS_WIDTH, DID_SLIP_SHIFT = 16 };

static inline enum breach breach_of_did(unsigned did)
{
    return (enum breach)((did & ((1u << DID_SLIP_SHIFT) - 1)) / DID_BREACH);
}

enum { NO_FAULT = -1, NO_SERVER = -1, ACTIONS_MAX = 8 + 8 * CLIENT_MESSAGES_MAX };

/* Whose action it is to hear a reply: of a client that hears when it likes, or of a patient one
 * (see eager_replies.h). */
enum hearing { HEARD_ALWAYS, HEARD_ONE_BY_ONE, HEARD_IN_BATCH };

struct action_draft {
    enum action_kind kind;
    int message; /* that it is about, or -1 */
    int server;
    int fault;      /* enum fault of ACTION_INJECT and ACTION_DELAYED, or NO_FAULT */
    int ticks;      /* that a clock jumps by it */
    bool is_urgent; /* must happen before time passes */
    bool is_silent; /* changes nothing that anybody else, or a property, could see */
    enum hearing hearing;
    unsigned did;
    struct client_state after; /* not of ACTION_ARRIVE */
};

/* A list in the making. */
struct action_list {
    const struct client_state *client_state;
    const struct config *config;
    struct action_draft *drafts;
    int count;
    int fault; /* whose actions are being listed, or NO_FAULT */
};

/* Adds an action that leaves all as it is, to be filled in. message: -1 for none. */
struct action_draft *actions_add(struct action_list *list, enum action_kind kind, int message);

/* In a draft about a message: its connection breaks. */
void actions_disconnect(const struct action_list *list, struct action_draft *draft);

/* In a record: the message ends so (MOMENT_REPLY, MOMENT_TIMEOUT, MOMENT_LOST), and the client is
 * told when it still waits for it. Returns enum effect_bit. */
unsigned actions_end(struct client_state *client_state, const struct config *config, int message,
                     enum moment_kind how);

/* All actions, in a fixed order; returns how many. drafts: ACTIONS_MAX. */
int actions_list(const struct client_state *client_state, const struct config *config,
                 struct action_draft *drafts);

/* Only the replies that can be heard, and the messages that can be given up. */
void actions_list_ends(struct action_list *list);

/* The same of a server: only faults move it. */
struct server_action_draft {
    enum action_kind kind;
    int fault, ticks;
    bool breaks;  /* every connection */
    bool forgets; /* what it was told, all or some of it */
    struct server_state after;
};

enum { SERVER_ACTIONS_MAX = 2 * FAULT_COUNT };

struct server_action_list {
    const struct server_state *server_state;
    const struct config *config;
    struct server_action_draft *drafts;
    int count;
    int fault;
};

struct server_action_draft *actions_add_server(struct server_action_list *list,
                                               enum action_kind kind);
int actions_list_server(const struct server_state *server_state, const struct config *config,
                        struct server_action_draft *drafts);

/* ACTION_ARRIVE, once the server has answered: the request is a reply now, or gone when nobody
 * waits for it. */
void actions_answered(struct client_state *client_state, const struct config *config, int message,
                      const struct reply *reply);

#endif
