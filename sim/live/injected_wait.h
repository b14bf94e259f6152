/* injected_wait.h - how long faults keep a client of a free run waiting: while it is stalled or
 * dead, or waits for a command that a fault holds back. Several at a time count once. What takes
 * long for another reason (the machine, a queue, a new connection) is not counted. */
#ifndef PICKLOCK_LIVE_INJECTED_WAIT_H
#define PICKLOCK_LIVE_INJECTED_WAIT_H

#include <stdint.h>

struct injected_wait {
    int reasons; /* that it has to wait now */
    int64_t since_us, total_us;
};

/* One reason more, and one that was given before less. */
void injected_wait_begins(struct injected_wait *wait, int64_t now_us);
void injected_wait_ends(struct injected_wait *wait, int64_t now_us);

/* So long up to now. */
int64_t injected_wait_us(const struct injected_wait *wait, int64_t now_us);

#endif
