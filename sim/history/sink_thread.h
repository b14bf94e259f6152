/* sink_thread.h - hands events to a sink on a thread of its own, each once and in their order, so
 * that whoever makes them does not wait for what is done with them. */
#ifndef PICKLOCK_HISTORY_SINK_THREAD_H
#define PICKLOCK_HISTORY_SINK_THREAD_H

#include "history/event.h"

struct sink_thread;

/* So many events may be given that are still to be taken: then whoever gives waits. */
enum { SINK_THREAD_AHEAD_MAX = 2048 };

/* From here on, what the sink touches is the thread's, but behind sink_thread_settle(), until the
 * next event. Keeps what `to` points to until it is freed. NULL: a thread cannot be had. */
struct sink_thread *sink_thread_new(struct event_sink to);

/* Borrows the thread until it is freed. */
struct event_sink sink_thread_sink(struct sink_thread *thread);

/* Returns when all that was given has been taken. NULL: at once. */
void sink_thread_settle(struct sink_thread *thread);

/* The same; then the thread ends. */
void sink_thread_free(struct sink_thread *thread);

#endif
