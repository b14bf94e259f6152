/* sink_thread.c - see sink_thread.h. Events go over in batches, so that neither thread has to wake
 * the other one, or to lock, for each of them. */
#include "history/sink_thread.h"

#include "base/memory.h"
#include "base/thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { BATCHES = 4, BATCH_EVENTS = SINK_THREAD_AHEAD_MAX / BATCHES };

/* Batch n is batches[n % BATCHES]: it is filled until it is given, and is the thread's until it is
 * taken. */
struct sink_thread {
    struct event_sink to;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t was_given, was_taken;
    unsigned given, taken; /* batches so far; only who gives counts `given` */
    bool is_over;
    struct event_batch {
        int count;
        struct event events[BATCH_EVENTS];
    } batches[BATCHES];
};

/* --- the thread --- */

static void pass_on(const struct event_sink *to, struct event_batch *batch)
{
    for (int i = 0; i < batch->count; i++) {
        to->take(to->context, &batch->events[i]);
        event_drop(&batch->events[i]);
    }
    batch->count = 0;
}

static void *take_batches(void *context)
{
    struct sink_thread *thread = context;
    pthread_mutex_lock(&thread->mutex);
    for (;;) {
        while (thread->taken == thread->given && !thread->is_over)
            pthread_cond_wait(&thread->was_given, &thread->mutex);
        if (thread->taken == thread->given)
            break;
        struct event_batch *batch = &thread->batches[thread->taken % BATCHES];
        pthread_mutex_unlock(&thread->mutex);
        pass_on(&thread->to, batch);
        pthread_mutex_lock(&thread->mutex);
        thread->taken++;
        pthread_cond_signal(&thread->was_taken);
    }
    pthread_mutex_unlock(&thread->mutex);
    return NULL;
}

/* --- whoever gives --- */

static struct event_batch *filled(struct sink_thread *thread)
{
    return &thread->batches[thread->given % BATCHES];
}

/* Returns when at most so many batches are still to be taken. */
static void give_batch(struct sink_thread *thread, unsigned left_max)
{
    pthread_mutex_lock(&thread->mutex);
    thread->given += filled(thread)->count > 0;
    pthread_cond_signal(&thread->was_given);
    while (thread->given - thread->taken > left_max)
        pthread_cond_wait(&thread->was_taken, &thread->mutex);
    pthread_mutex_unlock(&thread->mutex);
}

static void give(void *context, const struct event *event)
{
    struct sink_thread *thread = context;
    struct event_batch *batch = filled(thread);
    struct event *kept = &batch->events[batch->count++];
    *kept = *event;
    event_keep(kept);
    if (batch->count == BATCH_EVENTS)
        give_batch(thread, BATCHES - 1);
}

struct event_sink sink_thread_sink(struct sink_thread *thread)
{
    return (struct event_sink){.take = give, .context = thread};
}

void sink_thread_settle(struct sink_thread *thread)
{
    if (thread)
        give_batch(thread, 0);
}

/* --- begin, end --- */

struct sink_thread *sink_thread_new(struct event_sink to)
{
    struct sink_thread *thread = memory_new(1, sizeof *thread);
    thread->to = to;
    pthread_mutex_init(&thread->mutex, NULL);
    pthread_cond_init(&thread->was_given, NULL);
    pthread_cond_init(&thread->was_taken, NULL);
    if (!thread_start(&thread->thread, take_batches, thread))
        return thread;
    free(thread);
    return NULL;
}

void sink_thread_free(struct sink_thread *thread)
{
    if (!thread)
        return;
    sink_thread_settle(thread);
    pthread_mutex_lock(&thread->mutex);
    thread->is_over = true;
    pthread_cond_signal(&thread->was_given);
    pthread_mutex_unlock(&thread->mutex);
    const int error = pthread_join(thread->thread, NULL);
    assert(!error);
    pthread_cond_destroy(&thread->was_given);
    pthread_cond_destroy(&thread->was_taken);
    pthread_mutex_destroy(&thread->mutex);
    free(thread);
}
