/* stepping.c - see stepping.h. */
#include "world/stepping.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Of a thread; those that come behind the last share one, of which nothing is told. */
enum { THREADS_MAX = 256 };

static struct thread {
    _Atomic(const struct scheme *) scheme; /* whose step it is in */
    _Atomic uint64_t steps;                /* it has begun */
    uint64_t seen;                         /* of these, when somebody asked last */
} threads[THREADS_MAX + 1];
static atomic_int threads_count;
static _Thread_local struct thread *own;
static void (*on_thread)(void);

void stepping_on_thread(void (*begin)(void))
{
    on_thread = begin;
}

static struct thread *thread_new(void)
{
    if (on_thread)
        on_thread();
    const int number = atomic_fetch_add(&threads_count, 1);
    return &threads[number < THREADS_MAX ? number : THREADS_MAX];
}

void stepping_begin(const struct scheme *scheme)
{
    if (!own)
        own = thread_new();
    const uint64_t steps = atomic_load_explicit(&own->steps, memory_order_relaxed);
    atomic_store_explicit(&own->steps, steps + 1, memory_order_relaxed);
    atomic_store_explicit(&own->scheme, scheme, memory_order_relaxed);
}

void stepping_end(void)
{
    atomic_store_explicit(&own->scheme, NULL, memory_order_relaxed);
}

const struct scheme *stepping_here(void)
{
    return own ? atomic_load_explicit(&own->scheme, memory_order_relaxed) : NULL;
}

const struct scheme *stepping_still(void)
{
    const struct scheme *still = NULL;
    for (int i = 0; i < THREADS_MAX; i++) {
        const struct scheme *scheme = atomic_load(&threads[i].scheme);
        const uint64_t steps = atomic_load(&threads[i].steps);
        if (scheme && steps == threads[i].seen)
            still = scheme;
        threads[i].seen = steps;
    }
    return still;
}
