/* ghost.h - ghost state: what the explorer remembers so that it can evaluate properties along a
 * path. No client and no server sees it. (Auxiliary variables: Owicki and Gries, "An axiomatic
 * proof technique for parallel programs I", 1976.)
 *
 * It is a small image of checks/ledger.h: who owns the lock at each server, and for how long
 * that counts. test_explore_walks.c holds both to each other; a witness counts only when checks/
 * says the same of its replay. */
#ifndef PICKLOCK_EXPLORE_MODEL_GHOST_H
#define PICKLOCK_EXPLORE_MODEL_GHOST_H

#include "base/bits.h"
#include "explore/model/client_state.h"
#include "explore/model/server_state.h"

/* What an execution, or an acquire's return, was found to be; beside enum effect_bit. */
#define OBSERVED_BITS(BIT)                                                                         \
    BIT(FOREIGN_RELEASE) /* a release removed another client's lock */                             \
    BIT(FOREIGN_TOUCH)   /* another client's live lock was written over, or its expiry changed */  \
    BIT(LEFT_ORPHAN)     /* a lock for an attempt that has ended without it */                     \
    /* of a critical section's commands */                                                         \
    BIT(COUNTER_WRITTEN) /* what others have read of it is of before */                            \
    BIT(UPDATE_LOST)     /* and it was not what was there, plus one */                             \
    BIT(WRITE_ACCEPTED)  /* by the resource */                                                     \
    BIT(WRITE_REFUSED)                                                                             \
    BIT(WRITE_OF_BEFORE) /* with the two above: of the attempt before the client's last one */
BITS(observed, OBSERVED_BITS);

/* A command of the client state's message was executed: before and after are the server's, the
 * ghost owners of after are corrected, and the client state's own memory of it (what it saw, a
 * renewed lease). */
unsigned ghost_execution(const struct config *config, struct client_state *client_state,
                         int message, int position, const struct reply *reply,
                         const struct server_state *before, struct server_state *after);

/* The acquire of the client at that position has returned: what it claimed by GETSET stands, or
 * falls. */
enum ghost_return { RETURN_GRANTED, RETURN_REFUSED, RETURN_OTHER };
void ghost_return(const struct config *config, const struct client_state *client_state,
                  int position, enum ghost_return how, struct server_state *server_state);

#endif
