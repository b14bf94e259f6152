/* once.h - `picklock test --once`: one clean hand-over between two workers, with all that happens.
 *
 * For writing a worker. A acquires, B is refused, A extends (where it can) and releases, B acquires
 * and releases; each command, reply, clock read, and what the workers print, is a line. */
#ifndef PICKLOCK_WORKER_ONCE_H
#define PICKLOCK_WORKER_ONCE_H

#include "base/fail.h"

#include <stdint.h>

struct once_options {
    const char *command;      /* of the worker */
    const char *redis_server; /* NULL: the one on the PATH */
    int64_t lease_us;
    int servers;
    uint64_t seed;
    int64_t patience_us;      /* real time that a worker may take to come to rest */
    const volatile int *stop; /* not NULL, and not 0: it ends early, with FAIL_UNKNOWN */
    /* A line of what happens, without its line feed; borrowed. */
    void (*line)(void *context, const char *line);
    /* A command that a worker sends, at that world time, in words; borrowed. NULL: nobody asks. */
    void (*sent)(void *context, int client, int64_t now_us, const char *words);
    void *context;
    /* Not NULL: set (FAIL_EXPECTATION) where the lock's key, behind a grant, is not what the worker
     * promises: its expiry is far from the lease, or its value is that of the grant before. The
     * hand-over goes on. */
    struct failure *odd_key;
};

/* FAIL_EXPECTATION: it was no clean hand-over, and why. FAIL_INPUT: the worker does not follow the
 * protocol. FAIL_UNAVAILABLE: it cannot be run, or steered. FAIL_UNKNOWN: it does not come to rest.
 */
enum fail once_run(const struct once_options *options, struct failure *failure);

#endif
