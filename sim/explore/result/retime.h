/* retime.h - a way of the search whose timers ring when they are due.
 *
 * The search counts time in ticks, and makes a wait longer or shorter than it is. Whether what it
 * found is so is for the clients' own timers to say: the way is made once in a world that tells
 * when each of them is due, and has the times of that afterwards. */
#ifndef PICKLOCK_EXPLORE_RESULT_RETIME_H
#define PICKLOCK_EXPLORE_RESULT_RETIME_H

#include "explore/result/confirm.h"

enum retime {
    RETIME_NEVER,
    /* The search made waits longer: behind a tick at whose end timers ring no more time has passed
     * than the last of them takes; and no timer is passed over that is due. */
    RETIME_CUT,
    /* The same, but while a client has the lock: what it guards may take as long as the search has
     * it take. */
    RETIME_CUT_UNHELD,
    /* It made them shorter: what is left of one passes before its timer rings, and a tick is over
     * when all of them have taken so long by then. One that is longer than what a timer wants that
     * rings behind it has begun earlier: the rest of it belongs to the one before. */
    RETIME_FILL,
    /* The same, but a timer may be late by a tick. */
    RETIME_FILL_LATE
};

/* Does the way hang on how long a wait is? A timer rings; or it does not, and time passes where
 * waits are rounded up. */
bool retime_is_wanted(const struct explore_finding *way, bool rounds_waits);

/* The way's choices become those that were made; from the first on that could not be made they stay
 * as they were. run, world: as of confirm(). Returns whether they are others now. */
bool retime(const struct run *run, struct explore_finding *way, enum retime how,
            const struct confirm_world *world);

#endif
