/* stress_reasons.h - why a stress run is not decided, or not all of it: found once, for its row and
 * for its history, so that `check` says the same of that. For runner_stress.c alone. */
#ifndef PICKLOCK_RUN_STRESS_REASONS_H
#define PICKLOCK_RUN_STRESS_REASONS_H

#include "base/units.h"
#include "checks/checks.h"
#include "history/history.h"
#include "live/live.h"

/* Without a full stop; NULL: there is no such reason. Owned, but for doubt, which is the outcome's.
 */
struct stress_reasons {
    char *interrupted; /* a signal ended it before its time */
    char *vacuity;     /* no two holds can have been made to overlap, or none was seen */
    char *unhealed;    /* faults had ended, and it did not get over them */
    const char *doubt; /* nothing that came behind the last proof counts */
    int64_t proved;    /* in doubt: so many events had come by then */
};

struct stress_reasons stress_reasons_find(const struct stress_options *options,
                                          const struct stress_outcome *outcome,
                                          const struct counters *counters, bool has_executed);
void stress_reasons_say(const struct stress_reasons *reasons, struct history_doubts *end);
void stress_reasons_free(struct stress_reasons *reasons);

/* How long it ran, to the millisecond. */
const char *stress_elapsed(const struct stress_outcome *outcome, char text[UNITS_TEXT_MAX]);
/* Who does not answer; owned, without a full stop. NULL: everybody does. */
char *stress_unanswered(const struct stress_outcome *outcome);

#endif
