/* replayed.h - what the replay of a kept schedule came to, in a sentence. */
#ifndef PICKLOCK_RUN_REPLAYED_H
#define PICKLOCK_RUN_REPLAYED_H

#include "run/result.h"
#include "scenario/schedule_follow.h"

/* What the schedule was kept for was judged, and does not occur: then the row is as expected,
 * whatever else could not be decided in it; where it was not judged, or no two clients met at a
 * lock that was to keep them apart, it is unknown. Only of one that was followed to its end, and in
 * which nothing failed. */
void replayed_judge(struct result_row *row, const struct schedule *schedule);

/* That it occurs again, as it was recorded, and counts; path: the schedule's. NULL: it does not.
 * The caller frees. */
char *replayed_again(const struct result_row *row, const struct schedule *schedule,
                     const char *path);

/* "held", "still violated", and what was done otherwise than it stands; path: the schedule's. NULL:
 * the row says all. The caller frees. */
char *replayed_words(const struct result_row *row, const struct schedule *schedule,
                     const char *path, const struct followed *followed);

#endif
