/* pipe.c - see pipe.h. */
#include "toxiproxy/pipe.h"

#include "base/memory.h"
#include "base/monotonic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void pipe_run(struct pipe *pipe);

static void on_timer(uv_timer_t *timer)
{
    pipe_run(timer->data);
}

struct pipe *pipe_new(uv_loop_t *loop, struct proxy_link *link, enum proxy_stream stream)
{
    struct pipe *pipe = memory_new(1, sizeof *pipe);
    pipe->link = link;
    pipe->stream = stream;
    int error = uv_timer_init(loop, &pipe->timer);
    assert(!error);
    pipe->timer.data = pipe;
    return pipe;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void stage_free(struct pipe_stage *stage)
{
    while (stage->first)
        stage_drop(stage);
    free(stage);
}

void pipe_clear(struct pipe *pipe)
{
    pipe->is_over = true;
    while (pipe->stages) {
        struct pipe_stage *stage = pipe->stages;
        pipe->stages = stage->next;
        stage_free(stage);
    }
}

void pipe_free(struct pipe *pipe)
{
    pipe_clear(pipe);
    uv_close((uv_handle_t *)&pipe->timer, on_closed);
}

/* --- chunks --- */

static struct chunk *chunk_new(enum chunk_kind kind, int64_t came_us, const char *bytes,
                               size_t length)
{
    struct chunk *chunk = memory_new(1, sizeof *chunk + length);
    chunk->kind = kind;
    chunk->came_us = came_us;
    chunk->length = length;
    if (length)
        memcpy(chunk->bytes, bytes, length);
    return chunk;
}

static void push(struct pipe_stage *stage, struct chunk *chunk)
{
    chunk->next = NULL;
    if (stage->last)
        stage->last->next = chunk;
    else
        stage->first = chunk;
    stage->last = chunk;
    stage->kept += chunk->length;
}

static struct chunk *pop(struct pipe_stage *stage)
{
    struct chunk *chunk = stage->first;
    stage->first = chunk->next;
    if (!stage->first)
        stage->last = NULL;
    stage->kept -= chunk->length;
    stage->has_due = false;
    return chunk;
}

/* Takes chunk. */
static void to_wire(struct pipe *pipe, struct chunk *chunk)
{
    switch (chunk->kind) {
    case CHUNK_BYTES:
        proxy_link_write(pipe->link, pipe->stream, chunk->bytes + chunk->begin, chunk->length);
        break;
    case CHUNK_END:
        proxy_link_let_end(pipe->link, pipe->stream);
        break;
    case CHUNK_CLOSE:
        proxy_link_cut(pipe->link, PROXY_FIN);
        break;
    case CHUNK_RESET:
        proxy_link_reset(pipe->link);
        break;
    }
    free(chunk);
}

/* Takes chunk. */
static void hand_on(struct pipe_stage *stage, struct chunk *chunk)
{
    if (stage->next)
        push(stage->next, chunk);
    else
        to_wire(stage->pipe, chunk);
}

bool stage_pass(struct pipe_stage *stage)
{
    hand_on(stage, pop(stage));
    return true;
}

void stage_pass_part(struct pipe_stage *stage, size_t length)
{
    struct chunk *chunk = stage->first;
    assert(length < chunk->length);
    hand_on(stage, chunk_new(CHUNK_BYTES, chunk->came_us, chunk->bytes + chunk->begin, length));
    chunk->begin += length;
    chunk->length -= length;
    stage->kept -= length;
}

bool stage_drop(struct pipe_stage *stage)
{
    free(pop(stage));
    return true;
}

bool stage_shut(struct pipe_stage *stage, enum chunk_kind how)
{
    stage->is_shut = true;
    while (stage->first)
        stage_drop(stage);
    hand_on(stage, chunk_new(how, monotonic_us(), NULL, 0));
    return true;
}

/* --- running --- */

static void stage_run(struct pipe_stage *stage, int64_t now_us)
{
    stage->due_us = INT64_MAX;
    for (;;) {
        if (stage->is_shut) {
            while (stage->first)
                stage_drop(stage);
            return;
        }
        struct chunk *first = stage->first;
        bool is_toxic = stage->is_struck && (!first || first->kind <= CHUNK_END);
        if (!first && !is_toxic)
            return;
        if (!(is_toxic ? stage->toxic->type->step(stage, first, now_us) : stage_pass(stage)))
            return;
    }
}

static bool has_room(const struct pipe *pipe)
{
    for (const struct pipe_stage *stage = pipe->stages; stage; stage = stage->next)
        if (stage->kept >= stage->toxic->type->keeps)
            return false;
    return true;
}

static void set_timer(struct pipe *pipe, int64_t now_us)
{
    int64_t due_us = INT64_MAX;
    for (const struct pipe_stage *stage = pipe->stages; stage; stage = stage->next)
        if (stage->due_us < due_us)
            due_us = stage->due_us;
    if (due_us == INT64_MAX) {
        uv_timer_stop(&pipe->timer);
        return;
    }
    uint64_t ms = due_us <= now_us ? 0 : (uint64_t)(due_us - now_us + 999) / 1000;
    uv_update_time(pipe->timer.loop);
    int error = uv_timer_start(&pipe->timer, on_timer, ms, 0);
    assert(!error);
}

/* Stages only hand on: once over all of them, from the first to the last, is enough. */
static void pipe_run(struct pipe *pipe)
{
    if (pipe->is_running) {
        pipe->runs_again = true;
        return;
    }
    pipe->is_running = true;
    int64_t now_us;
    do {
        pipe->runs_again = false;
        now_us = monotonic_us();
        for (struct pipe_stage *stage = pipe->stages; stage; stage = stage->next)
            stage_run(stage, now_us);
    } while (pipe->runs_again);
    if (!pipe->is_over) {
        set_timer(pipe, now_us);
        proxy_link_room(pipe->link, pipe->stream, has_room(pipe));
    }
    pipe->is_running = false;
}

/* Takes chunk. */
static void enter(struct pipe *pipe, struct chunk *chunk)
{
    if (pipe->stages) {
        push(pipe->stages, chunk);
        pipe_run(pipe);
    } else {
        to_wire(pipe, chunk);
    }
}

void pipe_take(struct pipe *pipe, const char *bytes, size_t length)
{
    if (pipe->is_over)
        return;
    if (pipe->stages)
        enter(pipe, chunk_new(CHUNK_BYTES, monotonic_us(), bytes, length));
    else
        proxy_link_write(pipe->link, pipe->stream, bytes, length);
}

void pipe_end(struct pipe *pipe)
{
    if (!pipe->is_over)
        enter(pipe, chunk_new(CHUNK_END, monotonic_us(), NULL, 0));
}

/* --- toxics come and go --- */

static struct pipe_stage **find(struct pipe *pipe, const struct toxic *toxic)
{
    struct pipe_stage **at = &pipe->stages;
    while (*at && (*at)->toxic != toxic)
        at = &(*at)->next;
    return at;
}

void pipe_add(struct pipe *pipe, struct toxic *toxic)
{
    struct pipe_stage *stage = memory_new(1, sizeof *stage);
    uint64_t number = proxy_link_number(pipe->link);
    if (toxic->stream != pipe->stream || pipe->is_over) {
        free(stage);
        return;
    }
    stage->pipe = pipe;
    stage->toxic = toxic;
    stage->due_us = INT64_MAX;
    stage->since_us = monotonic_us();
    stage->is_struck = toxic_strikes(toxic, number);
    stage->random = (struct random){.seed = toxic->seed, .stream = number};
    *find(pipe, NULL) = stage; /* behind the last */
    pipe_run(pipe);
}

/* The one in hand goes on at once, as far as it was only late. */
static void let_go(struct pipe_stage *stage)
{
    bool is_late_only = stage->toxic->type != toxic_type_of("reset_peer");
    if (stage->is_struck && stage->has_due && stage->first && is_late_only)
        stage_pass(stage);
    stage->has_due = stage->has_begun = false;
    stage->owed_us = 0;
    stage->since_us = monotonic_us();
}

void pipe_update(struct pipe *pipe, const struct toxic *toxic)
{
    struct pipe_stage *stage = *find(pipe, toxic);
    if (!stage || pipe->is_over)
        return;
    let_go(stage);
    stage->is_struck = toxic_strikes(toxic, proxy_link_number(pipe->link));
    pipe_run(pipe);
}

/* One that threw bytes away leaves a stream with a hole: that link is closed. */
void pipe_remove(struct pipe *pipe, const struct toxic *toxic)
{
    struct pipe_stage **at = find(pipe, toxic), *stage = *at;
    if (!stage || pipe->is_over)
        return;
    if (stage->is_struck && !stage->is_shut && toxic->type == toxic_type_of("timeout"))
        stage_shut(stage, CHUNK_CLOSE);
    while (stage->first)
        stage_pass(stage);
    *at = stage->next;
    stage_free(stage);
    pipe_run(pipe);
}
