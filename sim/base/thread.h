/* thread.h - a thread beside the one that was there before, for which all signals are. */
#ifndef PICKLOCK_BASE_THREAD_H
#define PICKLOCK_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create(): 0, or an errno. It hears no signal. */
int thread_start(pthread_t *thread, void *(*run)(void *data), void *data);

#endif
