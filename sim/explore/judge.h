/* judge.h - what the explorer remembers so that it can judge properties on the way, and the judging
 * of one execution.
 *
 * A small image of checks/ledger.h: who owns the lock at each server, for how long that counts. A
 * test holds the verdicts of both to each other; a witness counts only when checks/ says the same
 * of its replay. */
#ifndef PICKLOCK_EXPLORE_JUDGE_H
#define PICKLOCK_EXPLORE_JUDGE_H

#include "base/bits.h"
#include "explore/local.h"
#include "explore/post.h"

/* What an execution, or an acquire's return, was found to be; beside enum effect_bit. */
#define JUDGED_BITS(BIT)                                                                            \
    BIT(FOREIGN_RELEASE) /* a release removed another client's lock */                             \
    BIT(FOREIGN_TOUCH)   /* another client's live lock was written over, or its expiry changed */  \
    BIT(LEFT_ORPHAN)     /* a lock for an attempt that has ended without it */                     \
    /* of a critical section's commands */                                                         \
    BIT(COUNTER_WRITTEN) /* what others have read of it is of before */                            \
    BIT(UPDATE_LOST)     /* and it was not what was there, plus one */                             \
    BIT(WRITE_ACCEPTED)  /* by the resource */                                                     \
    BIT(WRITE_REFUSED)                                                                             \
    BIT(WRITE_OF_BEFORE) /* with the two above: of the attempt before the client's last one */
BITS(judged, JUDGED_BITS);

/* A command of the local's parcel was executed: before and after are the server's, the claims of
 * after are put right, and the local's own memory of it (what it saw, a renewed lease). */
unsigned judge_execution(const struct setting *setting, struct local *local, int parcel,
                         int position, const struct reply *reply, const struct post *before,
                         struct post *after);

/* The acquire of the client at that position has returned: what it claimed by GETSET stands, or
 * falls. */
enum judge_return { RETURN_GRANTED, RETURN_REFUSED, RETURN_OTHER };
void judge_return(const struct setting *setting, const struct local *local, int position,
                  enum judge_return how, struct post *post);

#endif
