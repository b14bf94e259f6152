/* overlap.h - two holds overlap: what either exclusion puts down of that.
 *
 * A key that is gone before its time, though no command removed it, shows an overlap only where its
 * client believed in it then. A history that may lack commands may lack its release: there that
 * client must be heard of behind that, as one that holds. Until it is, it is a doubt. */
#ifndef PICKLOCK_CHECKS_OVERLAP_H
#define PICKLOCK_CHECKS_OVERLAP_H

#include "checks/cause.h"
#include "checks/property.h"

/* A monitor's state, for overlap_found() and overlap_event(); freed with free(). */
void *overlap_make(const struct ledger *ledger);

/* May the release of whose key was gone be missing, as long as its client is not heard of? */
bool overlap_is_open(const struct ledger *ledger, const struct pair *pair);
/* Does the event show that its client believes to have the lock, or did until now? */
bool overlap_shows_holder(const struct event *event);

void overlap_found(struct monitor *monitor, const struct pair *pair, int64_t index);
void overlap_event(struct monitor *monitor, const struct event *event);

#endif
