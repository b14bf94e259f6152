/* crowd.h - free running: many workers in real time, each a process, with faults that are drawn.
 *
 *     worker --listener of its own--> proxy --order--> queue before each server --> server
 *
 * Nothing is preloaded, and no clock is steered. One command at a time is with a server, and the
 * lock's key is looked at before and behind it: so the order of execution, and what each command
 * did, are known. The section of a holder is run over connections of our own. */
#ifndef PICKLOCK_WORKER_CROWD_H
#define PICKLOCK_WORKER_CROWD_H

#include "live/live.h"
#include "worker/worker_world.h"

enum { CROWD_CLIENTS_MAX = 1000, CROWD_LOCKS_MAX = 100 };
/* Between servers' expiry and our times: a server counts whole milliseconds; both may be slewed. */
enum { CROWD_CLOCK_ERROR_US = 2000 };

struct crowd;

/* Starts servers and workers; all are ready then, and what they promise is known to program.
 * options (kept, with its sink): of them timeout_us, hold, drifts and what is aimed say nothing to
 * workers. FAIL_UNAVAILABLE: this machine has no room for so many; how many fit.
 * FAIL_INPUT: the worker cannot be used. *made NULL behind a failure. */
enum fail crowd_new(struct crowd **made, struct worker_program *program,
                    const struct stress_options *options, struct failure *failure);

/* Runs for options->duration_us, then for heal_us without faults, and lets what is under way come
 * to its end. */
enum fail crowd_run(struct crowd *crowd, struct stress_outcome *outcome, struct failure *failure);

void crowd_free(struct crowd *crowd); /* ends all processes; NULL is fine */

#endif
