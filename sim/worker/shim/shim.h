/* shim.h - what the files of the preloaded library share.
 *
 * Built to picklock-time.so and loaded into every worker; no part of picklock itself. It may call
 * the C library, but never through what it replaces: the kernel is asked directly. */
#ifndef PICKLOCK_WORKER_SHIM_H
#define PICKLOCK_WORKER_SHIM_H

#include "worker/time_page.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* NULL: this process follows none, and all is as without the library. */
extern struct time_page *shim_page;

/* The file of the page, for the FIFOs beside it; of a process that follows none, that of whoever
 * has started it; "": there is none. */
extern char shim_path[TIME_PATH_MAX];

/* Is the wait that has begun to be waited for? Who has a row is woken when its turn has come, also
 * where its time has come meanwhile: one at a time. */
bool shim_is_to_wait(const struct time_thread *row, int64_t until_us);

/* --- threads.c --- */
/* The calling thread's row; makes it one. NULL: there are too many, and this one is not waited for.
 */
struct time_thread *shim_thread(void);
/* There is no thread but the calling one, and there was none. */
bool shim_is_alone(void);
/* The calling thread waits from now on; row may be NULL. */
void shim_begin_wait(struct time_thread *row, enum time_wait wait, int64_t until_us,
                     uint64_t epoch);
/* It runs again: said by itself. */
void shim_end_wait(struct time_thread *row);
/* Said in a signal's handler: the wait for descriptors in the middle of which it runs, if there is
 * one, is over. */
void shim_interrupt_wait(void);
/* The same, said by another thread before that one waits itself. Under the lock of sync.c. */
void shim_resume(struct time_thread *row);
/* Until *wake (of a row) is not seen any more, or a signal comes. */
void shim_futex_wait(_Atomic uint32_t *wake, uint32_t seen);
void shim_futex_wake(_Atomic uint32_t *wake);
/* The descriptor that wakes the calling thread out of a wait for descriptors; -1: none can be had.
 */
int shim_tick_open(struct time_thread *row);

/* Until each thread that was made so far has its row: soon. */
void shim_wait_for_births(void);

/* --- clocks.c --- */
/* World time, as this process sees it: the page's, and what it crept. */
int64_t shim_now_us(void);
/* The same, for a program that asks: counted, and creeps. */
int64_t shim_read_clock(_Atomic uint64_t *count);
/* World time when a time-out from now on is over; rounded up. */
int64_t shim_after(const struct timespec *timeout);
int64_t shim_after_ms(int timeout_ms); /* below 0: TIME_NEVER */
/* World time of an instant of that clock. */
int64_t shim_instant(clockid_t clock, const struct timespec *instant);
/* The calling thread has waited: it does not spin. */
void shim_has_waited(void);
/* Its wait was over before it began: it may. */
void shim_has_not_waited(void);
/* Waits for the time only. False: a signal has come first. */
bool shim_sleep_until(int64_t until_us);

/* --- lock_reads.c --- */
/* The program has read the monotonic clock, and that was counted: where it goes on from there, and
 * on which frame of its stack it does. */
void shim_has_read(const void *place, const void *frame);
/* In the same way: it is about to take a semaphore, and names no time. If it is an interpreter that
 * takes a lock, and has read the clock for that alone, its read does not count. */
void shim_takes_semaphore(const void *place, const void *frame);

/* --- timers.c: timerfd --- */
/* The earliest instant at which one of them is due; rings those that are. */
int64_t shim_timers_next_us(void);
/* It is closed: nothing is due on it. */
void shim_timers_closed(int descriptor);

/* --- descriptors.c --- */
/* Waits until one of them is ready (how many), until_us is over (0), or a signal comes (-1, errno).
 * mask may be NULL. */
int shim_wait(struct pollfd *rows, nfds_t count, int64_t until_us, const sigset_t *mask);
/* The same for one; until_us() is asked only where it is not ready at once. */
int shim_wait_for_one(const struct pollfd *wanted,
                      int64_t (*until_us)(const struct pollfd *wanted));

/* --- sync.c --- */
/* A thread that the program made begins, and ends: pthread_join() waits for that. */
void shim_thread_begins(const struct time_thread *row);
void shim_thread_ends(struct time_thread *row);
void shim_sync_forget(void); /* in a child of fork() */

/* --- opened.c --- */
/* The program has opened a file with these flags; below 0: it has not. Leaves errno as it is. */
void shim_has_opened(int descriptor, int flags);

/* --- random.c --- */
void shim_random_open(void); /* OpenSSL's generator, where the program has it, is ours, too */

/* --- sockets.c --- */
/* Waits until the descriptor, which may block, is ready; false: time is over, or a signal came
 * (errno). */
bool shim_wait_for(int descriptor, short events);
bool shim_is_ours(int descriptor); /* a connection to one of our ports */
void shim_sockets_closed(int descriptor);

/* The bytes that a system call read, on one of our connections. */
static inline void shim_count(_Atomic uint64_t *count, int descriptor, long moved)
{
    if (moved <= 0)
        return;
    shim_has_waited(); /* a program that reads something does not spin */
    if (shim_is_ours(descriptor))
        atomic_fetch_add(count, (uint64_t)moved);
}

#endif
