/* moves.h - what a client can do next, and what can be done to it: the moves of one local record.
 *
 * Pure functions of the record: computed once for each, then kept by space.h. What a request does
 * at its server is not known here: MOVE_ARRIVE is listed, and executed by whoever has the server.
 */
#ifndef PICKLOCK_EXPLORE_MOVES_H
#define PICKLOCK_EXPLORE_MOVES_H

#include "explore/local.h"

enum move_kind {
    MOVE_TIME, /* a tick; of nobody */
    MOVE_ACQUIRE,
    MOVE_RELEASE,
    MOVE_WAKE,
    MOVE_ARRIVE,
    MOVE_HEAR,
    MOVE_GIVE_UP,
    /* faults that strike a client */
    MOVE_SLOW,
    MOVE_STALL,
    MOVE_LATE,
    MOVE_LOSE,   /* request or reply, as the parcel stands */
    MOVE_RESEND, /* the reply is lost, and the command sent again */
    MOVE_CRASH,
    MOVE_CLOCK_AHEAD,
    MOVE_CLOCK_BACK,
    /* faults that strike a server */
    MOVE_SERVER_CLOCK,
    MOVE_RESTART,
    MOVE_CUT,
    MOVE_FAILOVER,
    MOVE_EVICT,
};

/* What a move did that others must know. */
enum effect_bit {
    DID_GRANT = 1,
    DID_REFUSE = 2,
    DID_NOT_MINE = 4,
    DID_RETURN = 8, /* an operation ended, in any way but "granted" */
    DID_CRASH = 16, /* the scheme's own code tripped */
    DID_UNSUPPORTED = 32,
    DID_DISCONNECT = 64, /* from the move's server; from all when it is NO_SERVER */
};

enum { NO_FAULT = -1, NO_SERVER = -1, MOVES_MAX = 8 + 8 * PARCELS_MAX };

struct draft {
    enum move_kind kind;
    int parcel; /* ARRIVE, HEAR, GIVE_UP, LATE, LOSE, RESEND */
    int server;
    int fault;      /* enum fault that it costs, or NO_FAULT */
    bool is_urgent; /* must happen before time passes */
    bool is_eager;  /* changes nothing that anybody else, or a property, could see */
    unsigned did;
    struct local after; /* not of MOVE_ARRIVE */
};

/* All moves, in a fixed order; returns how many. drafts: MOVES_MAX. */
int moves_list(const struct local *local, const struct setting *setting, struct draft *drafts);

/* MOVE_ARRIVE, once the server has answered: the request is a reply now, or gone when nobody waits
 * for it. */
void moves_answered(struct local *local, const struct setting *setting, int parcel,
                    const struct reply *reply);

#endif
