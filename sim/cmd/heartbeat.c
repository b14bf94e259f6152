/* heartbeat.c - see heartbeat.h. Off a terminal a thread prints, since who does the work may wait
 * for a worker that does not answer. */
#include "cmd/heartbeat.h"

#include "base/monotonic.h"
#include "report/text.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { EVERY_S = 5, SECOND_US = 1000000 };

static struct {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ends;
    bool is_terminal, has_thread, is_over;
    char *words;
} heartbeat = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *beat(void *unused)
{
    const int64_t now_us = monotonic_us();
    struct timespec next = {.tv_sec = now_us / SECOND_US, .tv_nsec = now_us % SECOND_US * 1000};
    (void)unused;
    pthread_mutex_lock(&heartbeat.mutex);
    while (!heartbeat.is_over) {
        next.tv_sec += EVERY_S;
        while (!heartbeat.is_over &&
               pthread_cond_timedwait(&heartbeat.ends, &heartbeat.mutex, &next) == 0)
            ;
        if (!heartbeat.is_over && heartbeat.words && *heartbeat.words)
            fprintf(stderr, "%s\n", heartbeat.words);
    }
    pthread_mutex_unlock(&heartbeat.mutex);
    return NULL;
}

/* Signals are for the main thread: what it waits in is to end. Without a thread there is no line.
 */
void heartbeat_begin(void)
{
    sigset_t all, before;
    pthread_condattr_t attributes;
    heartbeat.is_over = false;
    heartbeat.is_terminal = isatty(STDERR_FILENO);
    if (heartbeat.is_terminal)
        return;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&heartbeat.ends, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    heartbeat.has_thread = pthread_create(&heartbeat.thread, NULL, beat, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void heartbeat_say(const char *format, ...)
{
    char *words;
    va_list values;
    va_start(values, format);
    const bool is_made = vasprintf(&words, format, values) >= 0;
    va_end(values);
    if (!is_made)
        return;
    char *clean = text_clean(words);
    free(words);
    if (heartbeat.is_terminal)
        fprintf(stderr, "\r\033[K%s", clean);
    pthread_mutex_lock(&heartbeat.mutex);
    free(heartbeat.words);
    heartbeat.words = clean;
    pthread_mutex_unlock(&heartbeat.mutex);
}

void heartbeat_end(void)
{
    if (heartbeat.is_terminal)
        fprintf(stderr, "\r\033[K");
    pthread_mutex_lock(&heartbeat.mutex);
    heartbeat.is_over = true;
    free(heartbeat.words);
    heartbeat.words = NULL;
    if (heartbeat.has_thread)
        pthread_cond_signal(&heartbeat.ends);
    pthread_mutex_unlock(&heartbeat.mutex);
    if (heartbeat.has_thread) {
        pthread_join(heartbeat.thread, NULL);
        pthread_cond_destroy(&heartbeat.ends);
    }
    heartbeat.has_thread = false;
}
