/* reduction.h - the contract between the state graph and what makes it smaller.
 *
 * The graph lists every action of every state. A reduction leaves some of them out, or takes
 * several states for one, without changing a verdict. It does so only through these hooks, which
 * graph/ calls and reduce/ fills in; a hook that is NULL has nothing to do. The header of each
 * reduction says what it is, on what conditions nothing is lost, and which test fails without them.
 */
#ifndef PICKLOCK_EXPLORE_GRAPH_REDUCTION_H
#define PICKLOCK_EXPLORE_GRAPH_REDUCTION_H

#include "explore/graph/words.h"
#include "explore/model/action.h"

struct client_facts;
struct state_space;

/* --- annotations: what a reduction keeps of a client state, and nobody else reads --- */

struct order_facts {
    uint32_t arrivals; /* four bits a server: how many can arrive there */
    uint8_t asked,
        asked_late; /* bit a server: what is awaited can arrive; it must not before time passes */
    uint8_t abandoned; /* bit a server: what nobody waits for can arrive */
    uint8_t unheard;   /* bit a server: an answer that is awaited is there, and was not heard */
    bool has_lost;     /* a message that is void */
    bool is_acting;    /* it must act itself before time passes, but for what it only counts */
    bool is_held_up;   /* by a fault: it may act after time has passed */
    uint32_t counted;  /* with its replies counted; UNKNOWN_ID: not looked at yet */
};

BITS_FIT_COUNT(SERVERS_MAX, struct order_facts, asked);
BITS_FIT_COUNT(SERVERS_MAX, struct order_facts, asked_late);
BITS_FIT_COUNT(SERVERS_MAX, struct order_facts, abandoned);
BITS_FIT_COUNT(SERVERS_MAX, struct order_facts, unheard);
BITS_FIT_COUNT(4 * SERVERS_MAX, struct order_facts, arrivals);

/* Events of its own at least, until it holds the lock; until it has the counter read or written;
 * until it has it written. */
struct bound_facts {
    uint8_t hold_in, access_in, write_in;
    bool has_count; /* it has read the counter, which was this then */
    int32_t count;
};

/* --- selections: which actions of a state are enough --- */

/* The owner of the persistent set, in a word of budgets: position + 1, OWNER_TIME, or nobody. */
enum { OWNER_NOBODY = 0, OWNER_TIME = 7, OWNER_SHIFT = 28 };
_Static_assert((int)EXPLORE_CLIENTS_MAX < (int)OWNER_TIME, "time leads like a client");
_Static_assert((EXPLORE_FAULTS_MAX)*BUDGET_BITS <= OWNER_SHIFT, "budgets and the lead share bits");

static inline int persistent_owner(uint32_t budgets)
{
    return (int)(budgets >> OWNER_SHIFT);
}

static inline uint32_t persistent_with_owner(uint32_t budgets, int owner)
{
    return (budgets & ((1u << OWNER_SHIFT) - 1)) | (uint32_t)owner << OWNER_SHIFT;
}

/* One action, of a client (or -1) or of a server itself, and the owner after it. */
struct selection {
    int client, server;
    uint32_t action;
    int owner;
    int pending_disconnect; /* nothing else matters than what follows at that server, until it
                   breaks its connections: persistent_sets_before_disconnect(); -1: none */
};

/* Each client may have to list all that there is, and so may everybody together, three times over.
 */
enum {
    DISCONNECT_SELECTIONS_MAX = EXPLORE_CLIENTS_MAX * CLIENT_MESSAGES_MAX + SERVER_ACTIONS_MAX,
    SELECTIONS_MAX = (EXPLORE_CLIENTS_MAX + 3) *
                     (EXPLORE_CLIENTS_MAX * ACTIONS_MAX + SERVERS_MAX * SERVER_ACTIONS_MAX)
};

/* --- canonical states --- */

/* A state whose steps are to be sorted: what its servers were sorted by. Most steps move one column
 * of it, if any. */
struct symmetry {
    struct state_space *space;
    const uint32_t *words; /* borrowed */
    uint64_t keys[SERVERS_MAX];
    bool has_keys; /* not before its projections were asked for */
    bool is_sorted;
    bool has_servers, has_clients; /* they are to be sorted */
};

/* --- the hooks --- */

struct reduction_hooks {
    /* Filter: takes actions off the list of a client state that is new, or marks them. */
    void (*filter)(struct action_list *list);
    /* Annotate: fills its facts of a client state that is new; the actions are listed. */
    void (*annotate)(struct state_space *space, struct client_facts *facts,
                     const struct client_state *client_state);
    /* Select: which actions of a state are enough, where time does not pass; returns how many, or
     * -1: all are needed. affordable: bit a fault. The second one where a server is about to
     * disconnect all; the third: is there only one, so that the state need not be kept? */
    int (*select)(struct state_space *space, const uint32_t *words, uint32_t affordable,
                  struct selection *selections);
    int (*select_before_disconnect)(struct state_space *space, const uint32_t *words,
                                    uint32_t affordable, int server, int owner,
                                    struct selection *selections);
    bool (*select_only)(struct state_space *space, const uint32_t *words, uint32_t affordable,
                        struct selection *selection);
    /* Represent: puts a state that stands for it in its place. are_replies_safe: nothing can
     * strike one that is on its way. */
    void (*represent)(struct state_space *space, uint32_t *words, bool are_replies_safe);
    /* The client state when it has heard that server; the same number: there is nothing to hear. */
    uint32_t (*hear_server)(struct state_space *space, uint32_t client_state, int server);
    /* Canonicalize: begins with a state, sorts each that follows it, and says where everybody
     * went; and sorts one without a state before it. */
    void (*open)(struct symmetry *symmetry, struct state_space *space, unsigned reductions,
                 const uint32_t *words);
    void (*step)(struct symmetry *symmetry, uint32_t *words, uint8_t *new_position,
                 uint8_t *new_number);
    void (*stay)(uint8_t *new_position, uint8_t *new_number); /* everybody, where he is */
    void (*sort)(struct state_space *space, unsigned reductions, uint32_t *words,
                 uint8_t *new_position, uint8_t *new_number);
};

enum { ALL_SERVERS = 0xff };

/* Filled in by the files of that name in reduce/. */
extern const struct reduction_hooks symmetry_hooks, eager_replies_hooks, partial_order_hooks,
    lower_bound_hooks;

#endif
