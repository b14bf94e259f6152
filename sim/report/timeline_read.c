/* timeline_read.c - picks the events that are worth drawing: all of a directed run, the
 * neighbourhood of the violation in a long one. Keeps a bounded number of events whatever the
 * file's size. */
#include "report/timeline.h"

#include "base/memory.h"
#include "checks/change.h"
#include "history/history.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RING_EVENTS = 1 << 15, /* some seconds of a busy run: longer than a hold and its lease */
    AFTER_EVENTS = 3000,   /* read on behind the violation ... */
    AFTER_DRAWN = 14,      /* ... of which so many of the clients drawn are kept */
    DRAWN_MAX = 150,
    CLIENTS_PICKED_MAX = 4,
};

/* The last events read, in order of index. */
struct ring {
    struct event *events;
    int64_t read; /* so many in all */
};

static const struct event *ring_at(const struct ring *ring, int64_t index)
{
    return &ring->events[index % RING_EVENTS];
}

static int64_t ring_first(const struct ring *ring)
{
    return ring->read > RING_EVENTS ? ring->read - RING_EVENTS : 0;
}

/* Reads until the end, or until enough stands behind the violation; of a history that has no end,
 * as far as it goes. */
static enum fail fill_ring(struct ring *ring, struct history_reader *reader, int64_t first_index,
                           struct failure *failure)
{
    bool is_end = false;
    while (first_index < 1 || ring->read <= first_index + AFTER_EVENTS) {
        struct event event, *place = &ring->events[ring->read % RING_EVENTS];
        enum fail fail = history_reader_next(reader, &event, &is_end, failure);
        if (fail == FAIL_UNKNOWN && first_index > 0 && ring->read > first_index)
            return FAIL_NONE;
        if (fail || is_end)
            return fail;
        event_drop(place);
        *place = event;
        event_keep(place);
        ring->read++;
        if (first_index < 1 && ring->read > TIMELINE_EVENTS_MAX)
            return FAIL_NONE; /* too long, and no place to look at */
    }
    return FAIL_NONE;
}

static void keep(struct timeline *timeline, const struct event *event)
{
    struct event *kept = &timeline->events[timeline->events_count++];
    *kept = *event;
    event_keep(kept);
}

static bool has_client(const struct timeline *timeline, int client)
{
    for (int i = 0; i < timeline->clients_count; i++)
        if (timeline->clients[i] == client)
            return true;
    return false;
}

static void add_client(struct timeline *timeline, int client)
{
    if (client >= 0 && timeline->clients_count < CLIENTS_PICKED_MAX &&
        !has_client(timeline, client))
        timeline->clients[timeline->clients_count++] = client;
}

/* Something that changes who has the lock: a grant, the start of a release, a command that removed
 * a key. */
static bool is_turning_point(const struct event *event)
{
    return (event->kind == EVENT_RETURN && event->result == RESULT_GRANTED) ||
           (event->kind == EVENT_CALL && event->op == OP_RELEASE) ||
           (event->kind == EVENT_EXECUTE && change_on(event, KEY_LOCK).did == DID_DELETED);
}

/* The clients whose turns led to the violation, latest first, and the place where the earliest of
 * their attempts began. */
static int64_t pick_clients(struct timeline *timeline, const struct ring *ring, int lock)
{
    int64_t start = timeline->first_index;
    add_client(timeline, ring_at(ring, timeline->first_index)->client);
    for (int64_t i = timeline->first_index; i >= ring_first(ring); i--) {
        const struct event *event = ring_at(ring, i);
        if (event->lock != lock)
            continue;
        if (is_turning_point(event)) {
            if (timeline->clients_count == CLIENTS_PICKED_MAX &&
                !has_client(timeline, event->client))
                break;
            add_client(timeline, event->client);
        }
        if (event->kind == EVENT_CALL && event->op == OP_ACQUIRE &&
            has_client(timeline, event->client))
            start = i;
        if (timeline->first_index - start > RING_EVENTS / 2)
            break;
    }
    return start;
}

static bool is_drawn(const struct timeline *timeline, const struct event *event, int lock)
{
    if (event->kind == EVENT_TIME)
        return false;
    if (event->client < 0)
        return event->kind == EVENT_FAULT;
    return event->lock == lock && has_client(timeline, event->client);
}

