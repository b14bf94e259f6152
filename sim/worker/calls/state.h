/* state.h - what the files of this folder share. Private to it. */
#ifndef PICKLOCK_WORKER_CALLS_STATE_H
#define PICKLOCK_WORKER_CALLS_STATE_H

#include "worker/calls/calls.h"
#include "worker/time_rules.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CALLS_ROWS_MAX = 1024, /* descriptors of one poll() */
    CALLS_SOCKETS_MAX = 1024,
    CALLS_TIMERS_MAX = 32,
};

enum held_state {
    HELD_NONE,   /* no such thread */
    HELD_UNBORN, /* made, and has not called yet */
    HELD_RUNS,
    HELD_READY, /* its call is to be answered, with a value or by what it asks for */
    HELD_WAITS,
};

enum held_for {
    FOR_TIME,
    FOR_FUTEX,
    FOR_DESCRIPTORS,
    FOR_OTHERS, /* the housekeeper's turn: behind all others */
};

struct held_thread {
    enum held_state state;
    int32_t tid;
    uint64_t order; /* who is ready first goes on first */
    bool is_housekeeper;
    struct seccomp_notif call;
    /* READY: */
    bool has_value;
    int64_t value;
    /* WAITS: */
    enum held_for wanted;
    int64_t until_us;
    int64_t late; /* its value when the time is over */
    uint64_t futex;
    uint32_t expected, bits;
    struct pollfd *rows; /* descriptors of ours, the same files as the worker's */
    size_t row_count;
    bool is_retried; /* asked again after a wait: its time-out began before */
};

struct held_timer {
    int ours;   /* 1 + our descriptor; 0: none */
    int theirs; /* the worker's number of it */
    clockid_t clock;
    int64_t due_us, interval_us;
};

struct calls {
    int worker, parent, pidfd, listener, bell, tick, signals, memory; /* memory: /proc/PID/mem */
    struct time_page *page;
    struct held_thread threads[TIME_THREADS_MAX];
    struct held_thread *behind_birth; /* its call is answered when the thread that it made calls */
    uint64_t order;
    int sockets[CALLS_SOCKETS_MAX]; /* 1 + ours, of the worker's connections to our ports */
    struct held_timer timers[CALLS_TIMERS_MAX];
    int spins, in_turn; /* reads of the clock: without a wait; without another's turn */
    int64_t creep_from_us, creep_us;
    bool has_begun; /* a program runs, and its vDSO is ours */
    bool is_execing, is_go, has_housekeeper;
    int housekeeping; /* turns that are left before rest */
};

/* What a handler does with a call. */
enum call_fate {
    FATE_VALUE,  /* it is done: thread->value */
    FATE_KERNEL, /* the kernel is to do it: it does not wait there */
    FATE_WAITS,  /* thread->wanted .. late are set */
    FATE_YIELDS, /* as FATE_VALUE, behind the others */
};

/* One call of a thread of the worker. */
typedef enum call_fate call_handler(struct calls *calls, struct held_thread *thread);

struct call_row {
    int number;
    call_handler *handle;
};
extern const struct call_row call_table[];
extern const size_t call_rows;

static inline uint64_t call_argument(const struct held_thread *thread, int number)
{
    return thread->call.data.args[number];
}

static inline enum call_fate call_value(struct held_thread *thread, int64_t value)
{
    thread->value = value;
    return FATE_VALUE;
}

/* The worker's memory. False: there is none at that address. */
bool calls_read(const struct calls *calls, uint64_t from, void *to, size_t size);
bool calls_write(const struct calls *calls, uint64_t to, const void *from, size_t size);

/* A descriptor of the worker's as one of ours; -1: it is none. The caller shuts it. */
int calls_borrow(const struct calls *calls, int descriptor);

/* --- clocks.c --- */
int64_t calls_now_us(struct calls *calls);
void calls_has_waited(struct calls *calls);
/* A struct timespec of the worker's, as the instant when it is over from now on; no address:
 * TIME_NEVER. False: a bad address or a bad amount. */
bool calls_after(struct calls *calls, uint64_t amount, int64_t *until_us);
enum call_fate calls_wait_until(struct held_thread *thread, int64_t until_us, int64_t late);
call_handler on_clock_gettime, on_gettimeofday, on_time, on_nanosleep, on_clock_nanosleep,
    on_sched_yield, on_getrandom;
call_handler on_io_uring_setup; /* there is none here: what it would wait for lasts real time */
/* Random bytes, for a call whose argument of that number is an address, and the next a length. */
enum call_fate draw_random(struct calls *calls, struct held_thread *thread, int address);

/* --- futex.c --- */
call_handler on_futex;
/* A thread has ended: who waited for the kernel to say so looks again. */
void futex_recheck(struct calls *calls);

/* --- waits.c --- */
call_handler on_poll, on_ppoll, on_select, on_pselect6, on_epoll_wait, on_epoll_pwait2,
    on_timerfd_settime;
/* Rings what is due; the earliest instant of the rest. */
int64_t held_timers_next_us(struct calls *calls);
void held_timers_closed(struct calls *calls, int descriptor);
/* Waits for one of ours (taken). */
enum call_fate wait_for_one(struct held_thread *thread, int ours, short events, int64_t until_us,
                            int64_t late);
void wait_rows_shut(struct held_thread *thread);
/* What a poll() or select() of the worker says when its time is over. */
void wait_is_late(struct calls *calls, const struct held_thread *thread);

/* --- sockets.c --- */
call_handler on_connect, on_close, on_read, on_write, on_readv, on_writev, on_recvfrom, on_sendto,
    on_recvmsg;

/* --- births.c --- */
call_handler on_clone, on_clone3, on_fork, on_exec, on_end, on_any;

/* --- vdso.c --- */
/* Another program runs in the worker's process: its vDSO, its random bytes. */
void calls_begin_program(struct calls *calls);

#endif
