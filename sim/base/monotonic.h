/* monotonic.h - the clock that durations and deadlines are taken from: it never steps, and its zero
 * means nothing. Not for what a lock is judged by: worlds have clocks of their own. */
#ifndef PICKLOCK_BASE_MONOTONIC_H
#define PICKLOCK_BASE_MONOTONIC_H

#include <stdint.h>

/* CLOCK_MONOTONIC in microseconds. May be called in a signal handler. */
int64_t monotonic_us(void);

#endif
