/* space.h - the state space: states as arrays of interned numbers, and memoized
 * transitions.
 *
 * A state is an array of words: the number of each client's state and of each server's, that of
 * the ghost order of fences where critical sections write the resource, and what is left of the
 * budgets of faults. The actions, the ageing and the renaming of a client state or a server
 * state are computed once, by the code in model/, and looked up from then on. */
#ifndef PICKLOCK_EXPLORE_GRAPH_SPACE_H
#define PICKLOCK_EXPLORE_GRAPH_SPACE_H

#include "explore/graph/projections.h"
#include "explore/graph/reduction.h"
#include "explore/graph/successor_cache.h"
#include "explore/model/ghost.h"
#include "explore/model/actions.h"
#include "explore/store/intern.h"
#include "explore/store/memo.h"
#include "explore/model/ghost_fences.h"
#include "explore/store/chunked_array.h"

struct action {
    uint32_t to;  /* number of the client state, not of ACTION_ARRIVE; or of the server state */
    uint32_t did; /* enum effect_bit */
    uint8_t kind; /* enum action_kind */
    int8_t message;
    int8_t server;
    int8_t fault; /* enum fault, or FAULT_NONE */
    int8_t ticks;
    bool is_urgent;
    bool is_awaited; /* ACTION_ARRIVE: the client waits for the answer */
    uint8_t hearing; /* enum hearing */
};

BITS_FIT(EFFECT_BITS, struct action, did);
_Static_assert(CONTRACT_COUNT <= (1 << DID_SLIP_SHIFT) / DID_VIOLATE,
               "a contract violation has no room beside them");

/* What is kept of a client state beside its record. */
struct client_facts {
    uint32_t actions_start;
    uint16_t actions_count;
    int16_t newest_past;
    bool is_known;   /* the actions are listed */
    bool is_urgent;  /* one of them must happen before time passes */
    bool is_early;   /* client_state_is_early() */
    bool is_hearing; /* CLIENT_HEARING */
    uint8_t phase, rounds, call_left;
    uint8_t deleted, refused_itself, refused_behind, refused_restored,
        overtaken;  /* of the client state */
    bool is_untold; /* who is told "granted" then, by nobody's key of its own: see properties.c */
    uint8_t extended, extended_left;
    bool can_begin, has_mentions;
    bool has_swapped;                 /* CLIENT_SWAPPED */
    bool knows_counter;               /* has read it, or is about to write it */
    bool may_write, may_write_before; /* the resource: its last attempt, and the one before */
    int32_t fence;
    uint32_t aged[2];         /* by a tick; [1]: stamps kept */
    struct order_facts order; /* of reductions: reduction.h */
    struct bound_facts bound;
};

struct server_facts {
    uint32_t actions_start;
    uint16_t actions_count;
    int16_t newest_past;
    uint32_t aged[2];
    uint32_t mentions[EXPLORE_CLIENTS_MAX];
    struct ghost_owner ghost; /* whose the lock is; nobody's when the key is gone */
    struct ghost_owner kept;  /* and whose it is for a replica that was cut off */
    struct ghost_owner saved; /* and in a snapshot */
    bool is_known;            /* the actions are listed */
    bool has_delayed;         /* one of them follows an earlier fault */
    uint32_t injections;      /* faults that it may be struck by: bits */
    bool is_watched;
    bool is_back_if_refused; /* the ghost owner has it by GETSET; told "refused", it is the one's
                                again who had it before */
    uint8_t reach;           /* enum server_reach */
    bool must_be_back;   /* it was out of reach for as long as it may be: time waits for its end */
    bool is_there;       /* the lock key exists */
    bool is_endless;     /* and never expires */
    int32_t count;       /* the guarded counter, */
    bool is_count_known; /* if the ghost state knows it */
};

BITS_FIT_COUNT(FAULT_COUNT, struct server_facts, injections);

/* Is a key of that client's attempt left there, or where the server may get it back from? rounds:
 * of the client in that attempt. */
