/* contention.h - did anybody ask for a lock while another client had it? Where nobody did, nothing
 * says that the lock excludes anybody.
 *
 * An attempt is contended when a server executes a command of it on the lock's key, or answers it
 * with an error, while another client believes that it holds the lock, or owns it at that server's
 * side: its grant stands there, and at a majority. Where the servers were not seen, a client that
 * is told "refused" is told that somebody else has it: a second client must have been granted it;
 * that somebody can have had it then, the answers show (black_box.h). Never: a call alone, whose
 * request may have reached nobody.
 *
 * Of a history whose order was directed it is enough that two clients asked for one lock: who wrote
 * the scenario chose the moment, and says what comes of it. */
#ifndef PICKLOCK_CHECKS_CONTENTION_H
#define PICKLOCK_CHECKS_CONTENTION_H

#include "checks/ledger.h"

struct contention;

/* ledger: kept. */
struct contention *contention_new(const struct ledger *ledger);
void contention_free(struct contention *contention);

/* After the ledger has taken the event. */
void contention_event(struct contention *contention, const struct event *event);

/* Contended attempts, as servers were seen to be asked. */
int64_t contention_count(const struct contention *contention);
/* Was there contention, by that; */
bool contention_is_seen(const struct contention *contention);
/* by what clients were told. */
bool contention_is_told(const struct contention *contention);

#endif
