/* explore_args.h - the options of `picklock explore`. */
#ifndef PICKLOCK_CMD_EXPLORE_ARGS_H
#define PICKLOCK_CMD_EXPLORE_ARGS_H

#include "cmd/output.h"
#include "run/worker_scheme.h"

struct explore_asking;

/* As given; texts are borrowed from argv, and a number that is 0 was not given. */
struct explore_args {
    int64_t wait_us; /* of the worker */
    const char *scheme, *worker, *fault, *search_name, *redis_server, *depends, *model;
    struct worker_scheme *program; /* of --worker, once it is known as a scheme; else NULL */
    struct explore_asking *asking; /* of a worker that is asked: filled; else NULL */
    enum explore_search search;
    struct shard shard;
    enum fail_on fail_on;
    struct output output;
    int64_t clients, rounds, servers, lease_ticks, budget_us, states, runs, memory_mb, seed, jobs;
    enum section section; /* has_section */
    bool has_section;
    bool samples; /* of a worker that is asked: faults that asking does not decide are run */
    int minimal, no_cache, no_extend, no_reductions, learn, full_states, witness, confirm;
};

/* Defaults, then the command line. FAIL_INPUT: as options_parse. */
enum fail explore_args_parse(int argc, char **argv, struct explore_args *args,
                             struct failure *failure);

/* Has "stall,crash+stall" (NULL: nothing) no empty item? An empty variable of a script must not ask
 * for nothing. FAIL_INPUT: it has. */
enum fail explore_args_check_faults(const char *text, struct failure *failure);

#endif