static inline bool server_has_key_of(const struct server_facts *server, int client, uint8_t rounds)
{
    const struct ghost_owner owners[] = {server->ghost, server->kept, server->saved};
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (owners[i].owner == client + 1 && owners[i].rounds == rounds)
            return true;
    return false;
}

/* What is memoized, by a key of its own each; the last two are the partial-order reduction's. */
enum memo_kind {
    MEMO_ARRIVALS,
    MEMO_RETURNS,
    MEMO_DISCONNECTS,
    MEMO_BREAKS,
    MEMO_KEPT,
    MEMO_REACHES,
    MEMO_RECOUNTS,
    MEMO_TAKEN,
    MEMO_RENAMED_CLIENT_STATES,
    MEMO_RENAMED_SERVER_STATES,
    MEMO_RENAMED_FENCES,
    MEMO_RENUMBERED_SERVERS,
    MEMO_HEARD_SERVERS,
    MEMO_DROPPED_MESSAGES,
    MEMO_COUNT
};

struct state_space {
    struct config config;
    int words; /* of a state */
    struct intern_table client_states, server_states, fences;
    struct client_facts *client_facts;
    struct server_facts *server_facts;
    uint32_t client_facts_size, server_facts_size;
    struct action *actions;
    uint32_t actions_count, actions_size;
    enum contract_violation
        violation;           /* the first that was met: nothing of the search counts then */
    unsigned violation_slip; /* of which field (declared.h); 0: none */
    int64_t violation_at;    /* the step that the scheme went on from */
    bool breaks_promise;     /* the scheme is not what partial_order.h requires */
    bool has_guessed; /* somebody said "refused" on no server's word where no key is, and nobody
                         knows whether one was: config.judges_guesses is to be set */
    bool can_states_be_wrong; /* the scheme promises what a state alone can break, and one may */
    struct memo memos[MEMO_COUNT];
    struct projections projections;
    struct successor_cache cache;
    struct enabled_action *enabled; /* of the record in hand */
    struct enabled_server_action server_enabled[SERVER_ACTIONS_MAX];
};

/* Two numbers and what was observed share a memo's key. */
enum { ID_BITS = 24 };

void space_init(struct state_space *space, const struct explore_options *options);
void space_close(struct state_space *space);
size_t space_bytes(const struct state_space *space);

/* FAIL_INPUT: says which rule the scheme broke. */
enum fail space_fail(const struct state_space *space, struct failure *failure);

/* Lists the actions of a client state or of a server state: space_client() and space_server() call
 * them once for each.
 */
void space_list_client(struct state_space *space, uint32_t client_state);
void space_list_server(struct state_space *space, uint32_t server_state);

/* The words of the first state, without a budget. */
void space_start(struct state_space *space, uint32_t *words);

static inline bool space_has_fences(const struct state_space *space)
{
    return space->config.section == SECTION_WRITE;
}

static inline int space_words(const struct state_space *space)
{
    return space->words;
}

static inline uint32_t *space_fences_of(const struct state_space *space, uint32_t *words)
{
    return &words[space->config.clients + space->config.servers];
}

/* The actions of a client state or a server state, listed. The pointer is good until another one is
 * looked at. */
static inline const struct client_facts *space_client(struct state_space *space,
                                                      uint32_t client_state)
{
    if (!space->client_facts[client_state].is_known)
        space_list_client(space, client_state);
    return &space->client_facts[client_state];
}

static inline const struct server_facts *space_server(struct state_space *space,
                                                      uint32_t server_state)
{
    if (!space->server_facts[server_state].is_known)
        space_list_server(space, server_state);
    return &space->server_facts[server_state];
}

/* What is known of a server state without its actions. */
static inline const struct server_facts *space_server_facts(const struct state_space *space,
                                                            uint32_t server_state)
{
    return &space->server_facts[server_state];
}

/* What a memoized transition depends on, as far as it does. */
struct transition {
    uint32_t client_state, server_state, fences;
    int position; /* of the client */
    int server;
    bool brings_back;
    unsigned how;         /* a message, an enum, a set of servers */
    const uint8_t *order; /* a permutation */
};

typedef uint64_t transition_make(struct state_space *space, const struct transition *it);

