/* answers.h - can the answers that clients were given be those of one lock? The black-box engine:
 * it knows calls and returns, and nothing of any server.
 *
 * A lock is free, or has an owner. An acquire is granted where it is free, and refused where it is
 * not; a release or a renewal takes effect where the lock is that attempt's own, and is answered
 * "not mine" where it is not. An ownership may end by itself at any time from its execution + lease
 * on, and need never. Every operation takes effect at one moment between its call and its return;
 * one without an answer does so at any later time, or never. The order is that of the events, the
 * times serve leases; but a return and a call of one time may have been in either order.
 *
 * The engine keeps how the lock can stand after what has been answered so far (struct lock_way): it
 * puts what was called into an order only where an answer asks for it, and then as early as it can,
 * and drops what another standing is at least as good as. Where none is left, the answers
 * contradict each other: a bug, or a loss. Memory grows with clients and locks, not with events,
 * but for 8 bytes for each acquire that was never answered.
 *
 * A grant or a renewal told a lease or more after its call says nothing for certain, where its
 * client had asked for the lock: it counts as one without an answer. Another file decides the same
 * in another way (placements.h), for small histories; `picklock selftest` compares the two. */
#ifndef PICKLOCK_CHECKS_ANSWERS_H
#define PICKLOCK_CHECKS_ANSWERS_H

#include "history/event.h"

struct answers_rules {
    int64_t lease_us;    /* an ownership lasts at least so long; 0: until it is released */
    bool is_quorum;      /* of several servers, each of which counts the lease from when it was
                            asked itself: an ownership lasts so long from its call at least */
    bool ignores_misses; /* "refused" and "not mine" prove nothing: a quorum may be missed */
    bool doubts_late_releases; /* "released", told a lease or more after the acquire's call, proves
                                  nothing: who just deletes is told so whatever was there */
    bool releases_former;  /* a release, or a renewal, may be of what its client had, or may have,
                              by an attempt before: who just deletes does not tell them apart */
    bool may_be_reentered; /* the same, and who has it may be granted it again: then any release of
                              its may be the last one, or not, until another client is granted it */
    bool anybody_releases; /* nobody owns it, and nothing ends by itself: mutex_answers.h; the
                              others say nothing then */
};

enum answers {
    ANSWERS_FIT,        /* there is an order that explains them all */
    ANSWERS_CONTRADICT, /* there is none; from the next certain answer on it goes on */
    ANSWERS_OPEN,       /* too much was possible: it was not decided, and goes on likewise */
};

struct answers_engine;

struct answers_engine *answers_new(struct answers_rules rules, int clients, int locks);
void answers_free(struct answers_engine *engine);

/* Takes a CALL or a RETURN of an acquire, a release or a renewal (anything else says nothing), and
 * says how the answers stand with it. What has contradicted is told once. */
enum answers answers_event(struct answers_engine *engine, const struct event *event);

/* May that client's last acquire have entered the lock again? By the call it may have had it. */
bool answers_may_reenter(const struct answers_engine *engine, int client);

/* Has anything been left undecided so far, or weighed more leniently than it could have been? */
bool answers_are_lenient(const struct answers_engine *engine);

#endif
