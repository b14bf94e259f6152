/* trace.h - the events of one run, kept, and whether two of them say the same. */
#ifndef PICKLOCK_TEST_TRACE_H
#define PICKLOCK_TEST_TRACE_H

#include "base/memory.h"
#include "history/event.h"

#include <string.h>

/* The events of one run. */
struct event_trace {
    struct event *events;
    size_t count, capacity;
};

static inline void trace_take(void *context, const struct event *event)
{
    struct event_trace *trace = context;
    if (trace->count == trace->capacity) {
        trace->capacity = trace->capacity ? 2 * trace->capacity : 64;
        trace->events = memory_resize(trace->events, trace->capacity, sizeof *trace->events);
    }
    trace->events[trace->count++] = *event;
}

static inline bool trace_is_same(const struct event *a, const struct event *b)
{
    return a->index == b->index && a->time_us == b->time_us && a->from_us == b->from_us &&
           a->kind == b->kind && a->client == b->client && a->server == b->server &&
           a->lock == b->lock && a->attempt == b->attempt && a->op == b->op && a->lane == b->lane &&
           a->command.verb == b->command.verb && a->command.key == b->command.key &&
           a->command.value == b->command.value && a->command.number == b->command.number &&
           a->command.ttl_us == b->command.ttl_us && a->reply.kind == b->reply.kind &&
           a->reply.error == b->reply.error && a->reply.value == b->reply.value &&
           a->reply.second == b->reply.second && a->result == b->result && a->token == b->token &&
           a->fence == b->fence && a->amount_us == b->amount_us && a->fault == b->fault;
}

#endif