/* What make() makes of it, computed once for each key. */
static inline uint64_t space_memoized(struct state_space *space, enum memo_kind kind, uint64_t key,
                                      transition_make *make, const struct transition *it)
{
    const uint64_t *known = memo_find(&space->memos[kind], key);
    if (known)
        return *known;
    uint64_t made = make(space, it);
    memo_put(&space->memos[kind], key, made);
    return made;
}

/* A request of a client executes: client state and server state become what they are then; returns
 * enum observed. */
unsigned space_arrive(struct state_space *space, uint32_t *client_state, int message,
                      uint32_t *server_state, int position);

/* An acquire ended (scheme with stamps): the server state with its ghost owners corrected. */
uint32_t space_return(struct state_space *space, uint32_t client_state, int position,
                      enum ghost_return how, uint32_t server_state);

/* Connections break: of a client, as its server sees it; to a server, as the client sees it.
 * brings_back: what that server has from there on, of a replica or a snapshot, is the client's lock
 * again. */
uint32_t space_disconnect(struct state_space *space, uint32_t server_state, int position);
uint32_t space_break(struct state_space *space, uint32_t client_state, int server,
                     bool brings_back);

/* What a replica or a snapshot has brought back is its client's, who acquires it yet, or holds it.
 */
uint32_t space_note_kept(struct state_space *space, uint32_t server_state);

/* From here on the server is so far within the client's reach. */
uint32_t space_reach(struct state_space *space, uint32_t client_state, int server,
                     enum server_reach reach);

/* A refused attempt that was to be made again for nothing counts after all. */
uint32_t space_spend_round(struct state_space *space, uint32_t client_state);

/* The lock key is there: whoever asks for the lock then has not found it free all along. */
uint32_t space_take(struct state_space *space, uint32_t client_state);

/* The counter was written by another client, or the server that keeps it forgot its keys: what a
 * client knows of it. */
enum recount { RECOUNT_WRITTEN, RECOUNT_FORGOTTEN };
uint32_t space_recount(struct state_space *space, uint32_t client_state, enum recount recount);

/* All but the one who wrote it, at that position. */
void space_recount_others(struct state_space *space, uint32_t *client_states, int position);

/* The fence order follows a step; true: fence-order is violated by it. */
bool space_follow(struct state_space *space, uint32_t *fences, const struct fence_step *step);

/* A tick passes. */
uint32_t space_make_client_older(struct state_space *space, uint32_t client_state,
                                 bool are_stamps_kept);
uint32_t space_make_server_older(struct state_space *space, uint32_t server_state,
                                 bool are_stamps_kept);

static inline uint32_t space_age_client(struct state_space *space, uint32_t client_state,
                                        bool are_stamps_kept)
{
    uint32_t known = space_client(space, client_state)->aged[are_stamps_kept];
    return known != UNKNOWN_ID ? known
                               : space_make_client_older(space, client_state, are_stamps_kept);
}

static inline uint32_t space_age_server(struct state_space *space, uint32_t server_state,
                                        bool are_stamps_kept)
{
    uint32_t known = space_server_facts(space, server_state)->aged[are_stamps_kept];
    return known != UNKNOWN_ID ? known
                               : space_make_server_older(space, server_state, are_stamps_kept);
}

uint32_t space_rename_client(struct state_space *space, uint32_t client_state,
                             const uint8_t *new_position);
uint32_t space_rename_server(struct state_space *space, uint32_t server_state,
                             const uint8_t *new_position);
uint32_t space_rename_fences(struct state_space *space, uint32_t fences,
                             const uint8_t *new_position);
/* What the fence order has of the client at a position; equal for equal. */
uint64_t space_fences_mentions(const struct state_space *space, uint32_t fences, int position);

/* Records in, numbers out. */
void space_read_client(const struct state_space *space, uint32_t number,
                       struct client_state *client_state);
uint32_t space_number_client(struct state_space *space, const struct client_state *client_state);
uint32_t space_number_server(struct state_space *space, const struct server_state *server_state);
void space_read_server(const struct state_space *space, uint32_t number,
                       struct server_state *server_state);

#endif
