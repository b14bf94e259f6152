/* lock_reads.c - reads of the monotonic clock that nothing comes of. See shim.h.
 *
 * CPython (3.11 and later) works out a deadline whenever it takes a lock, also where it waits for
 * the lock without an end, or not at all: it reads the clock, and calls sem_wait() or
 * sem_trywait(). Only where it calls sem_clockwait() is the deadline used, and that counts as a
 * read of its own (sync.c). Such a read is known by three things: the interpreter itself made it,
 * and the next thing that it does is to take a semaphore, in the same call of the same function.
 * The interpreter is the object that has PyThread_acquire_lock_timed(). Where its compiler has put
 * the two calls into different functions, each read counts.
 *
 * Source: PyThread_acquire_lock_timed() in Python/thread_pthread.h of CPython. */
#include "worker/shim/shim.h"

#include <dlfcn.h>

enum {
    FUNCTION_SIZE = 1024, /* of what the two calls stand in, at most */
    PLACES = 64           /* that are remembered */
};

static _Thread_local struct {
    uintptr_t place, frame; /* of the last read; place 0: none */
} last;

/* Places of the interpreter, by their addresses. */
static _Atomic uintptr_t known[PLACES];

static bool is_in_interpreter(uintptr_t place)
{
    _Atomic uintptr_t *row = &known[place % PLACES];
    Dl_info here, interpreter;
    if (atomic_load(row) == place)
        return true;
    const void *locks = dlsym(RTLD_DEFAULT, "PyThread_acquire_lock_timed");
    const bool is_in = locks && dladdr(locks, &interpreter) && dladdr((const void *)place, &here) &&
                       here.dli_fbase == interpreter.dli_fbase;
    if (is_in)
        atomic_store(row, place);
    return is_in;
}

void shim_has_read(const void *place, const void *frame)
{
    last.place = (uintptr_t)place;
    last.frame = (uintptr_t)frame;
}

void shim_takes_semaphore(const void *place, const void *frame)
{
    const uintptr_t here = (uintptr_t)place, read = last.place;
    const uintptr_t apart = here > read ? here - read : read - here;
    last.place = 0;
    if (!read || last.frame != (uintptr_t)frame || apart >= FUNCTION_SIZE ||
        !is_in_interpreter(here))
        return;
    atomic_fetch_sub(&shim_page->counts.monotonic_reads, 1);
    atomic_fetch_add(&shim_page->counts.unused_reads, 1);
}
