/* policy.h - who goes next in one run of a random search: a portfolio, for no policy finds all.
 *
 * A policy chooses among the steps that are possible, by numbers of the run's own stream alone.
 * Time is nobody's: a clock with a priority of its own would be late for ever, or never let a
 * message pass; so time passes by chance, or because somebody stalls here until a lease is over. */
#ifndef PICKLOCK_EXPLORE_POLICY_H
#define PICKLOCK_EXPLORE_POLICY_H

#include "base/random.h"
#include "explore/path.h"

enum policy {
    POLICY_UNIFORM,    /* any step */
    POLICY_PRIORITIES, /* steps have random priorities, drawn anew when one they depend on was made
                        */
    POLICY_STALLS, /* PCT: actors have priorities; at some steps one stalls, and a lease runs out */
    POLICY_NOVELTY, /* a step to a state that no run has seen, where there is one */
    POLICY_COUNT,
};

enum { CHANGES_MAX = 6, CHANGES_MIN = 3 };

/* One run. */
struct policy_run {
    enum policy policy;
    struct random random;
    int ttl;
    int made;                 /* steps so far */
    bool is_off[FAULT_COUNT]; /* kinds that do not strike in this run */
    bool is_hasty;            /* whoever pauses does so until a lease is over, at once */
    uint32_t fault_chance;    /* of a fault among the steps, parts per million */
    /* POLICY_PRIORITIES: how often what touches a client, a server or time was made. */
    uint32_t client_turn[EXPLORE_CLIENTS_MAX], server_turn[SERVERS_MAX], time_turn;
    /* POLICY_STALLS */
    int64_t rank[ACTORS]; /* the highest goes first */
    int64_t lowest;
    int changes[CHANGES_MAX], changes_count; /* at which steps an actor gives way */
    int strikes[EXPLORE_FAULTS_MAX], strike_faults[EXPLORE_FAULTS_MAX], strikes_count;
    int ticks_owed; /* until a lease is over for all */
};

/* length: how long runs are, about. */
void policy_begin(struct policy_run *run, enum policy policy, const struct explore_options *options,
                  const struct setting *setting, struct random random, int length);

/* May the step be made in this run, and does it change anything? */
bool policy_allows(const struct policy_run *run, const struct stage *stage,
                   const struct step_taken *step);

/* The number of the step to make, or -1: the run is over. is_new: of each step of the stage, does
 * it lead where no run has been? (POLICY_NOVELTY; else NULL.) */
int policy_pick(struct policy_run *run, const struct stage *stage, const bool *is_new);

/* That step was made; is_back: to a state that this run has seen before. */
void policy_made(struct policy_run *run, const struct step_taken *step, bool is_back);

#endif
