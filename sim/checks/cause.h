/* cause.h - why two holds overlap, and the sentences that say so. CHECKS.md's table, row by row. */
#ifndef PICKLOCK_CHECKS_CAUSE_H
#define PICKLOCK_CHECKS_CAUSE_H

#include "checks/finding.h"

/* Two clients that both believe, in the order of their grants. */
struct pair {
    int first, second;
    enum cause cause;
    int server;              /* where an earlier grant made room for a later one; NOBODY: nowhere */
    const struct grant *end; /* that earlier grant (borrowed, until the next event): the first
                                one's, or, of a quorum, at one of its servers the second one's */
};

/* Puts two clients into order and finds the cause. */
struct pair pair_judge(const struct ledger *ledger, int client, int other);

/* Why nothing can be said of the pair: the first one's key ended by itself, and the lock promises
 * no expiry, so that nobody says for how long it may be held. NULL: it can. */
const char *pair_excuse(const struct ledger *ledger, const struct pair *pair);

/* How many servers had granted it the lock before it was told so, or keep a key of its that an
 * attempt before has left. */
int pair_servers(const struct ledger *ledger, int client);

/* Says "granted" to a client to which no server granted it: its own key stands nowhere. */
bool pair_is_untold(const struct ledger *ledger, int client);

/* How many servers had granted it the lock before it was told so. */
int pair_votes(const struct ledger *ledger, int client);

/* Explains that pair, chain included. */
void pair_explain(const struct ledger *ledger, const struct pair *pair, struct finding *finding);

/* What somebody did to another's grant, as one sentence with its context ("A sent DEL, executed at
 * 330.2 ms; A's own lease had ended at 300.9 ms."). words: of the change ("removed B's lock"). */
void change_explain(const struct ledger *ledger, const struct change *change, const char *words,
                    struct finding *finding);

/* "B got the lock at 312.4 ms (SET ..) for 300.0 ms. It cannot have expired before 612.4 ms." */
void grant_explain(const struct ledger *ledger, const struct grant *grant, struct finding *finding);

/* What made somebody do that: "A's overrun", "a command that was sent twice"; "" when nothing did.
 * words: 128 bytes. */
const char *change_trigger(const struct ledger *ledger, const struct change *change, char *words);

/* The cause that the end of a grant has by itself. */
enum cause ending_cause(const struct ledger *ledger, const struct grant *grant);

/* Why a client has a key that it does not know of. */
enum cause left_cause(const struct ledger *ledger, const struct grant *grant);

#endif