/* The events of the picked clients around the violation; from the end backwards, so that the
 * nearest stay. */
static void keep_part(struct timeline *timeline, const struct ring *ring)
{
    int lock = ring_at(ring, timeline->first_index)->lock;
    int64_t start = pick_clients(timeline, ring, lock);
    int64_t end = timeline->first_index;
    int before = 0, after = 0;
    for (int64_t i = timeline->first_index; i >= start && before < DRAWN_MAX; i--) {
        before += is_drawn(timeline, ring_at(ring, i), lock);
        if (before == DRAWN_MAX)
            start = i;
    }
    for (; end + 1 < ring->read && after < AFTER_DRAWN; end++)
        after += is_drawn(timeline, ring_at(ring, end + 1), lock);
    for (int64_t i = start; i <= end; i++)
        if (is_drawn(timeline, ring_at(ring, i), lock))
            keep(timeline, ring_at(ring, i));
    timeline->is_part = true;
}

/* The head's names belong to the reader: the timeline needs its own. */
static void copy_names(char (**names)[NAME_MAX_BYTES], int clients)
{
    if (!*names)
        return;
    char(*copies)[NAME_MAX_BYTES] = memory_new((size_t)clients, NAME_MAX_BYTES);
    for (int i = 0; i < clients; i++) {
        char *clean = text_clean((*names)[i]);
        snprintf(copies[i], NAME_MAX_BYTES, "%s", clean);
        free(clean);
    }
    *names = copies;
}

/* Fills events, events_count, head, is_part. */
static enum fail timeline_read(struct timeline *timeline, const char *path, bool *is_drawable,
                               struct failure *failure)
{
    struct history_reader *reader;
    enum fail fail = history_reader_new(&reader, path, &timeline->head, failure);
    if (fail) {
        timeline->head.names = timeline->head.processes = NULL;
        return fail;
    }
    copy_names(&timeline->head.names, timeline->head.clients);
    copy_names(&timeline->head.processes, timeline->head.clients);
    struct ring ring = {.events = memory_new(RING_EVENTS, sizeof *ring.events)};
    fail = fill_ring(&ring, reader, timeline->first_index, failure);
    bool is_whole = ring.read <= TIMELINE_EVENTS_MAX && timeline->head.locks <= 1 &&
                    timeline->head.clients <= TIMELINE_CLIENTS_MAX;
    bool has_place = timeline->first_index > 0 && timeline->first_index < ring.read;
    *is_drawable = !fail && (is_whole || has_place);
    timeline->events = memory_new(TIMELINE_EVENTS_MAX, sizeof *timeline->events);
    if (*is_drawable && is_whole) {
        timeline->clients_count = timeline->head.clients;
        for (int i = 0; i < timeline->clients_count; i++)
            timeline->clients[i] = i;
        for (int64_t i = 0; i < ring.read; i++)
            keep(timeline, ring_at(&ring, i));
    } else if (*is_drawable) {
        keep_part(timeline, &ring);
    }
    for (int64_t i = ring_first(&ring); i < ring.read; i++)
        event_drop(&ring.events[i % RING_EVENTS]);
    free(ring.events);
    history_reader_free(reader);
    return fail;
}

enum fail timeline_new(struct timeline **timeline, const char *path, int64_t first_index,
                       struct failure *failure)
{
    bool is_drawable;
    struct timeline *made = memory_new(1, sizeof *made);
    made->first_index = first_index < 1 ? -1 : first_index;
    enum fail fail = timeline_read(made, path, &is_drawable, failure);
    *timeline = NULL;
    if (!fail && is_drawable) {
        timeline_build(made);
        timeline_lay_out(made);
        *timeline = made;
    } else {
        timeline_free(made);
    }
    return fail;
}

void timeline_free(struct timeline *timeline)
{
    if (!timeline)
        return;
    for (int i = 0; i < timeline->events_count; i++)
        event_drop(&timeline->events[i]);
    free(timeline->head.names);
    free(timeline->head.processes);
    free(timeline->events);
    free(timeline->overlaps);
    free(timeline);
}
