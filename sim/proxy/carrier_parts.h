/* carrier_parts.h - what carrier.c and carrier_start.c share. Private to them. */
#ifndef PICKLOCK_PROXY_CARRIER_PARTS_H
#define PICKLOCK_PROXY_CARRIER_PARTS_H

#include "proxy/carrier.h"
#include "proxy/internal.h"

enum { CHANNEL_READ_MAX = 256 * 1024 };

struct carried_side {
    struct carrier *carrier;
    struct carried_side *due_next;
    uint32_t id;
    uv_stream_t *stream; /* NULL: closed, and its id not yet free */
    uv_read_cb came;
    uv_write_t *write; /* that is under way, or NULL */
    uv_write_cb wrote;
    bool reads, may_read, is_due;
    struct block kept; /* came while nobody read: one read */
    int kept_end;      /* so did its end, as libuv says it; 0: not */
};

struct carrier {
    struct carriers *carriers;
    int pid, rows, sockets; /* descriptors of the channels */
    bool has_ended;
    uv_poll_t poll;
    int polled;
    struct block in, out;
    struct carried_side **carried;   /* by id */
    uint32_t count;                  /* ids so far */
    uint32_t *free;                  /* those that are not used */
    uint32_t free_count, held, used; /* used: held, or not yet said to be closed */
};

struct carriers {
    uv_loop_t *loop;
    uv_prepare_t flush;
    uv_idle_t idle; /* while some are due */
    struct carried_side *due;
    int count, handles;
    bool is_stopped;
    struct carrier rows[CARRIERS_MAX];
    char bytes[CHANNEL_READ_MAX];
};

/* All that it held is gone, as if it had been reset. */
void carrier_lost(struct carrier *carrier);
void carrier_poll_for(struct carrier *carrier, int events);
/* Rows go to the processes before the loop waits. */
void carriers_flush(uv_prepare_t *flush);

#endif
