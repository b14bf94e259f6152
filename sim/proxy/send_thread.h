/* send_thread.h - a thread that sends to servers what a proxy passes. With many clients at once a
 * sixth of what the loop does is the kernel's work in send() to a server, which it wakes; that can
 * be done beside the loop. What goes to clients does not go this way: a loop that has clients of
 * its own reads it at once.
 *
 * The loop hands over pieces. Those of one socket are sent in the order in which they were handed
 * over, and none behind one that the kernel did not take whole: those come back. Few pieces in one
 * turn of the loop are not worth waking a thread: they are refused, and the loop sends them. */
#ifndef PICKLOCK_PROXY_SEND_THREAD_H
#define PICKLOCK_PROXY_SEND_THREAD_H

#include "base/fail.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

/* What one socket has at the thread. All zero: nothing. */
struct outlet {
    atomic_uint waiting; /* pieces that are not done: then the rest is the thread's */
    bool has_returned;   /* a piece was not taken whole: only then what follows counts */
    int error;           /* of send(), an errno; 0: the socket is full */
    char *left;          /* what was not sent, in order; malloc() */
    size_t left_length;
    struct outlet *next; /* the thread's */
};

struct send_thread;

/* With so few at a time a loop sends all itself. */
enum { SEND_THREAD_FEW = 16 };

/* few: so many pieces of a turn are refused. returned: called in the loop's own turn when something
 * came back; it calls send_thread_settle(), takes what is left, and sets the outlet to zero.
 * FAIL_UNAVAILABLE: there can be no more threads. */
enum fail send_thread_start(struct send_thread **made, uv_loop_t *loop, unsigned few,
                            void (*returned)(struct outlet *outlet), struct failure *failure);
/* All that was handed over is done, and returned() called, before this ends. The loop must turn
 * once more to free it. */
void send_thread_stop(struct send_thread *thread);

/* Copies bytes. false: the loop must send them itself, behind send_thread_settle(). */
bool send_thread_take(struct send_thread *thread, struct outlet *outlet, int descriptor,
                      const char *bytes, size_t length);
/* Waits until all that this outlet was handed is sent or has come back; returned() will not be
 * called for that any more. */
void send_thread_settle(struct send_thread *thread, struct outlet *outlet);

#endif
