/* ungranted.h - the longest time of a run in which clients asked for locks, nobody believed to have
 * one, and nobody was granted one. Under too much load a lock may come to that and stay so: its
 * clients take each other's majorities, or time out behind each other. That is no violation, and a
 * verdict says nothing of it. */
#ifndef PICKLOCK_RUN_UNGRANTED_H
#define PICKLOCK_RUN_UNGRANTED_H

#include "history/event.h"

struct ungranted_time {
    int64_t from_us, until_us; /* the end of the last hold, and of the last attempt */
    int64_t attempts;          /* that ended in it without a lock */
};

/* All zero: before the run. */
struct ungranted {
    struct ungranted_time now, longest;
    bool is_held;
};

/* Each event in order; so many hold a lock behind it, as they believe. */
void ungranted_event(struct ungranted *ungranted, const struct event *event, int64_t holders);

/* Longer than faults, keys that are left over and chance explain. */
bool ungranted_is_long(const struct ungranted_time *time, int64_t lease_us);

#endif
