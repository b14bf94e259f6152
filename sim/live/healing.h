/* healing.h - the end of a stress run without faults: which locks were asked for then, and which of
 * them were granted. */
#ifndef PICKLOCK_LIVE_HEALING_H
#define PICKLOCK_LIVE_HEALING_H

#include "live/live.h"

/* When a lock was first asked for while the run healed (0: not), and whether it was granted. */
struct lock_healing {
    int64_t asked_us;
    bool is_granted;
};

void healing_asked(struct lock_healing *lock, int64_t now_us);
void healing_granted(struct lock_healing *lock);
/* Of locks (options->locks) that were asked for early enough: healed_of and unhealed. elapsed_us is
 * filled. */
void healing_count(const struct lock_healing *locks, const struct stress_options *options,
                   struct stress_outcome *outcome);

#endif
