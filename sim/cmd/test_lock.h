/* test_lock.h - `picklock test COMMAND`: a lock program from the check of its worker to the
 * verdict, in one report: what `run --worker` and `explore --worker` do, one after the other. */
#ifndef PICKLOCK_CMD_TEST_LOCK_H
#define PICKLOCK_CMD_TEST_LOCK_H

#include "cmd/output.h"

/* As given; texts are borrowed, and a number that is 0 was not given. */
struct test_lock {
    const char *command, *fault, *redis_server, *fail_on, *depends;
    char **scenarios; /* files; none: all that there are */
    int scenarios_count;
    int64_t clients, rounds, budget_us, lease_us, wait_us, patience_us, seed;
    int no_cache, no_extend;
    struct output output;
};

/* Returns the exit status; all is said. */
int test_lock_run(struct test_lock *test);

#endif
