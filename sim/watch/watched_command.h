/* watched_command.h - the command that is watched: in our session, with our streams, and told of
 * the signals that we are told of.
 *
 * Who ends it ends all that it has started, by the rule for workers (worker/supervisor.h): a signal
 * to us, and our own end, whatever that is. What it leaves behind when it ends by itself stays. */
#ifndef PICKLOCK_WATCH_WATCHED_COMMAND_H
#define PICKLOCK_WATCH_WATCHED_COMMAND_H

#include "base/fail.h"

#include <stdbool.h>

struct watched_command {
    int pid; /* until watched_command_close() nobody else's; 0: none */
    int supervisor;
    int ended; /* where its supervisor tells how it has ended */
};

/* Runs words[0], looked up on the PATH, with that proxy's address (a URL) in REDIS_URL and
 * PICKLOCK_PROXY_URL; all borrowed. is_stdout_taken: what it prints goes to stderr. */
enum fail watched_command_start(struct watched_command *command, char *const *words,
                                const char *address, bool is_stdout_taken, struct failure *failure);

/* Has it ended? Then its exit status is in *status, or -N where signal N ended it. */
bool watched_command_has_ended(const struct watched_command *command, int *status);

/* is_all: what it has started ends, too, and so does the command. Does nothing where there is none.
 */
void watched_command_close(struct watched_command *command, bool is_all);

#endif
