/* sync.c - waiting for another thread: condition variables, semaphores, the end of a thread.
 *
 * The waiters stand in one list, oldest first, each with what it waits for. Whoever wakes one takes
 * it out of the list and counts it as running before it goes on itself, so that a process never
 * seems to be at rest while a wake-up is on its way. The objects themselves keep the layout of the
 * C library: what is not replaced here (init, destroy, sem_getvalue) goes on working.
 *
 * Sources: pthread_cond_timedwait(3), sem_wait(3), POSIX 2024 (clockwait); nptl of glibc 2.36. */
#include "worker/shim/shim.h"

#include "worker/time_rules.h"

#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct waiter {
    struct waiter *next;
    const void *object;
    struct time_thread *row;
    struct time_thread spare; /* where the page has no room for the thread */
    bool is_woken;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiter *first;
static pthread_t threads[TIME_THREADS_MAX]; /* of the rows, for pthread_join() */
static bool has_thread[TIME_THREADS_MAX];

void shim_sync_forget(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    first = NULL;
}

static void append(struct waiter *waiter)
{
    struct waiter **end = &first;
    while (*end)
        end = &(*end)->next;
    *end = waiter;
}

static bool take_out(const struct waiter *waiter)
{
    for (struct waiter **at = &first; *at; at = &(*at)->next)
        if (*at == waiter) {
            *at = waiter->next;
            return true;
        }
    return false;
}

static void enter(struct waiter *waiter, const void *object)
{
    *waiter = (struct waiter){.object = object, .row = shim_thread()};
    append(waiter);
}

/* The oldest that waits for the object runs again. Under the lock. */
static bool wake_one(const void *object)
{
    for (struct waiter *waiter = first; waiter; waiter = waiter->next) {
        if (waiter->object != object)
            continue;
        struct time_thread *row = waiter->row;
        (void)take_out(waiter);
        if (row)
            shim_resume(row);
        else
            row = &waiter->spare;
        waiter->is_woken = true;
        shim_futex_wake(&row->wake);
        return true;
    }
    return false;
}

/* The waiter is in the list, the lock is held; it is not when this returns. ETIMEDOUT, or 0. */
static int wait_for_it(struct waiter *waiter, int64_t until_us)
{
    struct time_thread *row = waiter->row;
    _Atomic uint32_t *wake = row ? &row->wake : &waiter->spare.wake;
    bool is_late = false;
    if (shim_now_us() >= until_us)
        shim_has_not_waited();
    while (!waiter->is_woken && !(is_late = shim_now_us() >= until_us)) {
        uint32_t seen = atomic_load(wake);
        shim_begin_wait(row, TIME_WAITS, until_us, 0);
        (void)pthread_mutex_unlock(&lock);
        if (shim_is_to_wait(row, until_us))
            shim_futex_wait(wake, seen);
        (void)pthread_mutex_lock(&lock);
        if (!waiter->is_woken)
            shim_end_wait(row);
    }
    if (!waiter->is_woken)
        (void)take_out(waiter);
    (void)pthread_mutex_unlock(&lock);
    return waiter->is_woken ? 0 : ETIMEDOUT;
}

/* --- condition variables --- */

/* Threads of the JVM that look now and then (every 5 s, every 60 s) whether there is something to
 * tidy, to no effect on the program. As timers of the worker's they would always run, and be due at
 * another time in each run. By their names, as the kernel cuts them. Source: OpenJDK 17,
 * CleanerImpl, WatcherThread, MonitorDeflationThread. */
static bool is_housekeeper(void)
{
    static const char *const names[] = {"Common-Cleaner", "VM Periodic Tas", "Monitor Deflati"};
    char name[16]; /* prctl(2) */
    bool is_one = false;
    if (prctl(PR_GET_NAME, name) != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_one |= strcmp(name, names[i]) == 0;
    return is_one;
}

static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us)
{
    struct waiter waiter;
    (void)pthread_mutex_lock(&lock);
    enter(&waiter, cond);
    int error = pthread_mutex_unlock(mutex);
    if (error) {
        (void)take_out(&waiter);
        (void)pthread_mutex_unlock(&lock);
        return error;
    }
    if (until_us != TIME_NEVER && is_housekeeper())
        until_us = TIME_NEVER;
    int ended = wait_for_it(&waiter, until_us);
    error = pthread_mutex_lock(mutex);
    return error ? error : ended;
}

/* Which clock its instants are of: pthread_condattr_setclock(), as glibc keeps it. */
static clockid_t cond_clock(const pthread_cond_t *cond)
{
    return cond->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

typedef int wait_function(pthread_cond_t *cond, pthread_mutex_t *mutex);
typedef int timed_function(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until);
typedef int clock_function(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until);
typedef int wake_function(pthread_cond_t *cond);

/* What the C library would do: for a process that follows no page. */
#define REAL(type, name) ((type *)(uintptr_t)dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2"))

int pthread_cond_wait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex)
{
    if (!shim_page)
        return REAL(wait_function, "pthread_cond_wait")(cond, mutex);
    return cond_wait(cond, mutex, TIME_NEVER);
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    if (!shim_page)
        return REAL(timed_function, "pthread_cond_timedwait")(cond, mutex, until);
    return cond_wait(cond, mutex, shim_instant(cond_clock(cond), until));
}

