/* stepping.h - which scheme's step is running now, and in which thread: a scheme from a file may
 * crash, or never return, and then it can be said whose code that was. */
#ifndef PICKLOCK_WORLD_STEPPING_H
#define PICKLOCK_WORLD_STEPPING_H

#include "schemes/scheme.h"

/* Around each step of it (borrowed), in the thread that makes it. */
void stepping_begin(const struct scheme *scheme);
void stepping_end(void);

/* begin is called in each thread, before its first step. Set while there is one thread only. */
void stepping_on_thread(void (*begin)(void));

/* The scheme whose step this thread is in; NULL: in none. Safe in a signal handler, as is the next.
 */
const struct scheme *stepping_here(void);

/* The scheme of a step, in whatever thread, that has been running since this was asked last; NULL:
 * there is none. Asked by one thread at a time. */
const struct scheme *stepping_still(void);

#endif
