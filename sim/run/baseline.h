/* baseline.h - violations that are known and accepted: a file of lines, made to be reviewed and
 * kept beside the code.
 *
 * A line is a finding: what was done (run, stress, cell), the lock, the scenario or the faults, the
 * property, the cause. Bounds, steps, times and seeds are not in it, so that it stays as it is
 * while nothing new is found. Only what counts as a failure (fail_on.h, or another verdict than a
 * scenario states) is a finding; a row all of whose failures are known is no failure. A baseline
 * makes nothing sure: what is unknown stays unknown.
 *
 * A stress run is a sample: which properties show a cause is chance, so one line accepts the cause,
 * whatever it violates. What a sample does not find is not fixed; that it was not seen is told. */
#ifndef PICKLOCK_RUN_BASELINE_H
#define PICKLOCK_RUN_BASELINE_H

#include "run/result.h"

struct baseline;

/* Reads path (borrowed, and kept). is_new: a file that is not there is an empty one. FAIL_INPUT:
 * the file, line and column of what is no finding. *baseline: freed by baseline_free(). */
enum fail baseline_read(const char *path, bool is_new, struct baseline **baseline,
                        struct failure *failure);
void baseline_free(struct baseline *baseline); /* NULL is fine */

/* Marks the causes that are known, and the rows all of whose failures are, and says in notes how
 * many there are, which findings are new, which known ones are gone (of those only that a run that
 * is not a sample has judged again), which are there and no failure, and which a sample has not
 * seen. */
void baseline_apply(const struct baseline *baseline, struct results *results);

/* Writes the file anew: the findings of results, and those known ones that were not judged again,
 * as they stand in it by then, with their comments: whoever updates it at the same time loses
 * nothing. Sorted, each once. The results say what was taken out. */
enum fail baseline_update(const char *path, struct results *results, struct failure *failure);

#endif
