/* action.h - an action: a transition that is enabled in a client state, or in a server state, with
 * the state behind it; and what it did that others must know. */
#ifndef PICKLOCK_EXPLORE_MODEL_ACTION_H
#define PICKLOCK_EXPLORE_MODEL_ACTION_H

#include "base/bits.h"
#include "explore/model/client_state.h"
#include "explore/model/server_state.h"

enum action_kind {
    ACTION_TICK, /* a tick; of nobody */
    ACTION_ACQUIRE,
    ACTION_RELEASE,
    ACTION_EXTEND,
    ACTION_WRITE, /* three of the critical section */
    ACTION_READ_COUNTER,
    ACTION_WRITE_COUNTER,
    ACTION_WAKE,
    ACTION_ARRIVE,
    ACTION_HEAR,
    ACTION_GIVE_UP,
    ACTION_INJECT,  /* a fault, which costs a strike of its budget */
    ACTION_DELAYED, /* a delayed effect of an injected fault; costs nothing more */
};

/* What an action did that others must know. */
#define EFFECT_BITS(BIT)                                                                           \
    BIT(DID_GRANT)                                                                                 \
    BIT(DID_REFUSE)                                                                                \
    BIT(DID_NOT_MINE) /* of a release, with DID_RETURN; of an extend, alone */                     \
    BIT(DID_RELEASE)                                                                               \
    BIT(DID_RETURN) /* an operation ended, in any way but "granted" */                             \
    BIT(DID_CRASH)  /* the scheme's own code tripped */                                            \
    BIT(DID_UNSUPPORTED)                                                                           \
    BIT(DID_GUESS)      /* with DID_REFUSE: no server had told it that the lock is taken */        \
    BIT(DID_DISCONNECT) /* from the action's server; from all when it is NO_SERVER */              \
    BIT(DID_FORGET)     /* a server: its keys */                                                   \
    BIT(DID_REACH)      /* a server: it can be reached by its clients, or no more */               \
    BIT(DID_EXTEND)     /* it was told "extended" */                                               \
    BIT(DID_STRAND)     /* it was asked for something, and waits for nothing that could come */
BITS(effect_bit, EFFECT_BITS);

/* And more: the scheme broke a rule; violation_of_did() is which. Of an enabled action a field may
 * stand above it (declared.h). */
enum { DID_VIOLATE = 1 << EFFECT_BITS_WIDTH, DID_SLIP_SHIFT = 20 };

static inline enum contract_violation violation_of_did(unsigned did)
{
    return (enum contract_violation)((did & ((1u << DID_SLIP_SHIFT) - 1)) / DID_VIOLATE);
}

enum { NO_SERVER = -1, ACTIONS_MAX = 8 + 8 * CLIENT_MESSAGES_MAX };

/* How a reply is delivered: in any order, as it is where eager reply delivery is off, or in one
 * batch (eager_replies.h). */
enum hearing { HEARD_ALWAYS, HEARD_ONE_BY_ONE, HEARD_IN_BATCH };

struct enabled_action {
    enum action_kind kind;
    int message; /* that it is about, or -1 */
    int server;
    int fault;      /* enum fault of ACTION_INJECT and ACTION_DELAYED, or FAULT_NONE */
    int ticks;      /* that a clock jumps by it */
    bool is_urgent; /* must happen before time passes */
    enum hearing hearing;
    unsigned did;
    struct client_state after; /* not of ACTION_ARRIVE */
};

/* Those of a client state, while they are listed. */
struct action_list {
    const struct client_state *client_state;
    const struct config *config;
    struct enabled_action *enabled;
    int count;
    int fault; /* whose actions are being listed, or FAULT_NONE */
};

/* The same of a server: only faults move it. */
struct enabled_server_action {
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
    struct enabled_server_action *enabled;
    int count;
    int fault;
};

#endif
