/* moves.h - what a client can do next, and what can be done to it or to a server: the moves of one
 * record.
 *
 * Pure functions of the record: computed once for each, then kept by space.h. What a request does
 * at its server is not known here: MOVE_ARRIVE is listed, and executed by whoever has the server.
 * What goes wrong is not known here either, but asked of each fault of the setting (fault.h). */
#ifndef PICKLOCK_EXPLORE_MOVES_H
#define PICKLOCK_EXPLORE_MOVES_H

#include "base/bits.h"
#include "explore/local.h"
#include "explore/post.h"

enum move_kind {
    MOVE_TIME, /* a tick; of nobody */
    MOVE_ACQUIRE,
    MOVE_RELEASE,
    MOVE_WRITE, /* three of the critical section */
    MOVE_READ_COUNTER,
    MOVE_WRITE_COUNTER,
    MOVE_WAKE,
    MOVE_ARRIVE,
    MOVE_HEAR,
    MOVE_GIVE_UP,
    MOVE_STRIKE, /* a fault, which costs a strike of its budget */
    MOVE_FOLLOW, /* what a fault that struck leads to; costs nothing more */
};

/* What a move did that others must know. */
#define EFFECT_BITS(BIT)                                                                           \
    BIT(DID_GRANT)                                                                                 \
    BIT(DID_REFUSE)                                                                                \
    BIT(DID_NOT_MINE)                                                                              \
    BIT(DID_RETURN) /* an operation ended, in any way but "granted" */                             \
    BIT(DID_CRASH)  /* the scheme's own code tripped */                                            \
    BIT(DID_UNSUPPORTED)                                                                           \
    BIT(DID_GUESS)      /* with DID_REFUSE: no server had told it that the lock is taken */        \
    BIT(DID_DISCONNECT) /* from the move's server; from all when it is NO_SERVER */                \
    BIT(DID_FORGET)     /* a server: its keys */                                                   \
    BIT(DID_STRAND)     /* it acquires or releases, and waits for nothing that could come */
BITS(effect_bit, EFFECT_BITS);

/* And more: the scheme broke a rule; breach_of_did() is which. In a draft a field may stand above it (declared.h). */
enum { DID_BREACH = 1 << EFFECT_BITS_WIDTH, DID_SLIP_SHIFT = 16 };

static inline enum breach breach_of_did(unsigned did)
{
    return (enum breach)((did & ((1u << DID_SLIP_SHIFT) - 1)) / DID_BREACH);
}

enum { NO_FAULT = -1, NO_SERVER = -1, MOVES_MAX = 8 + 8 * PARCELS_MAX };

/* Whose move it is to hear a reply: of a client that hears when it likes, or of a patient one (see
 * patience.h). */
enum hearing { HEARD_BY_ALL, HEARD_BY_IMPATIENT, HEARD_BY_PATIENT };

struct draft {
    enum move_kind kind;
    int parcel; /* that it is about, or -1 */
    int server;
    int fault;      /* enum fault of MOVE_STRIKE and MOVE_FOLLOW, or NO_FAULT */
    int ticks;      /* that a clock jumps by it */
    bool is_urgent; /* must happen before time passes */
    bool is_silent; /* changes nothing that anybody else, or a property, could see */
    enum hearing hearing;
    unsigned did;
    struct local after; /* not of MOVE_ARRIVE */
};

/* A list in the making. */
struct listing {
    const struct local *local;
    const struct setting *setting;
    struct draft *drafts;
    int count;
    int fault; /* whose moves are being listed, or NO_FAULT */
};

/* Adds a move that leaves all as it is, to be filled in. parcel: -1 for none. */
struct draft *moves_add(struct listing *list, enum move_kind kind, int parcel);

/* In a draft about a parcel: its connection breaks. */
void moves_disconnect(const struct listing *list, struct draft *draft);

/* In a record: the parcel ends so (MOMENT_REPLY, MOMENT_TIMEOUT, MOMENT_LOST), and the client is
 * told when it still waits for it. Returns enum effect_bit. */
unsigned moves_end(struct local *local, const struct setting *setting, int parcel,
                   enum moment_kind how);

/* All moves, in a fixed order; returns how many. drafts: MOVES_MAX. */
int moves_list(const struct local *local, const struct setting *setting, struct draft *drafts);

/* Only the replies that can be heard, and the messages that can be given up. */
void moves_list_ends(struct listing *list);

/* The same of a server: only faults move it. */
struct server_draft {
    enum move_kind kind;
    int fault, ticks;
    bool breaks;  /* every connection */
    bool forgets; /* what it was told, all or some of it */
    struct post after;
};

enum { SERVER_MOVES_MAX = 2 * FAULT_COUNT };

struct server_listing {
    const struct post *post;
    const struct setting *setting;
    struct server_draft *drafts;
    int count;
    int fault;
};

struct server_draft *moves_add_server(struct server_listing *list, enum move_kind kind);
int moves_list_server(const struct post *post, const struct setting *setting,
                      struct server_draft *drafts);

/* MOVE_ARRIVE, once the server has answered: the request is a reply now, or gone when nobody waits
 * for it. */
void moves_answered(struct local *local, const struct setting *setting, int parcel,
                    const struct reply *reply);

#endif
