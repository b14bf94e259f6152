/* places.h - a client at several locks, as one client at each of them.
 *
 * Locks know nothing of each other, and the ledger keeps one attempt of a client. So a client has a
 * place at each lock that it asks for, or releases or renews without, behind the clients of the
 * head but for the first one; what befalls the client befalls it at all its places. Where there are
 * no more, it is at its first one again: who has two locks at once there is told by the ledger.
 * Never: a place by what was only inferred from the wire. */
#ifndef PICKLOCK_CHECKS_PLACES_H
#define PICKLOCK_CHECKS_PLACES_H

#include "checks/ledger.h"

struct places;

/* places: *head with more clients, where there may be such; else NULL, and *head as it is. head: as
 * in checks_new(). */
struct places *places_new(struct history_head *head);
void places_free(struct places *places);

/* Whose place it is. */
int places_client(const struct places *places, int place);

/* Where that event of a client happens: the first place. ledger: before it has taken the event. */
int places_first(struct places *places, struct ledger *ledger, const struct event *event);
/* The next one, of an event that befalls the client as a whole; NOBODY: there is none. */
int places_next(const struct places *places, const struct event *event, int place);

#endif
