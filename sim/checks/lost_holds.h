/* lost_holds.h - faults that made a server forget its keys while a client held a lock, and on to
 * when another one asked that server for it. Behind a restart the hold may have ended before
 * anybody could ask: then nothing could have been found. */
#ifndef PICKLOCK_CHECKS_LOST_HOLDS_H
#define PICKLOCK_CHECKS_LOST_HOLDS_H

#include "checks/ledger.h"

struct lost_holds;

/* Keeps ledger. */
struct lost_holds *lost_holds_new(const struct ledger *ledger);
void lost_holds_free(struct lost_holds *losses);
/* Before the ledger takes it. True: it is a command that such a hold has met, the first of its
 * fault. */
bool lost_holds_event(struct lost_holds *losses, const struct event *event);

#endif
