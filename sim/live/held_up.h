/* held_up.h - how long this process held up the clients of a free run, whose commands go through
 * it: all the time in which its loop did not wait for somebody else. A loop that is at work lets
 * wait what has come meanwhile, and one that wakes later than it wanted was stopped, or had to wait
 * for a processor. Nothing of that is the clients' doing, nor a fault that was asked for. */
#ifndef PICKLOCK_LIVE_HELD_UP_H
#define PICKLOCK_LIVE_HELD_UP_H

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

#endif
