/* options.h - what a search is asked for: the scheme, the bounds, the faults, the reductions. */
#ifndef PICKLOCK_EXPLORE_MODEL_OPTIONS_H
#define PICKLOCK_EXPLORE_MODEL_OPTIONS_H

#include "base/bits.h"
#include "checks/checks.h"
#include "scenario/choice.h"
#include "scenario/world.h"

/* Has this scheme anything that it could strike? If not, a search with it is one without. */
bool fault_is_applicable(enum fault fault, const struct scheme *scheme);
/* Why it strikes no scheme, but workers; NULL: it does. */
const char *fault_not_of_schemes(enum fault fault);

/* The choices that it becomes in a schedule, in order; returns how many, none for a pause. */
enum { FAULT_CHOICES_MAX = 3 };
int fault_becomes(enum fault fault, enum choice_kind *choices);

/* What a critical section does: nothing but last; write the guarded resource, which judges
 * fence-order; read the guarded counter and write it back plus one, which judges no-lost-update.
 */
enum section { SECTION_NOTHING, SECTION_WRITE, SECTION_COUNTER, SECTION_COUNT };

const char *section_name(enum section section);
bool section_read(const char *name, enum section *section);

/* What makes the space smaller without changing a verdict; each can be switched off. Symmetries
 * keep the length of a way as well. */
#define REDUCTIONS(BIT)                                                                            \
    BIT(REDUCE_CLIENTS) /* clients are interchangeable */                                          \
    BIT(REDUCE_SERVERS) /* servers are interchangeable */                                          \
    BIT(REDUCE_EAGER)   /* replies that a client only counts are heard when it has them all */     \
    BIT(REDUCE_ORDER)   /* quorums: first, of ways that differ in their order alone, one is        \
                           searched;   only what is violated on it is looked for again, for the    \
                           shortest path   (partial_order.h) */
BITS(reduction, REDUCTIONS);
enum { REDUCE_ALL = REDUCTIONS_ALL };

/* Bounds of the explorer itself. */
enum {
    EXPLORE_CLIENTS_MAX = 6,
    EXPLORE_ROUNDS_MAX = 7,
    EXPLORE_FAULTS_MAX = 7,
    EXPLORE_LEASE_TICKS_MAX = 8,
};

/* How it is searched. Random: a seeded portfolio (strategy.h) of runs from the start, what they
 * find made as short as can be; what they do not find stays unknown. */
enum explore_search {
    SEARCH_EXHAUSTIVE,
    SEARCH_RANDOM,
    SEARCH_PCT,     /* only runs of PCT, with stalls */
    SEARCH_BOUNDED, /* of workers only: all runs with few preemptions, one after the other */
    SEARCH_COUNT,
};

const char *explore_search_name(enum explore_search search);
bool explore_search_read(const char *name, enum explore_search *search);

/* Runs of a random search that were not limited otherwise; and it ends when so many in a row
 * brought no new state. */
enum { EXPLORE_RUNS = 10000, EXPLORE_RUNS_STALE = 1000 };

/* What a lost or late message has left behind violates no-orphan, and truthful when its client is
 * refused by it; most often that is nobody's fault. It must not stand before a violation that is
 * the scheme's: it is told when there is no other, or it is not looked for, or it is as good as
 * any. */
enum leftovers { LEFTOVERS_LAST, LEFTOVERS_NEVER, LEFTOVERS_TOO };

struct subject;

/* How far a search is. One that is not exhaustive has its states alone. */
struct explore_progress {
    uint64_t states;    /* that it has met */
    int depth;          /* how many steps deep it is; -1: not exhaustive */
    uint64_t looked_at; /* states whose steps it has made */
    uint64_t left;      /* states whose steps are still to be made: */
    bool is_guess;      /* about so many; else at least so many */
    int64_t took_us;    /* since it began, by the caller's clock; 0 without one */
    bool confirms;      /* it is over; what it has found is shrunk, and seen in new processes */
};

struct explore_options {
    const struct scheme *scheme;
    struct subject *subject; /* NULL: the scheme itself, and the model of a server (subject.h) */
    int clients, rounds, servers;
    int lease_ticks;  /* 0: what suits the scheme (2, or 3 where a timer counts thirds) */
    bool has_extends; /* a holder may ask for its lease anew, once in each hold: of a foreign
                         program that promises that. A scheme does so by itself, or not at all */
    bool has_cancels; /* of each client one acquire may be cancelled: of workers, where their
                         schedules are run. The explorer itself cancels nothing */
    /* A timer may be due by less than a tick: enum timer_early. */
    bool has_short_waits;
    uint8_t budget[FAULT_COUNT]; /* how often each may strike; sum at most EXPLORE_FAULTS_MAX */
    enum section section;
    unsigned reductions; /* of enum reduction */
    enum leftovers leftovers;
    unsigned leftovers_too; /* LEFTOVERS_NEVER, but for these properties: bits */
    unsigned sought; /* bit a property: the search ends when the shortest path to each of them is
                        known; 0: never before its end */
    /* Of whoever says "refused" on no server's word it is kept whether the lock was free all along.
       explore() sets it where somebody does: that takes states. */
    bool judges_guesses;
    bool has_full_states; /* keep whole states, not fingerprints: nothing is lost to collisions */
    bool skips_progress;  /* keep no edges: progress stays unknown, and memory is saved */
    uint64_t hash_seed;
    enum explore_search search;
    uint64_t seed;            /* of a random search */
    uint64_t runs_max;        /* of a random search; 0: EXPLORE_RUNS */
    uint64_t states_max;      /* 0: no limit */
    uint64_t bytes_max;       /* 0: no limit */
    int64_t deadline_us;      /* an instant of now_us(); 0: none */
    int64_t (*now_us)(void);  /* the caller's clock; NULL: no deadline */
    const volatile int *stop; /* not 0: end early, with what was found; NULL: never */
    /* Told now and then how far a search is; NULL: nobody is. By the thread that searches. */
    void (*watch)(void *context, const struct explore_progress *progress);
    void *watch_context;
};

BITS_FIT(REDUCTIONS, struct explore_options, reductions);

/* Is a search with these options to end now? */
static inline bool explore_is_stopped(const struct explore_options *options)
{
    return options->stop && *options->stop;
}
static inline bool explore_is_out_of_time(const struct explore_options *options)
{
    return options->deadline_us && options->now_us && options->now_us() >= options->deadline_us;
}

BITS_FIT_COUNT(PROPERTY_COUNT, struct explore_options, sought);

/* Which properties a search with such critical sections judges; the others stay VERDICT_UNKNOWN. */
bool explore_judges(enum section section, enum property property);

/* And which of them a search with these options is about: the scheme promises them all to hold. */
bool explore_promises(const struct explore_options *options, enum property property);

#endif
