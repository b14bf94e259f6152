/* launch.h - the process of a worker, from fork to exec. Private to this folder. */
#ifndef PICKLOCK_WORKER_LAUNCH_H
#define PICKLOCK_WORKER_LAUNCH_H

#include "worker/worker.h"

struct launched {
    int pid;          /* of the worker */
    int supervisor;   /* of its supervisor, which is our child */
    int in, out, err; /* our ends, not blocking */
};

/* Starts the words (borrowed). page: the file of its time. FAIL_UNAVAILABLE: why not. */
enum fail launch(struct launched *launched, char *const *words,
                 const struct worker_options *options, const char *page, struct failure *failure);

#endif
