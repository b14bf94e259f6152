/* runs_ahead.h - a search by running has some of its runs made beside it.
 *
 * A child of ours (run/child.h) with workers and a server of its own makes runs of the slice in
 * hand, whichever nobody has begun. What they showed is taken in their order, so all is found that
 * would be without it. What it cannot do, or had not told when it ended, its parent does. */
#ifndef PICKLOCK_RUN_RUNS_AHEAD_H
#define PICKLOCK_RUN_RUNS_AHEAD_H

#include "run/search_run.h"

struct runs_ahead;

/* program is kept. NULL: there is one processor alone, or it cannot be started. No other thread of
 * ours runs yet, nor anything that we started. */
struct runs_ahead *runs_ahead_start(struct worker_program *program);
/* Kills it, and waits for its end. NULL is fine, here and below. */
void runs_ahead_end(struct runs_ahead *ahead);
/* What runs for it is to end, until it is asked again; not waited for. */
void runs_ahead_rest(struct runs_ahead *ahead);

/* It may make the runs from first on, up to end, in one slice; but for those that are only the
 * parent's. What it makes of those asked for before is nobody's any more. crew: the parent's, at
 * work. */
void runs_ahead_ask(struct runs_ahead *ahead, const struct search_terms *terms,
                    const struct search_crew *crew, uint64_t first, uint64_t end);
bool runs_ahead_is_only_ours(uint64_t number);
/* Of these: from now on the caller's. False: the child's, who has it in hand. */
bool runs_ahead_begin(struct runs_ahead *ahead, uint64_t number);
/* One that the child has made of these (borrowed until the next call); NULL: none within that
 * time. */
const struct search_run *runs_ahead_hear(struct runs_ahead *ahead, int within_ms);

/* Its process; 0: it has ended, or there was none. */
int runs_ahead_pid(const struct runs_ahead *ahead);

#endif
