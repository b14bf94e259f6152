/* sweeper.h - a small process of ours that tidies up behind the program, whatever ends that: the
 * end of main, a second signal, SIGKILL.
 *
 * It waits for the end of a pipe and holds nothing else of ours: whoever reads our output sees its
 * end when we end. */
#ifndef PICKLOCK_LIVE_SWEEPER_H
#define PICKLOCK_LIVE_SWEEPER_H

#include "base/fail.h"

#include <stdbool.h>

struct sweeper {
    int alive; /* our end of the pipe: it closes when we end */
    int pid;   /* 0: none */
};

/* Forks. When the program has ended, work(context, told) runs there: told is what sweeper_tell()
 * said last, 0 where it said nothing. context is copied by the fork. FAIL_UNAVAILABLE: why not. */
enum fail sweeper_start(struct sweeper *sweeper, void (*work)(const void *context, int told),
                        const void *context, struct failure *failure);

void sweeper_tell(const struct sweeper *sweeper, int told);

/* Lets it do its work now, and waits until it has. True where there is none. False: it was killed,
 * and the work is not done, or not all. */
bool sweeper_end(struct sweeper *sweeper);

/* Lets it do its work now, and goes on without it. */
void sweeper_leave(struct sweeper *sweeper);

#endif
