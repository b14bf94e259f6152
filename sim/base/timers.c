/* timers.c - see timers.h. A heap of four children a row in an array: half as many rows move as
 * with two. The parent of row i is row (i - 1) / 4. */
#include "base/timers.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

enum { ROWS_FIRST = 64, CHILDREN = 4 };

void timers_init(struct timers *timers)
{
    *timers = (struct timers){0};
}

void timers_close(struct timers *timers)
{
    free(timers->heap);
    free(timers->places);
    *timers = (struct timers){0};
}

static bool is_before(const struct timers_row *a, const struct timers_row *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void put(struct timers *timers, size_t at, struct timers_row row)
{
    timers->heap[at] = row;
    timers->places[row.slot] = (uint32_t)at;
}

/* Finds the place for row from the hole at `at` upwards. */
static void rise(struct timers *timers, size_t at, struct timers_row row)
{
    while (at > 0 && is_before(&row, &timers->heap[(at - 1) / CHILDREN])) {
        put(timers, at, timers->heap[(at - 1) / CHILDREN]);
        at = (at - 1) / CHILDREN;
    }
    put(timers, at, row);
}

/* Finds the place for row from the hole at `at` downwards. */
static void sink(struct timers *timers, size_t at, struct timers_row row)
{
    for (;;) {
        const size_t begin = CHILDREN * at + 1, most = begin + CHILDREN;
        const size_t end = most < timers->count ? most : timers->count;
        size_t first = begin;
        if (begin >= end)
            break;
        for (size_t child = begin + 1; child < end; child++)
            if (is_before(&timers->heap[child], &timers->heap[first]))
                first = child;
        if (is_before(&row, &timers->heap[first]))
            break;
        put(timers, at, timers->heap[first]);
        at = first;
    }
    put(timers, at, row);
}

static size_t take_slot(struct timers *timers)
{
    if (!timers->free_slot)
        return timers->slots++;
    const size_t slot = timers->free_slot - 1;
    timers->free_slot = timers->places[slot];
    return slot;
}

static void give_slot(struct timers *timers, size_t slot)
{
    timers->places[slot] = timers->free_slot;
    timers->free_slot = (uint32_t)slot + 1;
}

void timers_push(struct timers *timers, struct timer *timer, int64_t due_us)
{
    timers_remove(timers, timer);
    if (timers->count == timers->capacity) {
        timers->capacity = timers->capacity ? 2 * timers->capacity : ROWS_FIRST;
        assert(timers->capacity < UINT32_MAX);
        timers->heap = memory_resize(timers->heap, timers->capacity, sizeof *timers->heap);
        timers->places = memory_resize(timers->places, timers->capacity, sizeof *timers->places);
    }
    const size_t slot = take_slot(timers);
    timer->due_us = due_us;
    timer->slot = slot + 1;
    rise(timers, timers->count++,
         (struct timers_row){
             .due_us = due_us, .order = timers->pushed++, .timer = timer, .slot = slot});
}

void timers_remove(struct timers *timers, struct timer *timer)
{
    if (!timer_is_set(timer))
        return;
    const size_t slot = timer->slot - 1, at = timers->places[slot];
    assert(at < timers->count && timers->heap[at].timer == timer);
    const struct timers_row last = timers->heap[--timers->count];
    give_slot(timers, slot);
    timer->slot = 0;
    if (last.timer == timer)
        return;
    if (at > 0 && is_before(&last, &timers->heap[(at - 1) / CHILDREN]))
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
