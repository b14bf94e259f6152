/* outcome.h - what a search came to. */
#ifndef PICKLOCK_EXPLORE_SEARCH_OUTCOME_H
#define PICKLOCK_EXPLORE_SEARCH_OUTCOME_H

#include "explore/model/options.h"

/* Why a search ended before its end. */
enum explore_end {
    END_COMPLETE,
    END_STATES,
    END_BYTES,
    END_TIME,
    END_STOPPED, /* by options.stop */
    END_UNSUPPORTED,
    END_ENOUGH,       /* all that was asked of it was found, or is not there */
    END_RUNS,         /* a random search made all its runs */
    END_CONTRACT,     /* the scheme broke a rule of contract.def: explore() fails */
    END_NOT_MODELLED, /* of a cell: a fault was named that its clients cannot be struck by */
    END_ALONE,      /* of a cell: all was visited, but with one client there is nothing to share */
    END_UNANSWERED, /* of a cell of a worker: what it answers does not decide it; cell.undecided */
    END_STALE,      /* EXPLORE_RUNS_STALE of them in a row brought no new state */
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
    bool has_guessed; /* of a search without judges_guesses: nothing of it counts */
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

#endif
