/* timekeeper.h - the time of a worker process, from outside: its page (time_page.h), moved and
 * read.
 *
 * Single-threaded; never blocks but where it says so. */
#ifndef PICKLOCK_WORKER_TIMEKEEPER_H
#define PICKLOCK_WORKER_TIMEKEEPER_H

#include "base/fail.h"
#include "worker/time_page.h"

#include <stdbool.h>
#include <stddef.h>

struct timekeeper {
    struct time_page *page;
    char path[TIME_PATH_MAX - 16]; /* of the page */
    int bell;                      /* readable: the last thread has begun to wait, some time */
    int ticks[TIME_THREADS_MAX];   /* 1 + the descriptor of a thread's FIFO; 0: not opened yet */
    uint64_t crept_us;             /* in all, when its time was moved last */
};

/* Makes the file path (borrowed; must not exist yet) and the bell beside it, at world time now_us.
 * seed: of what the worker takes for random. FAIL_UNAVAILABLE: why not. */
enum fail timekeeper_open(struct timekeeper *timekeeper, const char *path, int64_t now_us,
                          uint64_t seed, struct failure *failure);

/* Unmaps and closes; the files stay until their folder goes. */
void timekeeper_shut(struct timekeeper *timekeeper);

/* The worker may connect to that port of 127.0.0.1. Before it starts; at most TIME_PORTS_MAX. */
void timekeeper_allow_port(struct timekeeper *timekeeper, int port);

/* Moves the worker's time. Who is due is woken when it is waited for rest: what was written to it
 * until then is there first, as for a process that stood still. */
void timekeeper_set_now(struct timekeeper *timekeeper, int64_t now_us);

/* How far its clock has crept by itself since then (counts.creep_us): time that passes for nobody
 * else. */
int64_t timekeeper_crept_us(const struct timekeeper *timekeeper);

/* Behind anything that was written to one of its descriptors: its threads look again. */
void timekeeper_look_again(struct timekeeper *timekeeper);

/* Does it follow the page, and does no thread run, and is none about to? Wakes those that have not
 * looked since timekeeper_look_again(). */
bool timekeeper_is_at_rest(struct timekeeper *timekeeper);

/* At rest: when the next of its threads goes on by itself; TIME_NEVER. */
int64_t timekeeper_next_us(const struct timekeeper *timekeeper);

/* Empties the bell. */
void timekeeper_hush(const struct timekeeper *timekeeper);

/* Blocks until it is at rest, for at most limit_ms of real time. False: it is not. */
bool timekeeper_wait_for_rest(struct timekeeper *timekeeper, int limit_ms);

/* What its threads do, in words, for somebody whose worker does not come to rest: "thread 123 runs,
 * thread 124 sleeps until 300.0 ms". At most size bytes; returns text. */
const char *timekeeper_describe(const struct timekeeper *timekeeper, char *text, size_t size);

#endif
