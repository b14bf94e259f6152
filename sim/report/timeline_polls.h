/* timeline_polls.h - the same request again and again, with the same answer. */
#ifndef PICKLOCK_REPORT_TIMELINE_POLLS_H
#define PICKLOCK_REPORT_TIMELINE_POLLS_H

#include "history/event.h"

/* How many equal rounds begin with the first of the events (1: it is none), and of how many events
 * each is. Those behind the first end before until_us, and have not the event of that index. */
int timeline_polls(const struct event *const *events, int count, int64_t until_us,
                   int64_t seen_index, int *length);

#endif
