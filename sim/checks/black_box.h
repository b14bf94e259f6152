/* black_box.h - what calls and returns prove by themselves, where nobody saw the servers.
 *
 * The rules are one-sided, as leases are: a key may be gone at any time from its execution + ttl
 * on, and an operation without an answer may happen later, for ever. So there are two ends of a
 * hold: before the call + ttl its key is there for certain, unless something is broken; after the
 * return + ttl it is over for certain, unless it was renewed. What is between proves nothing.
 *
 * - two that believe at once, both before their certain ends: a bug, or a loss;
 * - two that believe at once, one after its last end: an overrun;
 * - answers that no lock can have given (answers.h), such as "not mine" before the own certain end,
 *   or "refused" wholly in a gap in which nobody can have held the lock: a bug, or a loss;
 * - "granted" told after the own lease: a late grant, where the lease is known to count from the
 *   call. */
#ifndef PICKLOCK_CHECKS_BLACK_BOX_H
#define PICKLOCK_CHECKS_BLACK_BOX_H

#include "base/bits.h"
#include "checks/finding.h"

struct black_box;

/* ledger: kept. */
struct black_box *black_box_new(const struct ledger *ledger);
void black_box_free(struct black_box *box);

/* After the ledger has taken the event; facts in between, as they come. */
void black_box_event(struct black_box *box, const struct event *event);
void black_box_fact(struct black_box *box, const struct fact *fact);

/* What is proved of that property; NULL: nothing, since it is about what servers do. Borrowed. */
const struct finding *black_box_finding(const struct black_box *box, enum property property);

/* What contradicts the answers before it. */
#define CONTRADICTION_BITS(BIT)                                                                    \
    BIT(CONTRADICTS_GRANT) /* somebody is granted the lock */                                      \
    BIT(CONTRADICTS_OTHER) /* any other answer */
BITS(contradiction, CONTRADICTION_BITS);

/* Which answers contradict each other: bits. Not counted is who was told "released" without having
 * asked for the lock: who just deletes is told so. */
unsigned black_box_contradictions(const struct black_box *box);

#endif
