/* held_up.h - how long this process held up the clients of a free run, whose commands go through
 * it: all the time in which its loop did not wait for somebody else. A loop that is at work lets
 * wait what has come meanwhile, and one that wakes later than it wanted was stopped, or had to wait
 * for a processor. Nothing of that is the clients' doing, nor a fault that was asked for. And how
 * long that, and queues of ours, kept each client waiting. */
#ifndef PICKLOCK_LIVE_HELD_UP_H
#define PICKLOCK_LIVE_HELD_UP_H

#include "live/injected_wait.h"

#include <stdint.h>
#include <uv.h>

struct held_up {
    const uv_loop_t *loop; /* kept */
    int64_t began_us;      /* of monotonic_us() */
    int64_t waited_us;     /* for others, in turns of the loop that are over */
    int64_t idle_us;       /* the loop's, when this turn began; */
    int64_t may_us;        /* it may wait so long in this one */
};

/* Before the loop turns. */
void held_up_begin(struct held_up *held_up, uv_loop_t *loop);
/* A turn begins that is to wait for so long at most. 0: who owes us something is ours, too. */
void held_up_turn(struct held_up *held_up, int64_t may_us);
/* So long up to now. */
int64_t held_up_us(const struct held_up *held_up);

/* How long we kept a client waiting since it called acquire. */
struct own_delay {
    int queued;                /* commands of its in a queue of ours now */
    int64_t since_us, held_us; /* total_us counts up to then, and to that of held_up_us() */
    int64_t total_us;
    int64_t told_us; /* of that, in the history */
};

/* Up to now. What a fault keeps waiting at the same time is the fault's. What waits in a queue of
 * ours does so all the time. */
void own_delay_count(struct own_delay *own, const struct injected_wait *wait,
                     const struct held_up *held_up, int64_t now_us);
/* It calls acquire: counts from here on. */
void own_delay_begins(struct own_delay *own, const struct injected_wait *wait,
                      const struct held_up *held_up, int64_t now_us);
/* A fault keeps it waiting, maybe one more; that one does no longer. Where the timer that ends it
 * rang late, the rest of it is ours. */
void own_delay_wait_begins(struct own_delay *own, struct injected_wait *wait,
                           const struct held_up *held_up, int64_t now_us);
void own_delay_wait_ends(struct own_delay *own, struct injected_wait *wait,
                         const struct held_up *held_up, int64_t now_us, int64_t rings_late_us);

#endif
