/* guarded.h - what the lock guards, read and written for a worker over a connection of our own:
 * what a program would do that uses the lock, with the fence that it was given. */
#ifndef PICKLOCK_WORKER_GUARDED_H
#define PICKLOCK_WORKER_GUARDED_H

#include "history/event.h"
#include "scenario/choice.h"
#include "worker/server_wire.h"

/* One client's critical section. */
struct guarded_section {
    int number; /* of the client, from 1 */
    int64_t fence;
    bool has_fence;  /* its lock promises one */
    int64_t counter; /* that it has read */
};

/* What CHOICE_WRITE, READ_COUNTER, WRITE_COUNTER ask of the first server. */
struct command guarded_command(const struct guarded_section *guarded, enum choice_kind kind);
/* How it ended; reply NULL: it was lost. Keeps what was read. */
enum result guarded_ended(struct guarded_section *guarded, const struct command *command,
                          const struct reply *reply);

/* Asks; keys begin with prefix. The connection is opened where it is not. FAIL_UNAVAILABLE,
 * FAIL_UNKNOWN: no answer. */
enum fail guarded_ask(struct server_wire *wire, const char *host, int port, const char *prefix,
                      const struct command *command, struct reply *reply, struct failure *failure);

#endif
