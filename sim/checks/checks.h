/* checks.h - the checks over one history: fed event by event, bounded memory, a verdict a property.
 *
 * A verdict names its cause, and its witness is sentences: who got the lock when and for how long,
 * what ended it, why that is not an overrun. Knows no world: the same code judges the simulated
 * one, real Redis and a file. */
#ifndef PICKLOCK_CHECKS_CHECKS_H
#define PICKLOCK_CHECKS_CHECKS_H

#include "history/event.h"

enum property {
#define PROPERTY(id, ...) PROPERTY_##id,
#include "checks/properties.def"
#undef PROPERTY
    PROPERTY_COUNT
};

/* EITHER: the scheme's, the deployment's or the network's, and nobody saw which. */
/* In order of severity: of several the largest is told. */
enum blame { BLAME_NOBODY, BLAME_DEPLOYMENT, BLAME_EITHER, BLAME_SCHEME };

/* What is wrong: the lock itself within a lease, or only what a client was told or did, or that it
 * waits for ever. */
enum harm { HARM_LOCK, HARM_WORD, HARM_WAIT };

enum cause {
#define CAUSE(id, ...) CAUSE_##id,
#include "checks/causes.def"
#undef CAUSE
    CAUSE_COUNT
};

/* The first three in order of severity: the worst of several is the largest. NOT_APPLICABLE is
 * never the worst: the property says nothing about this scheme or history. */
enum verdict {
    VERDICT_HOLDS,
    VERDICT_UNKNOWN,
    VERDICT_VIOLATED,
    VERDICT_NOT_APPLICABLE,
    VERDICT_COUNT
};

enum { WITNESS_LINES_MAX = 16, WITNESS_LINE_BYTES = 320 };

struct finding {
    enum verdict verdict;
    bool is_unproved;    /* UNKNOWN, though there was all that it needs to see */
    int64_t count;       /* violations seen */
    enum cause cause;    /* of the first one that is the scheme's fault, else the deployment's, else
                            nobody's */
    unsigned blames;     /* bit enum blame: whose faults there were among all of them */
    unsigned causes;     /* bit enum cause: all of them */
    int64_t first_index; /* event at which that one was seen, -1: none */
    int witness_lines; /* sentences on that one; for UNKNOWN and NOT_APPLICABLE one that says why */
    char witness[WITNESS_LINES_MAX][WITNESS_LINE_BYTES];
};

/* Figures beside the verdicts, for stress reports. */
struct counters {
    int64_t operations, grants, refusals,
        errors;               /* calls that returned; granted; refused; failed */
    int64_t unsupported;      /* of those that failed: a server did not know a command */
    int64_t overruns;         /* pairs of overlapping holds with cause overrun */
    int64_t foreign_releases; /* releases that removed another client's lock */
    int64_t lost_updates;
    int64_t sections; /* critical sections whose counter write was executed */
    /* What struck, and what it hit; "vacuity" in reports. */
    int64_t faults;             /* that struck: fault_is_strike() */
    int64_t struck[FAULT_ROWS]; /* of these, each */
    int64_t faults_in_hold;
    int64_t stalls_in_release; /* of a client that was releasing */
    int64_t contended;         /* attempts that came to a lock which another client held */
};

/* Of progress: for so many leases a lock that nobody holds may be refused; where clients judge
 * stamps, for so many of their units more. The explorer has the same patience. */
enum { PATIENCE_LEASES = 2, PATIENCE_STAMP_UNITS = 2 };

struct checks;

/* head is kept until checks_free (its names too). */
struct checks *checks_new(const struct history_head *head);

/* The same for a scheme that is in no table (a loaded one, or NULL: a foreign library, of which
 * only the commands tell). scheme is kept until checks_free. checks_new() takes
 * scheme_named(head->scheme). */
struct checks *checks_new_for(const struct history_head *head, const struct scheme *scheme);

/* Feeds one event (borrowed), in order. */
void checks_event(struct checks *checks, const struct event *event);
struct event_sink checks_sink(struct checks *checks);

/* How many clients hold a lock now, as they believe; and what has struck so far, by the counters.
 */
int64_t checks_holders(const struct checks *checks);
int64_t checks_struck(const struct checks *checks);

/* What is violated so far, while the history goes on; bit a property. */
unsigned checks_violated(const struct checks *checks);
/* What that property has found so far: its count, cause, blames and causes; its verdict says
 * nothing yet. Borrowed. */
const struct finding *checks_so_far(const struct checks *checks, enum property property);

/* What calls and returns or the servers' side show to be violated by now, where the history goes
 * on: its cause and event, or NULL. What comes can still excuse it. Borrowed until the next event.
 */
const struct finding *checks_violation(const struct checks *checks, enum property property);

/* Ends the history at time end_us and fills findings[PROPERTY_COUNT]; counters may be NULL. Once.
 */
void checks_finish(struct checks *checks, int64_t end_us, struct finding *findings,
                   struct counters *counters);
/* The same where the history goes on, and no more of it counts: what stands then is not how it
 * ends. */
void checks_break_off(struct checks *checks, struct finding *findings, struct counters *counters);
/* Why what the servers did is not known, so that nothing is concluded from it; NULL: it is. As a
 * sentence without its full stop; borrowed. */
const char *checks_gap(const struct checks *checks);
/* What no server to which nobody else writes can have answered, or what a property that is violated
 * could not tell all the same: what is nobody's fault is no verdict about the rest then; NULL:
 * nothing. Likewise. */
const char *checks_contradiction(const struct checks *checks);
void checks_free(struct checks *checks);

const char *property_name(enum property property);
const char *property_words(enum property property); /* "holds when ..." */

/* What must be promised for it to be judged, a bit of enum promise; 0: nothing. */
unsigned property_promise(enum property property);
/* Does the scheme promise what the property is about? */
bool property_is_promised(enum property property, const struct scheme *scheme);

/* Can it be violated by two clients only? */
bool property_needs_two(enum property property);
bool property_is_exclusion(enum property property); /* mutual-exclusion, lease-exclusion */
const char *verdict_name(enum verdict verdict);     /* "holds", "not_applicable", as in files */
const char *verdict_words(enum verdict verdict);    /* "holds", "not applicable", in sentences */
const char *cause_name(enum cause cause);
const char *cause_title(enum cause cause); /* how a sentence about it begins: "Unlock bug" */
const char *cause_words(enum cause cause);
const char *cause_advice(enum cause cause); /* what to do about it */
enum blame cause_blame(enum cause cause);
enum harm cause_harm(enum cause cause);
bool property_read(const char *name, enum property *property);
bool verdict_read(const char *name, enum verdict *verdict);
bool cause_read(const char *name, enum cause *cause);

#endif
