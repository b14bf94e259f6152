/* strategy.h - scheduling strategies: which step one run of a random search makes next. A
 * portfolio, for no strategy finds all.
 *
 * A strategy chooses among the enabled steps by numbers of the run's own stream alone. One is
 * PCT (Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with
 * probabilistic guarantees of finding bugs", 2010), with stalls instead of priority changes.
 * Time is nobody's: a clock with a priority of its own would be late for ever, or never let a
 * message pass; so time passes by chance, or because somebody stalls here until a lease is over. */
#ifndef PICKLOCK_EXPLORE_SEARCH_STRATEGY_H
#define PICKLOCK_EXPLORE_SEARCH_STRATEGY_H

#include "base/random.h"
#include "explore/search/trace.h"

enum strategy {
    STRATEGY_UNIFORM,    /* any step */
    STRATEGY_PRIORITIES, /* steps have random priorities, drawn anew when one they depend on was
                          * made
                          */
    STRATEGY_STALLS,  /* PCT: actors have priorities; at some steps one stalls, and a lease runs out
                       */
    STRATEGY_NOVELTY, /* a step to a state that no run has seen, where there is one */
    STRATEGY_COUNT,
};

enum { CHANGES_MAX = 6, CHANGES_MIN = 3 };

/* One run. */
struct strategy_run {
    enum strategy strategy;
    struct random random;
    int ttl;
    int made;                 /* steps so far */
    bool is_off[FAULT_COUNT]; /* kinds that do not strike in this run */
    bool stalls_long;         /* whoever pauses does so until a lease is over, at once */
    uint32_t fault_chance;    /* of a fault among the steps, parts per million */
    /* STRATEGY_PRIORITIES: how often what touches a client, a server or time was made. */
    uint32_t client_turn[EXPLORE_CLIENTS_MAX], server_turn[SERVERS_MAX], time_turn;
    /* STRATEGY_STALLS */
    int64_t rank[ACTORS]; /* the highest goes first */
    int64_t lowest;
    int changes[CHANGES_MAX], changes_count; /* at which steps an actor gives way */
    int injections[EXPLORE_FAULTS_MAX], injection_faults[EXPLORE_FAULTS_MAX], injections_count;
    int ticks_owed; /* until a lease is over for all */
};

/* length: how long runs are, about. */
void strategy_begin(struct strategy_run *run, enum strategy strategy,
                    const struct explore_options *options, const struct config *config,
                    struct random random, int length);

/* The number of the step to make, or -1: the run is over. is_new: of each step of the replayer,
 * does it lead where no run has been? (STRATEGY_NOVELTY; else NULL.) */
int strategy_pick(struct strategy_run *run, const struct trace_replayer *replayer,
                  const bool *is_new);

/* That step was made; is_back: to a state that this run has seen before. */
void strategy_made(struct strategy_run *run, const struct successor *step, bool is_back);

#endif
