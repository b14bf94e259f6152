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

enum placements_lock {
    PLACEMENTS_OWNED,   /* by an attempt */
    PLACEMENTS_CLIENTS, /* by a client: a release or a renewal may be of an earlier attempt of its,
                           or of that one alone */
    PLACEMENTS_REENTRANT, /* the same, and who has it may be granted it again */
    PLACEMENTS_ANYBODYS,  /* anybody may release it; then there is no lease */
};

struct placements;

struct placements *placements_new(void);
void placements_free(struct placements *placements);

/* Is there a placement? events: calls and returns of one lock, in order; lease: 0: none. */
bool placements_exist(struct placements *placements, const struct event *events, int count,
                      int64_t lease, enum placements_lock lock);

#endif
