/* steering.h - the time of a worker process, from outside: its page (time_page.h), moved and read.
 *
 * Single-threaded; never blocks but where it says so. */
#ifndef PICKLOCK_WORKER_STEERING_H
#define PICKLOCK_WORKER_STEERING_H

#include "base/fail.h"
#include "worker/time_page.h"

#include <stdbool.h>
#include <stddef.h>

struct steering {
    struct time_page *page;
    char path[TIME_PATH_MAX - 16]; /* of the page */
    int bell;                      /* readable: the last thread has begun to wait, some time */
    int ticks[TIME_THREADS_MAX];   /* 1 + the descriptor of a thread's FIFO; 0: not opened yet */
};

/* Makes the file path (borrowed; must not exist yet) and the bell beside it, at world time now_us.
 * seed: of what the worker takes for random. FAIL_UNAVAILABLE: why not. */
enum fail steering_open(struct steering *steering, const char *path, int64_t now_us, uint64_t seed,
                        struct failure *failure);

/* Unmaps and closes; the files stay until their folder goes. */
void steering_shut(struct steering *steering);

/* The worker may connect to that port of 127.0.0.1. Before it starts; at most TIME_PORTS_MAX. */
void steering_allow_port(struct steering *steering, int port);

/* Moves the worker's time, and wakes whoever is due. */
void steering_set_now(struct steering *steering, int64_t now_us);

/* Behind anything that was written to one of its descriptors: its threads look again. */
void steering_look_again(struct steering *steering);

/* Does it follow the page, and does no thread run, and is none about to? Wakes those that have not
 * looked since steering_look_again(). */
bool steering_is_at_rest(struct steering *steering);

/* At rest: when the next of its threads goes on by itself; TIME_NEVER. */
int64_t steering_next_us(const struct steering *steering);

/* Empties the bell. */
void steering_hush(const struct steering *steering);

/* Blocks until it is at rest, for at most limit_ms of real time. False: it is not. */
bool steering_wait_for_rest(struct steering *steering, int limit_ms);

/* What its threads do, in words, for somebody whose worker does not come to rest: "thread 123 runs,
 * thread 124 sleeps until 300.0 ms". At most size bytes; returns text. */
const char *steering_describe(const struct steering *steering, char *text, size_t size);

#endif
