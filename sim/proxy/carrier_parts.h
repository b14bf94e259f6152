/* carrier_parts.h - what carrier.c and carrier_start.c share. Private to them. */
#ifndef PICKLOCK_PROXY_CARRIER_PARTS_H
#define PICKLOCK_PROXY_CARRIER_PARTS_H

#include "proxy/carrier.h"
#include "proxy/internal.h"

enum { CHANNEL_READ_MAX = 256 * 1024 };

struct carried_side {
    struct carrier *carrier;
    struct flow *flow; /* NULL: closed, and its id not yet free */
    side_came *came;
    uint32_t id;
    uint32_t may_read; /* bytes */
    uint32_t sent;     /* bytes that were not said to be written */
    bool reads, is_due;
    int failed;        /* what was sent could not be written: why, as libuv says it; 0: it could */
    int kept_end;      /* while nobody read, its end came, as libuv says it; 0: not */
    uv_write_t *write; /* that is under way, or NULL */
    uv_write_cb wrote;
    struct block kept; /* came while nobody read */
    struct carried_side *due_next;
};

struct unsent_socket {
    uint32_t id;
    int fd; /* ours until it is sent */
};

struct carrier {
    struct carriers *carriers;
    int pid, rows, sockets; /* descriptors of the channels */
    bool has_ended, has_gone_silent;
    bool is_asked; /* and has not answered */
    int silent;    /* for so many ticks since */
    uv_poll_t poll;
    int polled;
    struct block in, out;
    uv_poll_t room;      /* for sockets, while some are ... */
    struct block unsent; /* ... here still, struct unsent_socket: the channel took no more */
    struct carried_side **carried;   /* by id */
    uint32_t count;                  /* ids so far */
    uint32_t *free;                  /* those that are not used */
    uint32_t free_count, held, used; /* used: held, or not yet said to be closed */
};

struct carriers {
    uv_loop_t *loop;
    uv_prepare_t flush;
    uv_idle_t idle; /* while some are due */
    uv_timer_t tick;
    const volatile int *stop;
    struct carried_side *due;
    int count, handles;
    int tick_ms;
    bool is_stopped;
    struct carrier rows[CARRIERS_MAX];
    char bytes[CHANNEL_READ_MAX];
};

/* All that it held is gone, as if it had been reset. */
void carrier_lost(struct carrier *carrier);

/* --- carrier_answers.c: whoever is stopped neither ends nor answers --- */
/* A tick counts where our loop has turned: what kept us, too, is not held against a process. */
enum { CARRIER_TICK_MS = 100, CARRIER_PATIENCE_MS = 5000, CARRIER_HURRIED_MS = 500 };
/* A process is waited for so long, in ticks. */
int carriers_patience(const struct carriers *carriers);
/* Asks every process, now and then; one that says nothing is ended, and all that it held. */
void carriers_ask(uv_timer_t *tick);
/* It said something. */
void carrier_answered(struct carrier *carrier);
void carrier_poll_for(struct carrier *carrier, int events);
/* Rows go to the processes before the loop waits. */
void carriers_flush(uv_prepare_t *flush);

#endif
