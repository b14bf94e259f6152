/* asked.h - what an operation was seen to ask, since its client called it last: may a command of it
 * be missing, that would explain its answer? */
#ifndef PICKLOCK_CHECKS_ASKED_H
#define PICKLOCK_CHECKS_ASKED_H

#include "checks/ledger.h"

struct operation_asked {
    bool is_sent, is_executed; /* a command of it */
    bool is_decided;           /* one that was executed can do more than read */
    bool is_explained;         /* a fault, or an error, says why none was executed */
};

/* Takes an event of that operation. is_current: of its client's last attempt. */
void asked_note(struct operation_asked *asked, const struct event *event, bool is_current);

/* Where all is told that clients sent, who sent nothing more asked nobody; and where servers were
 * struck, what was sent may have been lost. Of other answers than "released" nothing is missing
 * there; nor where any requests are told, and each that its client sent was executed.
 * is_awaiting: it sent something that was neither executed nor answered. */
bool asked_may_lack(const struct operation_asked *asked, const struct ledger *ledger,
                    enum result result, bool is_awaiting);

#endif
