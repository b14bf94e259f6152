/* steps.c - what each type of toxic does with the first chunk that waits. Instants are the loop's
 * monotonic microseconds. */
#include "toxiproxy/pipe.h"

#include "base/names.h"

#include <assert.h>

enum {
    KEEPS_LITTLE = 64 * 1024,
    KEEPS_MUCH = 32 * 1024 * 1024,
    SLICE_MS = 100, /* of bandwidth: what passes in so long is one piece */
};

static const int64_t us_of_ms = 1000;

/* Milliseconds as somebody said them, so that sums of some do not overflow. */
static int64_t bounded(int64_t ms)
{
    const int64_t most_ms = INT64_MAX / 4000;
    return ms > most_ms ? most_ms : ms < -most_ms ? -most_ms : ms;
}

/* In microseconds; never before now. */
static int64_t after(int64_t now_us, int64_t ms)
{
    return ms <= 0 ? now_us : now_us + bounded(ms) * us_of_ms;
}

/* Is it time? Sets what the stage waits for. */
static bool is_due(struct pipe_stage *stage, int64_t at_us, int64_t now_us)
{
    if (!stage->has_due)
        stage->since_us = at_us;
    stage->has_due = true;
    stage->due_us = stage->since_us;
    return now_us >= stage->since_us;
}

static bool step_noop(struct pipe_stage *stage, struct chunk *first, int64_t now_us)
{
    (void)now_us;
    return first && stage_pass(stage);
}

/* No stage of a pipe: see redis_toxic.h. */
static bool step_redis(struct pipe_stage *stage, struct chunk *first, int64_t now_us)
{
    return step_noop(stage, first, now_us);
}

static bool step_latency(struct pipe_stage *stage, struct chunk *first, int64_t now_us)
{
    const int64_t *values = stage->toxic->values;
    if (!first)
        return false;
    if (first->kind == CHUNK_END)
        return stage_pass(stage);
    int64_t at_us = stage->has_due
                        ? stage->since_us
                        : after(first->came_us,
                                bounded(values[0]) + random_about_zero(&stage->random, values[1]));
    if (!is_due(stage, at_us, now_us))
        return false;
    first->came_us = at_us; /* the next latency counts from here */
    stage->due_us = INT64_MAX;
    return stage_pass(stage);
}

/* So many bytes at this rate, in kB a second. */
static int64_t time_of(size_t bytes, int64_t rate)
{
    return (int64_t)bytes * us_of_ms / rate;
}

static bool step_bandwidth(struct pipe_stage *stage, struct chunk *first, int64_t now_us)
{
    int64_t rate = stage->toxic->values[0];
    if (!first)
        return false;
    if (first->kind == CHUNK_END)
        return stage_pass(stage);
    if (rate <= 0)
        return false;
    if (!stage->has_begun)
        stage->owed_us += time_of(first->length, rate);
    stage->has_begun = true;
    bool is_part =
        rate <= (int64_t)first->length / SLICE_MS && rate * SLICE_MS < (int64_t)first->length;
    int64_t wait_us = is_part ? SLICE_MS * us_of_ms : stage->owed_us;
    if (!is_due(stage, now_us + wait_us, now_us))
        return false;
    /* Later than it was due: so much earlier the next may go. */
    stage->owed_us -= wait_us + (now_us - stage->since_us);
    stage->has_due = false;
    stage->due_us = INT64_MAX;
    if (is_part) {
        stage_pass_part(stage, (size_t)(rate * SLICE_MS));
        return true;
    }
    stage->has_begun = false;
    return stage_pass(stage);
}

static bool step_slow_close(struct pipe_stage *stage, struct chunk *first, int64_t now_us)
{
    if (!first)
        return false;
    if (first->kind == CHUNK_END && !is_due(stage, after(now_us, stage->toxic->values[0]), now_us))
        return false;
    stage->due_us = INT64_MAX;
    return stage_pass(stage);
}

static bool step_timeout(struct pipe_stage *stage, struct chunk *first, int64_t now_us)
{
    int64_t timeout_ms = stage->toxic->values[0];
    if (first) {
        if (first->kind == CHUNK_BYTES)
            stage->since_us = now_us;
        return stage_drop(stage);
    }
    if (timeout_ms <= 0)
        return false;
    stage->due_us = after(stage->since_us, timeout_ms);
    if (now_us < stage->due_us)
        return false;
    stage->due_us = INT64_MAX;
    return stage_shut(stage, CHUNK_CLOSE);
}

static bool step_reset_peer(struct pipe_stage *stage, struct chunk *first, int64_t now_us)
{
    if (!first || !is_due(stage, after(now_us, stage->toxic->values[0]), now_us))
        return false;
    stage->due_us = INT64_MAX;
    return stage_shut(stage, CHUNK_RESET);
}

/* The first piece of so many bytes: halved, about, until it is small enough. */
static size_t piece_of(struct pipe_stage *stage, size_t length)
{
    int64_t average = stage->toxic->values[0], variation = stage->toxic->values[1];
    if (average < 1)
        average = 1; /* nobody can mean pieces without bytes */
    if (variation < 0)
        variation = 0;
    while (length > 1 && (int64_t)length - average > variation) {
        int64_t most = (int64_t)length / 4;
        int64_t half = (int64_t)length / 2 +
                       random_about_zero(&stage->random, variation < most ? variation : most);
        length = half < 1 ? 1 : (size_t)half;
    }
    return length;
}

static bool step_slicer(struct pipe_stage *stage, struct chunk *first, int64_t now_us)
{
    if (!first)
        return false;
    if (stage->has_due && !is_due(stage, 0, now_us))
        return false;
    int64_t delay_us = stage->toxic->values[2],
            since_us = stage->has_due ? stage->since_us : now_us;
    stage->has_due = false;
    stage->due_us = INT64_MAX;
    size_t piece = first->kind == CHUNK_END ? 0 : piece_of(stage, first->length);
    if (first->kind == CHUNK_END || piece >= first->length)
        return stage_pass(stage);
    stage_pass_part(stage, piece);
    if (delay_us > 0)
        return is_due(stage, since_us + (delay_us < INT64_MAX / 2 ? delay_us : INT64_MAX / 2),
                      now_us);
    return true;
}

static bool step_limit_data(struct pipe_stage *stage, struct chunk *first, int64_t now_us)
{
    (void)now_us;
    int64_t left = stage->toxic->values[0] - stage->passed;
    if (!first)
        return false;
    if (first->kind == CHUNK_END)
        return stage_pass(stage);
    if (left > (int64_t)first->length) {
        stage->passed += (int64_t)first->length;
        return stage_pass(stage);
    }
    stage->passed += left > 0 ? left : 0;
    if (left == (int64_t)first->length)
        stage_pass(stage);
    else if (left > 0)
        stage_pass_part(stage, (size_t)left);
    return stage_shut(stage, CHUNK_CLOSE);
}

const struct toxic_type toxic_types[] = {
#define TOXIC(id, name, keeps, first, second, third, words)                                        \
    {name, keeps, {first, second, third}, words, step_##id},
#include "toxiproxy/toxics.def"
#undef TOXIC
};

const struct toxic_type *toxic_type_of(const char *name)
{
    int row = names_row(&toxic_types[0].name, sizeof *toxic_types,
                        sizeof toxic_types / sizeof *toxic_types, name);
    return row < 0 ? NULL : &toxic_types[row];
}
