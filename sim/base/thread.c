/* thread.c - see thread.h. */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

int thread_start(pthread_t *thread, void *(*run)(void *data), void *data)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, run, data);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
