/* timers.h - a heap of timers: which one is due next. Knows no clock; times are whatever the caller
 * counts in.
 *
 * Intrusive: a struct timer stands inside the thing that it is for, so that pushing allocates
 * nothing but the heap's own row and a timer can be taken out or moved at once. Equal times ring in
 * the order in which they were pushed. */
#ifndef PICKLOCK_BASE_TIMERS_H
#define PICKLOCK_BASE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer {
    int64_t due_us;
    size_t slot; /* private: 1 + which it has; 0: it is not in */
};

/* Private. What rows are compared by stands in them, and where they are stands in a table, not at
 * their timers, which may be far apart. */
struct timers_row {
    int64_t due_us;
    uint64_t order; /* who was pushed first */
    struct timer *timer;
    size_t slot;
};

struct timers {
    struct timers_row *heap;
    uint32_t *places; /* by slot: which row it is; of a free one: 1 + the next free one */
    size_t count, capacity, slots;
    uint32_t free_slot; /* 1 + the first; 0: all of `slots` are had */
    uint64_t pushed;
};

/* An empty heap (all zero is one too). */
void timers_init(struct timers *timers);

/* Frees the heap's rows; the timers in it are the caller's. */
void timers_close(struct timers *timers);

/* Puts the timer in, or moves it when it is in. The heap keeps timer until it is popped or removed;
 * its members start as zero. */
void timers_push(struct timers *timers, struct timer *timer, int64_t due_us);

/* Takes it out; nothing happens when it is not in. */
void timers_remove(struct timers *timers, struct timer *timer);

/* When the next one is due; INT64_MAX when there is none. */
int64_t timers_next_us(const struct timers *timers);

/* Takes out and returns the earliest timer that is due at now_us, or NULL. */
struct timer *timers_pop(struct timers *timers, int64_t now_us);

static inline bool timer_is_set(const struct timer *timer)
{
    return timer->slot != 0;
}

#endif
