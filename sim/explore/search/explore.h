/* explore.h - every interleaving of a scheme up to a bound: "holds up to here", or the shortest
 * schedule that breaks it. Or, where there are too many: as many as a random search gets to.
 *
 * Breadth-first over hashed states, faults before events: a witness has the fewest faults, then the
 * fewest events. The scheme's own step function, world/client.c and redis/model.c are run; nothing
 * is modelled a second time. A witness is a list of choices that either world can replay. Pure: no
 * I/O; the clock is the caller's, asked only to keep to the deadline. */
#ifndef PICKLOCK_EXPLORE_SEARCH_EXPLORE_H
#define PICKLOCK_EXPLORE_SEARCH_EXPLORE_H

#include "base/bits.h"
#include "checks/checks.h"
#include "scenario/choice.h"
#include "scenario/world.h"

enum fault {
#define FAULT(id, file, name, struck, words) FAULT_##id,
#include "explore/model/faults/faults.def"
#undef FAULT
    FAULT_COUNT
};

enum fault_blame { FAULT_OF_CLIENT, FAULT_OF_SERVER, FAULT_OF_RUN };

const char *fault_name(enum fault fault);
const char *fault_words(enum fault fault);
enum fault_blame fault_blame(enum fault fault);
const char *fault_struck(enum fault fault); /* its blame in a word */
bool fault_read(const char *name, enum fault *fault);

/* Has this scheme anything that it could strike? If not, a search with it is one without. */
bool fault_is_applicable(enum fault fault, const struct scheme *scheme);

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
                           searched;   only what is violated on it is looked for again, for the                                        \
                           shortest path   (partial_order.h) */
BITS(reduction, REDUCTIONS);
enum { REDUCE_ALL = REDUCTIONS_ALL };

/* Bounds of the explorer itself. */
enum { EXPLORE_CLIENTS_MAX = 6, EXPLORE_ROUNDS_MAX = 7, EXPLORE_FAULTS_MAX = 7 };

/* How it is searched. Random: a seeded portfolio (strategy.h) of runs from the start, what they
 * find made as short as can be; what they do not find stays unknown. */
enum explore_search {
    SEARCH_EXHAUSTIVE,
    SEARCH_RANDOM,
    SEARCH_PCT, /* only runs of PCT, with stalls */
    SEARCH_COUNT,
};

const char *explore_search_name(enum explore_search search);
bool explore_search_read(const char *name, enum explore_search *search);

/* Runs of a random search that were not limited otherwise; and it ends when so many in a row
 * brought no new state. */
enum { EXPLORE_RUNS = 10000, EXPLORE_RUNS_STALE = 1000 };

struct explore_options {
    const struct scheme *scheme;
    int clients, rounds, servers;
    int lease_ticks; /* 0: what suits the scheme (2, or 3 where a timer counts thirds) */
    uint8_t budget[FAULT_COUNT]; /* how often each may strike; sum at most EXPLORE_FAULTS_MAX */
    enum section section;
    unsigned reductions; /* of enum reduction */
    unsigned sought; /* bit a property: the search ends when the shortest path to each of them is
                        known; 0: never before its end */
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
};

BITS_FIT(REDUCTIONS, struct explore_options, reductions);
BITS_FIT_COUNT(PROPERTY_COUNT, struct explore_options, sought);

/* Why a search ended before its end. */
enum explore_end {
    END_COMPLETE,
    END_STATES,
    END_BYTES,
    END_TIME,
    END_STOPPED, /* by options.stop */
    END_UNSUPPORTED,
    END_ENOUGH, /* all that was asked of it was found, or is not there */
    END_RUNS,   /* a random search made all its runs */
    END_BREACH, /* the scheme broke a rule of breaches.def: explore() fails */
    END_STALE,  /* EXPLORE_RUNS_STALE of them in a row brought no new state */
};

/* Was the search not cut short? What it did not find is not there then. */
static inline bool explore_end_answers(enum explore_end end)
{
    return end == END_COMPLETE || end == END_ENOUGH;
}

struct explore_finding {
    enum verdict verdict; /* VERDICT_UNKNOWN: not violated as far as the search came */
    int faults, events;   /* of the witness: fewest faults, then fewest events */
    struct choice *choices;
    int choices_count;
    bool is_endless;     /* progress: nobody is ever granted the lock after it */
    bool is_shortest;    /* proved: all that could lead to anything shorter was visited */
    uint64_t runs;       /* that a random search made, whether they found it or not */
    uint64_t run;        /* of a random search, from 1: the first that found it; 0: none did */
    int clients, rounds; /* by fallback.h: found within these smaller bounds; 0: it was not */
};

struct explore_outcome {
    enum explore_end end;
    uint64_t states, transitions;
    int lease_ticks; /* as searched */
    int depth;       /* events of the longest shortest path */
    /* Cut short: every path with fewer faults was seen, and with as many up to so many events; -1:
     * that is not known. */
    int seen_faults, seen_events;
    uint64_t bytes; /* memory of the search, at its largest */
    double
        lost; /* states expected to be lost to equal fingerprints: n^2 / 2^65; 0 with full states */
    struct explore_finding findings[PROPERTY_COUNT];
    /* Of a random search. */
    uint64_t runs;
    uint64_t new_per_1000;   /* new states in 1 000 runs, at the end */
    uint64_t shorter_states; /* visited when something shorter than what was found was looked for */
    /* How the witnesses are to be replayed. */
    int64_t lease_us;
    uint32_t same_token;
    bool has_replica;
};

/* Which properties a search with such critical sections judges; the others stay VERDICT_UNKNOWN. */
bool explore_judges(enum section section, enum property property);

/* And which of them a search with these options is about: the scheme promises them all to hold. */
bool explore_promises(const struct explore_options *options, enum property property);

/* One search. *outcome: explore_outcome_free. FAIL_INPUT: options out of bounds, with why. */
enum fail explore(const struct explore_options *options, struct explore_outcome *outcome,
                  struct failure *failure);
void explore_outcome_free(struct explore_outcome *outcome);

const char *explore_end_words(enum explore_end end);

#endif
