/* placements.h - the reference of answers.h: tries every placement of every operation of a small
 * history, moment by moment, and says whether one of them explains all answers.
 *
 * Slow, and simple enough to be seen to be right: it is what `picklock selftest` compares the
 * engine with. It shares nothing with it but the events. */
#ifndef PICKLOCK_CHECKS_PLACEMENTS_H
#define PICKLOCK_CHECKS_PLACEMENTS_H

#include "history/event.h"

enum {
    PLACEMENTS_OPERATIONS = 8,
    PLACEMENTS_EVENTS = 2 * PLACEMENTS_OPERATIONS,
    PLACEMENTS_TIME = 24, /* times are 0 .. that, in any unit, and so is the lease */
};

struct placements;

struct placements *placements_new(void);
void placements_free(struct placements *placements);

/* Is there a placement? events: calls and returns of one lock, in order; lease: 0: none.
 * anybody_releases: whoever has it; then there is no lease. */
bool placements_exist(struct placements *placements, const struct event *events, int count,
                      int64_t lease, bool anybody_releases);

#endif
