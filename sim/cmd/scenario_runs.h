/* scenario_runs.h - a list of scenarios against a list of schemes, one run after the other: what
 * `picklock run` does, and `picklock test` with a worker. */
#ifndef PICKLOCK_CMD_SCENARIO_RUNS_H
#define PICKLOCK_CMD_SCENARIO_RUNS_H

#include "cmd/output.h"

/* Scenarios as they were read. */
struct scenario_list {
    struct scenario **rows;
    int count;
};

/* output_check(), where inputs' paths are what scenario_list_read() will be given: the files that
 * it will read are no place for a result. */
enum fail scenario_list_check(const struct output *output, const struct inputs *inputs,
                              struct failure *failure);

/* Reads those files, or, where count is 0, all of scenarios/ (here, or beside the program's build
 * folder); all that is wrong with any of them is said. FAIL_INPUT: one is no scenario. In any case:
 * scenario_list_close(). */
enum fail scenario_list_read(struct scenario_list *list, char **paths, int count,
                             struct failure *failure);
void scenario_list_close(struct scenario_list *list);

struct scenario_runs {
    struct runner *runner;
    const struct scenario_list *scenarios;
    const struct scheme_list *wanted; /* empty: those that each scenario speaks about */
    int64_t repeat;
    /* Those of --fault ("none,crash+stall"; NULL: all): a scenario that strikes by another one does
     * not apply. */
    const char *faults;
};

/* Appends a row for each run that falls to the shard of results. A signal ends it early, which
 * results note; failures as of runner_scenario(). */
enum fail scenario_runs_make(const struct scenario_runs *runs, struct results *results,
                             struct failure *failure);

#endif
