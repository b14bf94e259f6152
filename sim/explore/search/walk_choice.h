/* walk_choice.h - few walks out of many: drawing one costs little, replaying it with real workers
 * much. So many are drawn (see long_walk.h), and those are taken that make what none that was
 * replayed has made.
 *
 * What a walk makes, for each of its clients: how its last one, two, three and four operations
 * ended (one that failed: which; a release that succeeded is left out), and how often in a row the
 * last one ended so, with the operation that it is asked for next.
 *
 * The same seed draws and chooses the same walks. */
#ifndef PICKLOCK_EXPLORE_SEARCH_WALK_CHOICE_H
#define PICKLOCK_EXPLORE_SEARCH_WALK_CHOICE_H

#include "explore/search/trace.h"

struct walk_choice;

/* Draws so many, or fewer: when it is told to stop, or they are long. The caller frees. */
struct walk_choice *walk_choice_new(struct trace_replayer *replayer, uint64_t seed, int draws,
                                    bool (*is_to_stop)(void *), void *context);
void walk_choice_free(struct walk_choice *choice);

/* The stream of the walk to replay next: the one that makes the most that is new, each once. -1:
 * none makes anything new. */
int walk_choice_next(struct walk_choice *choice);

/* The walk that was chosen last was made to its end: what it makes is not new any more. */
void walk_choice_made(struct walk_choice *choice);

#endif
