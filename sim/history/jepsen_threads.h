/* jepsen_threads.h - which process of a Jepsen history may go on for which. Private to this folder.
 *
 * A thread whose process p ends in :info goes on as process p + concurrency. Where the concurrency
 * is not known, it may be every number that fits all processes: each beyond it follows one that had
 * ended when it began. */
#ifndef PICKLOCK_HISTORY_JEPSEN_THREADS_H
#define PICKLOCK_HISTORY_JEPSEN_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* {.concurrency} before the first; owns its lists. */
struct jepsen_threads {
    int64_t concurrency; /* 0: not known */
    int64_t now;
    struct process_times {
        struct process_time {
            int64_t process, at;
        } * rows;
        int64_t count, size;
        bool is_sorted;
    } begun, ended;
};

/* In the order of the history. A process may begin more than once: the first counts. */
void jepsen_threads_begin(struct jepsen_threads *threads, int64_t process);
void jepsen_threads_end(struct jepsen_threads *threads, int64_t process);

/* After all of these. *before: whom it may go on for. */
bool jepsen_threads_may_follow(struct jepsen_threads *threads, int64_t process, int64_t *before);

void jepsen_threads_close(struct jepsen_threads *threads);

#endif
