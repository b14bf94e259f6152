/* worker_scheme.h - a user's worker (worker/worker_world.h) as a scheme: so that it may stand
 * wherever one may. */
#ifndef PICKLOCK_RUN_WORKER_SCHEME_H
#define PICKLOCK_RUN_WORKER_SCHEME_H

#include "run/result.h"
#include "schemes/scheme.h"
#include "worker/worker_world.h"

struct worker_scheme {
    struct worker_program program;
    struct scheme scheme; /* its name is that of the program's file: "my_lock.py" */
    char name[NAME_MAX_BYTES];
};

/* Makes it known (scheme_add). command and redis_server (may be NULL) are kept, and so is *made.
 * FAIL_INPUT: no such command line, or a name that a scheme has already. */
enum fail worker_scheme_init(struct worker_scheme *made, const char *command,
                             const char *redis_server, struct failure *failure);

/* Notes which properties are judged of none of its runs, since it does not promise what they are
 * about; nothing, where no run has begun. */
void worker_scheme_note_promises(const struct worker_program *program, struct results *results);

/* The command line of the worker that the scheme stands for (borrowed); NULL: it is no worker. */
const char *worker_scheme_command(const struct scheme *scheme);

#endif
