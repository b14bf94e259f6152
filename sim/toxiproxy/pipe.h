/* pipe.h - what stands between one stream of a link and its wire: the toxics of that stream, a
 * stage each, in the order in which they were made.
 *
 *   bytes that passed --> [ stage: chunks wait ] --> [ stage ] --> wire
 *
 * A chunk is what came at once, with the instant at which it came. An end is a chunk, too. */
#ifndef PICKLOCK_TOXIPROXY_PIPE_H
#define PICKLOCK_TOXIPROXY_PIPE_H

#include "base/random.h"
#include "toxiproxy/toxic.h"

#include <uv.h>

enum chunk_kind {
    CHUNK_BYTES,
    CHUNK_END,   /* of the stream, as it came */
    CHUNK_CLOSE, /* a toxic closes the link: FIN to both sides */
    CHUNK_RESET, /* a toxic resets it */
};

struct chunk {
    struct chunk *next;
    enum chunk_kind kind;
    int64_t came_us;
    size_t begin, length; /* of bytes: those not gone yet */
    char bytes[];
};

struct pipe_stage {
    struct pipe_stage *next;
    struct pipe *pipe;
    struct toxic *toxic; /* borrowed: its stages go first */
    bool is_struck;      /* else everything passes at once */
    bool is_shut;        /* it closed the link: what comes is thrown away */
    bool has_due;        /* the chunk in hand is timed: goes on at due_us */
    bool has_begun;
    int64_t due_us;  /* INT64_MAX: at no time */
    int64_t owed_us; /* bandwidth: of the chunk in hand, and errors of those before */
    int64_t since_us;
    int64_t passed; /* limit_data: bytes */
    size_t kept;
    struct chunk *first, *last;
    struct random random;
};

struct pipe {
    struct proxy_link *link;
    enum proxy_stream stream;
    uv_timer_t timer;
    struct pipe_stage *stages;
    bool is_over, is_running, runs_again;
};

/* Bytes are drawn by the toxics' seeds and the link's number. */
struct pipe *pipe_new(uv_loop_t *loop, struct proxy_link *link, enum proxy_stream stream);
/* Forgets what it keeps. Takes pipe; its timer is closed in a later turn of the loop. */
void pipe_free(struct pipe *pipe);

void pipe_take(struct pipe *pipe, const char *bytes, size_t length); /* copies if it must */
void pipe_end(struct pipe *pipe);

/* A toxic came, is other than it was, or goes: its chunks go on at once. */
void pipe_add(struct pipe *pipe, struct toxic *toxic);
void pipe_update(struct pipe *pipe, const struct toxic *toxic);
void pipe_remove(struct pipe *pipe, const struct toxic *toxic);
void pipe_clear(struct pipe *pipe); /* forgets stages and chunks: the link is about to be closed */

/* For steps: the first chunk goes on; so many of its bytes do; it is thrown away; behind it, the
 * link is closed. */
bool stage_pass(struct pipe_stage *stage);
void stage_pass_part(struct pipe_stage *stage, size_t length);
bool stage_drop(struct pipe_stage *stage);
bool stage_shut(struct pipe_stage *stage, enum chunk_kind how);

#endif
