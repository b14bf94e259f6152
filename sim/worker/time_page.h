/* time_page.h - the virtual time of one worker process: a shared page that it lives by.
 *
 * The page is a small file that both sides map. The library preloaded into the worker (shim/, built
 * to picklock-time.so) answers every clock from it, and turns every wait into one that ends when
 * the page says so; for a program that nothing can be preloaded into, the supervisor beside it does
 * that (calls/), and looks like one thread. We move the time (timekeeper.h), and read what the
 * threads wait for.
 *
 * At rest means: no thread runs, and none is about to. A thread that waits for another one of its
 * process is counted as running again by whoever wakes it, before that one waits itself; so
 * `running` is exact for them. A thread that waits for a descriptor is woken by the kernel, and
 * shows that a little later: so whoever has written to a descriptor raises the epoch *behind* it
 * and wakes these threads; each reads the epoch, looks at its descriptors, and only then waits with
 * that epoch. */
#ifndef PICKLOCK_WORKER_TIME_PAGE_H
#define PICKLOCK_WORKER_TIME_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

/* The environment variable that names the file of the page. Beside it lie the worker's bell
 * (PAGE.bell, a FIFO: a byte comes when the last thread begins to wait), and a FIFO for each thread
 * that waits for descriptors (PAGE.N, made by the thread: a byte makes it look again). */
#define TIME_VARIABLE "PICKLOCK_TIME"

/* World time 0 on the worker's monotonic clock: not 0, which programs take for "never", and where
 * numbers in floating point lie equally close for the next 2^20 s. A worker that reckons with them
 * is off by as much in every run, which begins at a whole second: otherwise a timer would ring a
 * microsecond sooner in one run than in another. */
#define TIME_MONOTONIC_US ((INT64_C(1) << 20) * 1000000)

#define TIME_NEVER INT64_MAX

/* The log of files that workers open, in the folder of their session. */
#define OPENED_LOG "opened"

enum { TIME_THREADS_MAX = 128, TIME_PORTS_MAX = 16, TIME_WORDS_MAX = 80, TIME_PATH_MAX = 1024 };

/* Node.js reads the monotonic clock for itself, and its program does: the program's reads are told
 * by a module that it loads first (node/picklock-clocks.js), which asks for the priority of process
 * TIME_TELLS + one of these, getpriority(2). There is no such process: above PID_MAX_LIMIT. */
#define TIME_TELLS 0x70630000U
enum time_told {
    TIME_TOLD_READ,  /* the program has read that clock */
    TIME_TELLS_READ, /* the module is there: each such read is told from now on */
    /* but for those that come by here: */
    TIME_UNTOLD_NATIVE,
    TIME_UNTOLD_ENTRIES,
    TIME_UNTOLD_EVENT,
    TIME_UNTOLD_THREAD,
    TIME_UNTOLD_WASI,
    TIME_TOLD_COUNT
};

enum time_wait {
    TIME_RUNS,        /* or there is no such thread */
    TIME_SLEEPS,      /* for the time only */
    TIME_WAITS,       /* for another thread of its process, or the time */
    TIME_DESCRIPTORS, /* for a descriptor, or the time */
};

struct time_thread {
    _Atomic int32_t tid;      /* 0: none */
    _Atomic uint32_t wait;    /* enum time_wait */
    _Atomic uint32_t wake;    /* a futex: raised by whoever wakes it */
    _Atomic uint64_t epoch;   /* DESCRIPTORS: read before it looked at them */
    _Atomic int64_t until_us; /* world time; TIME_NEVER */
    /* Bytes of its FIFO: counted before they are written, and behind their reading. Where both are
     * the same, nothing is in it, and nobody need ask the kernel. */
    _Atomic uint64_t ticks_given, ticks_taken;
};

/* What the worker has done so far, told in counts. */
struct time_counts {
    _Atomic uint64_t monotonic_reads, wall_reads; /* of clocks */
    _Atomic uint64_t unused_reads; /* of the monotonic one, and nothing came of them */
    _Atomic uint64_t told_reads;   /* of the monotonic clock: what is told of them, */
    _Atomic uint32_t tells_reads;  /* whether it is, */
    _Atomic uint32_t untold;     /* and what is not: an enum time_told, the first one; 0: all is */
    _Atomic uint64_t wall_waits; /* until an instant of the wall clock */
    _Atomic uint64_t random_reads;
    _Atomic uint64_t received, sent; /* bytes on connections to our ports */
    _Atomic uint64_t connections;    /* that were tried to our ports, */
    _Atomic uint64_t closed;         /* and sockets of those that it has closed */
    _Atomic uint64_t creep_us;  /* the clock went on by itself before a program that spins on it */
    _Atomic uint32_t children;  /* processes that it has started: their time is not steered */
    _Atomic uint32_t refused;   /* connections to anywhere else */
    _Atomic uint32_t unsteered; /* clocks that it has used, and that nobody steers */
};

struct time_page {
    _Atomic int64_t now_us;         /* world time */
    _Atomic int64_t wall_offset_us; /* the jumps of its wall clock so far */
    _Atomic uint64_t epoch;         /* from 1 */
    _Atomic int32_t pid; /* who follows it: the last program that was run in the worker's process */
    _Atomic int32_t is_answered;   /* its calls are answered from outside: no library is in it */
    _Atomic int32_t running;       /* threads */
    _Atomic int32_t last_row;      /* none behind it has ever been taken */
    _Atomic uint32_t changes;      /* goes up with each beginning and end of a wait */
    uint64_t seed;                 /* of what the worker takes for random, */
    _Atomic uint64_t drawn, uuids; /* and how much of it was drawn */
    int32_t ports[TIME_PORTS_MAX]; /* on 127.0.0.1, where it may connect to; 0: none */
    struct time_counts counts;
    char refused[TIME_WORDS_MAX];   /* the first address that was refused; whole when counts.refused
                                       is not 0 */
    char unsteered[TIME_WORDS_MAX]; /* the first of those, in the same way */
    struct time_thread threads[TIME_THREADS_MAX];
};

#endif
