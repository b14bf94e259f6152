/* access.h - what one client does with the guarded data, access by access. */
#ifndef PICKLOCK_CHECKS_ACCESS_H
#define PICKLOCK_CHECKS_ACCESS_H

#include "history/event.h"

/* One a client: small. */
struct access {
    int64_t heard; /* what the counter says */
    int heard_attempt;
    bool is_called : 1, is_executed : 1, is_read : 1;
    bool is_refused : 1; /* with an error, at last */
    bool is_unlike : 1;
};

/* Takes an event of an access of its. */
void access_event(struct access *access, const struct event *event);

/* Was it executed, and not answered with an error? That a read was asked for is enough. */
bool access_is_shown(const struct access *access);

/* Does it, in that attempt, write what is not what it heard plus one? No section does. False where
 * nobody saw what it heard, or sent. */
bool access_is_unlike(const struct access *access, int attempt);

#endif
