/* asking.h - a worker decided by asking once: the explorer's search (explore/), whose clients are
 * the remembered answers of a real worker, and whose server is those of a real redis-server.
 *
 * One client alone is asked, and one server: the product of what they answered is searched. What
 * cannot be kept, or is not answered twice alike, is a failure (asking_failure()): from there on
 * nothing that a search says of it is true, and its cell is unknown.
 *
 * What is assumed, and not proved: that the worker is deterministic (a share of the answers is
 * asked again, in fresh processes of another client); that an attempt which has ended leaves it as
 * a new one (each such history is asked to go on, refused and granted, and compared with a new
 * one); the grid of time. */
#ifndef PICKLOCK_ASK_ASKING_H
#define PICKLOCK_ASK_ASKING_H

#include "explore/model/subject.h"
#include "explore/result/confirm.h"
#include "schemes/scheme.h"
#include "worker/worker_world.h"

#include <stdio.h>

struct asking;

/* Ways that a history is asked to go on, for the learned model (asking_learned.c). Behind these,
 * one for each server: the idle connection to it breaks first. */
enum { LEARNED_WAYS = 7 };

struct asking_options {
    struct worker_program *program; /* kept; what is known of it is filled in */
    int servers;                    /* of the searches; 0: 1 */
    int clients, rounds;            /* the most of any of them; 0: 3, 2 */
    int lease_ticks;                /* of the searches; 0: 2 */
    uint64_t seed;
    bool merges; /* of several servers: histories that differ in the order of their answers alone
                    are one, where that is found */
    int learns;  /* with merges: so are those that so many ways to the end of their operation do not
                    tell apart: LEARNED_WAYS at most, and as many more as there are servers */
    bool adds_waits; /* the waits of an attempt take as many whole ticks as they come to together,
                        and none until then; else each is rounded up to whole ticks */
    bool keeps;      /* answers are kept from run to run */
    const char *depends; /* with keeps: files and folders that the worker is made of, "a.py,lib"; or
                            NULL */
    const char *forgets; /* with keeps: why those of an earlier run are not taken; NULL: they are */
};

/* Walks through searches, with all workers: they did as they had answered; or otherwise; or the
 * world did not follow to the end. */
struct asking_replayed {
    uint64_t same, other, lost;
};

/* Attempts one behind the other, asked for whole: how many sequences; and orders of ends that they
 * were to have, of which so many are left. */
struct asking_sequences {
    uint64_t sequences, orders, left;
};

struct asking_figures {
    uint64_t executions; /* runs of the worker, from `reset` */
    uint64_t histories;  /* answers of it */
    uint64_t questions;  /* answers of the server */
    uint64_t compared;   /* steps that were done again on the way, and compared */
    uint64_t audited;    /* answers that were asked again: the worker's in fresh processes */
    uint64_t ends;       /* histories behind an attempt, compared with a new worker */
    int refusals;        /* in a row, at most, that one was followed by there */
    uint64_t timed_ends; /* behind which a timer runs still, like those behind another one */
    uint64_t timed;      /* answers of the worker that are of one elapsed time */
    int far_key_ticks;   /* a key lived so many ticks, or more: it never expires; 0: none did */
    int far_ticks;     /* it had a timer of so many ticks, or more: not looked at; 0: it had none */
    bool draws_tokens; /* each attempt a new one, or each client */
    bool is_even_handed; /* it was found to treat its servers alike: histories that differ in those
                            alone were asked for once */
    bool has_idle_reads; /* its runtime reads the monotonic clock for itself: not looked at */
    const char
        *untold;      /* why those of its program cannot be told apart: all count; NULL: they can */
    uint64_t classes; /* of histories with several servers; 0: they were not merged */
    uint64_t joined;  /* histories that are what another order comes to, */
    int learned_ways; /* of the learned model; 0: none was learned */
    uint64_t walks;   /* in which the learned model did what the worker did */
    uint64_t apart;   /* and that are not */
    uint64_t kept;    /* answers of both that an earlier run has kept */
    struct asking_replayed replayed;
    struct asking_sequences sequences;
};

/* Starts worker and server, learns what a token is, and that each attempt of each client has its
 * own. *scheme is filled: what the search must know of the worker; its name and words stay.
 * FAIL_INPUT, FAIL_UNAVAILABLE: the worker cannot be used. FAIL_UNKNOWN: it cannot be decided so,
 * and why. From the main thread only. */
enum fail asking_new(struct asking **asking, const struct asking_options *options,
                     struct scheme *scheme, struct failure *failure);