int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           clockid_t clock, const struct timespec *restrict until)
{
    if (!shim_page) {
        clock_function *real =
            (clock_function *)(uintptr_t)dlsym(RTLD_NEXT, "pthread_cond_clockwait");
        return real(cond, mutex, clock, until);
    }
    return cond_wait(cond, mutex, shim_instant(clock, until));
}

int pthread_cond_signal(pthread_cond_t *cond)
{
    if (!shim_page)
        return REAL(wake_function, "pthread_cond_signal")(cond);
    (void)pthread_mutex_lock(&lock);
    (void)wake_one(cond);
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
    if (!shim_page)
        return REAL(wake_function, "pthread_cond_broadcast")(cond);
    (void)pthread_mutex_lock(&lock);
    while (wake_one(cond))
        ;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

/* --- semaphores --- */

/* The count: the lower half of glibc's first word. Nobody ever waits in glibc's own way, so the
 * upper half stays 0. */
static _Atomic uint64_t *sem_word(sem_t *semaphore)
{
    return (_Atomic uint64_t *)(void *)semaphore;
}

static bool sem_take(sem_t *semaphore)
{
    uint64_t count = atomic_load(sem_word(semaphore));
    while (count & UINT32_MAX)
        if (atomic_compare_exchange_strong(sem_word(semaphore), &count, count - 1))
            return true;
    return false;
}

static int sem_wait_until(sem_t *semaphore, int64_t until_us)
{
    struct waiter waiter;
    (void)pthread_mutex_lock(&lock);
    if (sem_take(semaphore)) {
        (void)pthread_mutex_unlock(&lock);
        return 0;
    }
    enter(&waiter, semaphore);
    errno = wait_for_it(&waiter, until_us);
    return errno ? -1 : 0;
}

typedef int sem_function(sem_t *semaphore);
typedef int sem_timed_function(sem_t *semaphore, const struct timespec *until);
typedef int sem_clock_function(sem_t *semaphore, clockid_t clock, const struct timespec *until);

#define REAL_SEM(type, name) ((type *)(uintptr_t)dlsym(RTLD_NEXT, name))

int sem_wait(sem_t *semaphore)
{
    if (!shim_page)
        return REAL_SEM(sem_function, "sem_wait")(semaphore);
    shim_takes_semaphore(__builtin_return_address(0), __builtin_dwarf_cfa());
    return sem_wait_until(semaphore, TIME_NEVER);
}

int sem_trywait(sem_t *semaphore)
{
    if (!shim_page)
        return REAL_SEM(sem_function, "sem_trywait")(semaphore);
    shim_takes_semaphore(__builtin_return_address(0), __builtin_dwarf_cfa());
    if (sem_take(semaphore))
        return 0;
    errno = EAGAIN;
    return -1;
}

/* Whoever names an instant has read that clock. */
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    if (!shim_page)
        return REAL_SEM(sem_timed_function, "sem_timedwait")(semaphore, until);
    atomic_fetch_add(&shim_page->counts.wall_reads, 1);
    return sem_wait_until(semaphore, shim_instant(CLOCK_REALTIME, until));
}

int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until)
{
    if (!shim_page)
        return REAL_SEM(sem_clock_function, "sem_clockwait")(semaphore, clock, until);
    atomic_fetch_add(time_is_wall(clock) ? &shim_page->counts.wall_reads
                                         : &shim_page->counts.monotonic_reads,
                     1);
    return sem_wait_until(semaphore, shim_instant(clock, until));
}

int sem_post(sem_t *semaphore)
{
    if (!shim_page)
        return REAL_SEM(sem_function, "sem_post")(semaphore);
    (void)pthread_mutex_lock(&lock);
    if (!wake_one(semaphore))
        atomic_fetch_add(sem_word(semaphore), 1);
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

/* --- the end of a thread --- */

void shim_thread_begins(const struct time_thread *row)
{
    const size_t number = (size_t)(row - shim_page->threads);
    (void)pthread_mutex_lock(&lock);
    threads[number] = pthread_self();
    has_thread[number] = true;
    (void)pthread_mutex_unlock(&lock);
}

void shim_thread_ends(struct time_thread *row)
{
    const size_t number = (size_t)(row - shim_page->threads);
    (void)pthread_mutex_lock(&lock);
    has_thread[number] = false;
    while (wake_one(&threads[number]))
        ;
    (void)pthread_mutex_unlock(&lock);
}

/* Until its destructors run; what is left of it then takes no time. */
static void wait_for_thread(pthread_t thread)
{
    struct waiter waiter;
    shim_wait_for_births();
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < TIME_THREADS_MAX; i++) {
        if (!has_thread[i] || !pthread_equal(threads[i], thread))
            continue;
        enter(&waiter, &threads[i]);
        (void)wait_for_it(&waiter, TIME_NEVER);
        return;
    }
    (void)pthread_mutex_unlock(&lock);
}

typedef int join_function(pthread_t thread, void **result);

int pthread_join(pthread_t thread, void **result)
{
    join_function *real = (join_function *)(uintptr_t)dlsym(RTLD_NEXT, "pthread_join");
    if (shim_page)
        wait_for_thread(thread);
    return real(thread, result);
}
