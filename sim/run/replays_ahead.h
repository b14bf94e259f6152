/* replays_ahead.h - what a search has found is replayed beside the next searches.
 *
 * A search of a worker keeps one processor busy (live/processor.h), and replays are mostly starts
 * of processes. So a child of ours, which is forked before anything runs, replays on the others
 * what the cells have found so far, and tells what came of it: that is put into the memo of the
 * replays, from where cell_finish() takes it as what was replayed before. So no verdict hangs on
 * the child. What it did not come to, and all that was under way when it ended, is replayed as if
 * there were none. Source: memfd_create(2). */
#ifndef PICKLOCK_RUN_REPLAYS_AHEAD_H
#define PICKLOCK_RUN_REPLAYS_AHEAD_H

#include "run/worker_replays.h"
#include "run/worker_scheme.h"

struct replays_ahead;

/* Both are kept. NULL: there is one processor alone, or it cannot be started. No other thread of
 * ours runs yet. */
struct replays_ahead *replays_ahead_start(struct worker_replays *replays,
                                          struct worker_scheme *program);
/* Kills it, and waits for its end. NULL is fine, here and below. */
void replays_ahead_end(struct replays_ahead *ahead);

/* The cell is searched, and not finished yet: what it has found is for the child. It stays where it
 * is until it is taken. */
void replays_ahead_ask(struct replays_ahead *ahead, const struct cell *cell);
/* Before it is finished: waits until that was replayed, and replays itself what the child has not
 * begun meanwhile. */
void replays_ahead_take(struct replays_ahead *ahead, const struct cell *cell);

/* Its process; 0: it has ended, or there was none. */
int replays_ahead_pid(const struct replays_ahead *ahead);

#endif
