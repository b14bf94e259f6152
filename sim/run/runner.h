/* runner.h - one run: a scheme in a world through a scenario (or stress), its history to the file
 * and the checks, its result.
 *
 * Knows both worlds and the checks; prints nothing. */
#ifndef PICKLOCK_RUN_RUNNER_H
#define PICKLOCK_RUN_RUNNER_H

#include "run/result.h"
#include "run/worker_scheme.h"
#include "scenario/schedule.h"

enum world_kind { WORLD_REDIS, WORLD_SIM };

/* As --on, results and histories name it. */
static inline const char *world_name(enum world_kind world)
{
    return world == WORLD_SIM ? "sim" : "redis";
}

struct runner {
    enum world_kind world;
    struct live *live; /* WORLD_REDIS; borrowed */
    struct worker_scheme
        *worker;         /* the scheme that is a user's worker; NULL: there is none. Borrowed */
    const char *folder;  /* the run folder, exists; NULL: write no history, no schedule */
    int64_t piece_bytes; /* of a history that is written in pieces; 0: it is one file */
    uint64_t seed;
    int round;            /* 1, 2, ..: repetitions write files of their own; 0 as 1 */
    enum fail_on fail_on; /* where nothing is expected; UNSAID: bug, of a user's scheme scheme */
};

/* Are its clients a user's processes? */
static inline bool runner_is_worker(const struct runner *runner, const struct scheme *scheme)
{
    return runner->worker && scheme == &runner->worker->scheme;
}

/* Runs and appends a row to results. A diverged run is a row with verdict unknown and FAIL_NONE,
 * one that the scheme cannot follow (and of which nothing is expected) a row that is not
 * applicable; failures are for what ends the program: no server, an unwritable folder. */
enum fail runner_scenario(struct runner *runner, const struct scenario *scenario,
                          const struct scheme *scheme, struct results *results,
                          struct failure *failure);
/* Can the scheme be run on the masters of a Redis Cluster? Else why says why not. */
bool runner_fits_cluster(const struct runner *runner, const struct scheme *scheme,
                         struct failure *why);

/* Can the scenario be played in the runner's world at all? FAIL_NOT_APPLICABLE, and why not:
 * runner_scenario() then runs nothing, and its row says so. */
enum fail runner_suits(const struct runner *runner, const struct scenario *scenario,
                       struct failure *failure);
/* Appends a row that is not run: not applicable, for the reason. */
void runner_skip(const struct scenario *scenario, const struct scheme *scheme, const char *reason,
                 struct results *results);
/* Enforces a schedule (borrowed; path names it in messages). Nothing is expected of it: the policy
 * judges. */
enum fail runner_schedule(struct runner *runner, const struct schedule *schedule, const char *path,
                          struct results *results, struct failure *failure);
/* FAIL_UNKNOWN with a row: the run ended before its time, since a process that it needs is gone. */
enum fail runner_stress(struct runner *runner, struct stress_options *options,
                        struct results *results, struct failure *failure);

#endif
