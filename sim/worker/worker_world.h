/* worker_world.h - a directed world whose clients are somebody's processes, on steered
 * redis-servers.
 *
 * Behind scenario/world.h: the rules are the core's (world/core.h), here are its clients and its
 * backend. A step of a worker is all that it does until it is at rest; its commands are opaque, and
 * what they did is told by their effects on the lock's key. A new world has new processes. */
#ifndef PICKLOCK_WORKER_WORKER_WORLD_H
#define PICKLOCK_WORKER_WORKER_WORLD_H

#include "worker/protocol.h"
#include "world/core.h"

/* What is run, and what is known of it once a world was made. */
struct worker_program {
    const char *command;      /* of a worker; borrowed */
    const char *redis_server; /* NULL: the one on the PATH */
    const volatile int *stop; /* of the session; may be NULL */
    bool is_known;            /* the rest is */
    unsigned promises;        /* bit enum worker_promise */
    char library[PROTOCOL_TEXT_MAX];
    char server_version[32];
};

/* run and program are kept. FAIL_NOT_APPLICABLE: more clients than there can be. FAIL_INPUT,
 * FAIL_UNAVAILABLE: the worker cannot be used, and why. Freed by ops->free. */
enum fail world_worker_new(struct world **world, struct worker_program *program,
                           const struct run *run, struct failure *failure);

/* Can workers do that at all? FAIL_NOT_APPLICABLE: why not. */
enum fail worker_can(enum choice_kind kind, struct failure *failure);

/* Of a history's head: what it promises, bit enum promise. */
unsigned worker_program_promises(const struct worker_program *program);

#endif
