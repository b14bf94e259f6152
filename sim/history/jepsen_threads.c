/* jepsen_threads.c - see jepsen_threads.h. */
#include "history/jepsen_threads.h"

#include "base/memory.h"

#include <stdlib.h>

static int compare(const void *one, const void *other)
{
    const struct process_time *a = one, *b = other;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* By process; of each the first. */
static void sort(struct process_times *times)
{
    int64_t kept = 0;
    if (times->is_sorted)
        return;
    if (times->count > 0)
        qsort(times->rows, (size_t)times->count, sizeof *times->rows, compare);
    for (int64_t i = 0; i < times->count; i++)
        if (kept == 0 || times->rows[kept - 1].process != times->rows[i].process)
            times->rows[kept++] = times->rows[i];
    times->count = kept;
    times->is_sorted = true;
}

/* A process is noted at each lock that it comes to: before the list grows, each is kept once. */
static void note(struct process_times *times, int64_t process, int64_t at)
{
    if (times->count == times->size) {
        sort(times);
        if (times->count >= times->size / 2) {
            times->size = times->size ? 2 * times->size : 64;
            times->rows = memory_resize(times->rows, (size_t)times->size, sizeof *times->rows);
        }
    }
    times->rows[times->count++] = (struct process_time){.process = process, .at = at};
    times->is_sorted = false;
}

/* When; -1: never. */
static int64_t time_of(const struct process_times *times, int64_t process)
{
    int64_t low = 0, high = times->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (times->rows[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    return low < times->count && times->rows[low].process == process ? times->rows[low].at : -1;
}

/* Largest first: that is where a number that is too small is found out. */
static bool fits(const struct jepsen_threads *threads, int64_t concurrency)
{
    for (int64_t i = threads->begun.count - 1; i >= 0; i--) {
        const struct process_time *begun = &threads->begun.rows[i];
        if (begun->process < concurrency)
            return true;
        int64_t ended = time_of(&threads->ended, begun->process - concurrency);
        if (ended < 0 || ended > begun->at)
            return false;
    }
    return true;
}

void jepsen_threads_begin(struct jepsen_threads *threads, int64_t process)
{
    note(&threads->begun, process, threads->now++);
}

void jepsen_threads_end(struct jepsen_threads *threads, int64_t process)
{
    note(&threads->ended, process, threads->now++);
}

bool jepsen_threads_may_follow(struct jepsen_threads *threads, int64_t process, int64_t *before)
{
    sort(&threads->begun);
    sort(&threads->ended);
    if (threads->concurrency) {
        *before = process - threads->concurrency;
        return *before >= 0 && time_of(&threads->ended, *before) >= 0;
    }
    for (int64_t i = 0; i < threads->ended.count; i++) {
        *before = threads->ended.rows[i].process;
        if (*before >= process)
            return false;
        if (fits(threads, process - *before))
            return true;
    }
    return false;
}

void jepsen_threads_close(struct jepsen_threads *threads)
{
    free(threads->begun.rows);
    free(threads->ended.rows);
}
