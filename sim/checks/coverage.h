/* coverage.h - does a history have what the servers did? Then the ledger can be believed; else only
 * calls and returns can.
 *
 * Missing is: a grant of which its client was seen to ask nobody for it; a client of which
 * nothing was seen but that its operations gained nothing (else it did not ask: it may know
 * better); a grant of which no server was seen to execute anything, then or later, unless its
 * client gave up waiting, was told an error, or its request stood still on its way; likewise a
 * release that was told as done and left its key, or any operation whose answer the keys
 * contradict, and of which nothing was seen but looks, unless a fault, or an error, tells why;
 * what a granted acquire sent the only server beside what that executed, on the same terms; a
 * reply that was heard and that no server was seen to give, or none can give (replies.h); a
 * grant for which its client took the lock's key away, since then the key says nothing of who
 * has it; every server, where somebody called and none is spoken of; of a quorum, one. Where the
 * head says that all commands are there, a grant of a foreign lock, to a client that has asked
 * before, and has no key there, is not missing anything: nothing was asked; nor is one that it
 * asked for, behind a fault that may have lost that: it guessed. Not so of a grant that is
 * inferred, for that was answered. A foreign history may have been recorded at the clients only,
 * at some of them, or have lost a line. Never: what a scheme should have done; one that answers
 * by guess has sent something, or is judged by its answers alone. */
#ifndef PICKLOCK_CHECKS_COVERAGE_H
#define PICKLOCK_CHECKS_COVERAGE_H

#include "checks/finding.h"

struct coverage;

/* ledger: kept. */
struct coverage *coverage_new(const struct ledger *ledger);
void coverage_free(struct coverage *coverage);

/* After the ledger has taken the event. */
void coverage_event(struct coverage *coverage, const struct event *event);

/* The first thing that is missing, as a sentence without its full stop; NULL: nothing. Borrowed. */
const char *coverage_gap(const struct coverage *coverage);

#endif