void asking_free(struct asking *asking); /* NULL is fine */

/* For explore_options.subject; owned by asking. */
struct subject *asking_subject(struct asking *asking);
bool asking_adds_waits(const struct asking *asking);
int asking_lease_ticks(const struct asking *asking);

/* Is it asked to extend, once in each hold? Where it promises that. */
enum asking_extend { EXTEND_IS_NO_PROMISE, EXTEND_IS_ASKED, EXTEND_IS_SKIPPED };
enum asking_extend asking_extend(const struct asking *asking);

/* Does that fault break connections that their client waits for nothing on? */
bool asking_cuts(enum fault fault);

/* Before a search, with its faults and attempts. What a worker does behind an attempt is compared
 * for as many more as there are. Where connections break: does a worker that waits for nothing
 * mind? Each history that it waits for nothing in is asked, too, with its connection broken. Where
 * holders are slow: what it does behind an attempt is asked with a lease that is over, too. */
void asking_expect(struct asking *asking, const struct explore_options *options);

/* Why a search of a worker has no such fault (static); NULL: it has. */
const char *asking_cannot(enum fault fault);

/* Did the time that passed ever change what the worker did? Then clocks that jump, or drift, may,
 * too, and are not decided. */

/* What went wrong so far; code FAIL_NONE: nothing. */
const struct failure *asking_failure(const struct asking *asking);

/* What the worker does when more time has passed than the last search (since asking_expect()) lets
 * pass, and does not before: each kind of step in it that takes notice of so much is asked for with
 * more. Or that it gives a key that it has less than its lease, by less than a tick. NULL:
 * nothing, or it could not be asked: asking_failure(). */
const char *asking_late_doubt(struct asking *asking);

/* Did the last search (since asking_expect()) make waits longer by rounding them up? What hangs on
 * where in a lease they end, or on how often the worker tries by then, may be another thing with
 * its own times. Not where it only connects anew by one that takes a tick. */
bool asking_rounds_waits(const struct asking *asking);

/* Why what the last search (since asking_expect()) did not find is not known, whatever it says: a
 * client connects anew after a delay that the grid of time makes as long as the lease. NULL: none
 * does. */
const char *asking_untried_delay(const struct asking *asking);

/* Why the order of its fences is not known, whatever a search says of it: static until more is
 * asked. NULL: nothing speaks against it, or it promises none. */
const char *asking_fence_doubt(const struct asking *asking);

/* Goes on with another search behind a failure: what was met in the last one need not be met in
 * that. False: two answers to one question were had, and nothing is true any more. */
bool asking_go_on(struct asking *asking);

/* Between two searches: the same in part, where there is enough to be asked again; and processes
 * for the next part are started, which are asked for nothing until then. What differs is told by
 * asking_audit(). */
void asking_audit_ahead(struct asking *asking, int percent, int64_t until_us);

/* Asks at least that share of the answers of both again. Whatever differs is asking_failure(). Ends
 * early behind until_us (of monotonic_us(); 0: never), or when somebody says stop; false: it did.
 */
bool asking_audit(struct asking *asking, int percent, int64_t until_us);

/* The attempts that the last search has met, made by each client one behind the other in other
 * orders, in at most so many sequences: does each go on as it does alone? FAIL_UNKNOWN: one does
 * not, and what; or it could not be asked. */
enum fail asking_ask_sequences(struct asking *asking, const struct explore_options *options,
                               int most, struct failure *failure);

/* Draws so many walks through that search, which is over, always the same ones, and replays each
 * with all workers in a world of theirs (run: as of confirm_run()): do they what they answered?
 * FAIL_UNKNOWN: one does otherwise, and what; or it could not be asked. */
enum fail asking_replay_walks(struct asking *asking, const struct explore_options *options,
                              const struct run *run, const struct confirm_world *world, int walks,
                              struct failure *failure);

/* When all is asked: that somebody went past the proxy, now or before; no code: nobody did. It, and
 * that this is not known, is in asking_failure(), too, unless something has failed before. */
const struct failure *asking_find_past(struct asking *asking);

/* Behind an audit that found nothing: keeps the answers for the next run, where they are kept. */
void asking_keep(struct asking *asking);
/* Why no answers were taken, or kept; "": they were, or none are. */
const char *asking_kept_words(const struct asking *asking);

/* The classes of histories that were met, and what leads from one to another, for dot(1). */
void asking_draw(const struct asking *asking, FILE *out);

struct asking_figures asking_figures(const struct asking *asking);

#endif
