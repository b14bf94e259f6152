/* timers.c - see timers.h. A binary heap in an array; the parent of row i is row (i - 1) / 2. */
#include "base/timers.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

enum { ROWS_FIRST = 64 };

void timers_init(struct timers *timers)
{
    *timers = (struct timers){0};
}

void timers_close(struct timers *timers)
{
    free(timers->heap);
    *timers = (struct timers){0};
}

static bool is_before(const struct timers_row *a, const struct timers_row *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void put(struct timers *timers, size_t at, struct timers_row row)
{
    timers->heap[at] = row;
    row.timer->place = at + 1;
}

/* Finds the place for row from the hole at `at` upwards. */
static void rise(struct timers *timers, size_t at, struct timers_row row)
{
    while (at > 0 && is_before(&row, &timers->heap[(at - 1) / 2])) {
        put(timers, at, timers->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(timers, at, row);
}

/* Finds the place for row from the hole at `at` downwards. */
static void sink(struct timers *timers, size_t at, struct timers_row row)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= timers->count)
            break;
        if (child + 1 < timers->count && is_before(&timers->heap[child + 1], &timers->heap[child]))
            child++;
        if (is_before(&row, &timers->heap[child]))
            break;
        put(timers, at, timers->heap[child]);
        at = child;
    }
    put(timers, at, row);
}

void timers_push(struct timers *timers, struct timer *timer, int64_t due_us)
{
    timers_remove(timers, timer);
    if (timers->count == timers->capacity) {
        timers->capacity = timers->capacity ? 2 * timers->capacity : ROWS_FIRST;
        timers->heap = memory_resize(timers->heap, timers->capacity, sizeof *timers->heap);
    }
    timer->due_us = due_us;
    rise(timers, timers->count++,
         (struct timers_row){.due_us = due_us, .order = timers->pushed++, .timer = timer});
}

void timers_remove(struct timers *timers, struct timer *timer)
{
    if (!timer_is_set(timer))
        return;
    size_t at = timer->place - 1;
    assert(at < timers->count && timers->heap[at].timer == timer);
    const struct timers_row last = timers->heap[--timers->count];
    timer->place = 0;
    if (last.timer == timer)
        return;
    if (at > 0 && is_before(&last, &timers->heap[(at - 1) / 2]))
        rise(timers, at, last);
    else
        sink(timers, at, last);
}

int64_t timers_next_us(const struct timers *timers)
{
    return timers->count ? timers->heap[0].due_us : INT64_MAX;
}

struct timer *timers_pop(struct timers *timers, int64_t now_us)
{
    if (timers_next_us(timers) > now_us || timers->count == 0)
        return NULL;
    struct timer *first = timers->heap[0].timer;
    timers_remove(timers, first);
    return first;
}
