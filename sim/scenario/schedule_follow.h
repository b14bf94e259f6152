/* schedule_follow.h - a schedule that was kept, replayed with a lock that may have changed since.
 *
 * Choices are made as they stand wherever that is possible: a lock that has not changed is replayed
 * exactly. Else a choice means who acts, where, and to what effect:
 *
 * - A command of an operation stands for the command that the lock sends to that server in that
 *   operation now: one that changes the lock for one that changes it, one that only reads for one
 *   that only reads. A command that only reads and has no counterpart is left out; where the lock
 *   reads more than it did, that comes right before what changes it.
 * - An operation that takes fewer commands now is over when it has returned: choices about the
 *   others are left out. One that takes more is run to its end where its client goes on, and behind
 *   the last choice.
 * - What a client did while it had the lock is left out where it is refused now because another one
 *   has it, was told of its loss, or has ended for that.
 * - Time passes, and faults of servers and clocks strike, as they stand.
 *
 * Whatever is done otherwise is told. Never followed: an operation that fails without a fault, a
 * refusal for no reason, a message that could be one of two. Never: a clock, randomness, I/O. */
#ifndef PICKLOCK_SCENARIO_SCHEDULE_FOLLOW_H
#define PICKLOCK_SCENARIO_SCHEDULE_FOLLOW_H

#include "scenario/interpreter.h"
#include "scenario/schedule.h"

enum { FOLLOWED_MAX = 64 }; /* differences: nobody reads more of them */

/* What was done otherwise, each once, as "A's release sends EVAL to server 1, not DEL". */
struct followed {
    char **differences; /* owned */
    int count;
};

/* choices takes those that were made. FAIL_UNKNOWN: "file:line: choice: why it could not be
 * followed". path may be NULL. The caller closes *followed in any case. */
enum fail schedule_follow(const struct schedule *schedule, const char *path, struct world *world,
                          struct choice_sink choices, struct followed *followed,
                          struct failure *failure);
void followed_close(struct followed *followed);

#endif
