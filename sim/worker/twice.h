/* twice.h - is a worker fit to be judged? A clean hand-over between two workers (once.h), and the
 * same again in new processes: the same commands, sent at the same times. What a worker that does
 * not do the same twice is found to do could not be replayed. */
#ifndef PICKLOCK_WORKER_TWICE_H
#define PICKLOCK_WORKER_TWICE_H

#include "worker/once.h"

/* Tells `line` what the workers are, and what they promise; *commands: how many were sent in one
 * hand-over. Failures as of once_run(); FAIL_UNKNOWN, too: the second was another one, and in what.
 */
enum fail twice_run(const struct once_options *options, int *commands, struct failure *failure);

#endif
