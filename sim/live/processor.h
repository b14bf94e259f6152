/* processor.h - processes that take turns share one processor.
 *
 * Of picklock, a worker and a server one works, and the others wait for it. On two processors each
 * turn wakes one that sleeps, which takes longer than much of the work, above all in a virtual
 * machine. So the main threads of all of them are kept on one. Where others use that, too, another
 * one is tried. A process begins where it likes: several begin at once. Source:
 * sched_setaffinity(2), proc(5). From the main thread only. */
#ifndef PICKLOCK_LIVE_PROCESSOR_H
#define PICKLOCK_LIVE_PROCESSOR_H

#include <stdbool.h>

/* The calling thread, until as many have left as have joined; whoever is taken meanwhile, too. */
void processor_join(void);
void processor_take(int pid);
void processor_leave(void);

/* The one that is shared; NO_PROCESSOR: none is. */
enum { NO_PROCESSOR = -1 };
int processor_shared(void);

/* Until then no other one is tried: those are for another such group of ours. */
void processor_stay(void);

/* Now and then: have they had enough of it? */
void processor_look(void);

/* May we run on several? */
bool processor_has_others(void);
/* Neither we nor what we start runs on that one any more, where there is another one; but on the
 * one avoided before. While nobody has joined. */
void processor_avoid(int number);

/* In a child that has just been forked: it may run wherever its parent could at first. */
void processor_begin_child(void);

#endif
