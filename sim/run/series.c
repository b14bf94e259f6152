/* series.c - see series.h. */
#include "run/series.h"

#include "base/histogram.h"
#include "base/memory.h"
#include "base/usage.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PART_US = 100000 };

struct series_recorder {
    struct series made;
    const struct checks *checks;
    int64_t violations;             /* that were counted */
    int64_t holders, held_until_us; /* so many held a lock then, counted up to then */
    struct histogram waits[SERIES_PARTS_MAX];
    struct series_client {
        int64_t called_us, granted_us; /* -1: not */
    } clients[];
};

struct series_recorder *series_recorder_new(int clients, const struct checks *checks)
{
    struct series_recorder *made =
        memory_new(1, sizeof *made + (size_t)clients * sizeof *made->clients);
    made->checks = checks;
    made->made.part_us = FIRST_PART_US;
    for (int i = 0; i < clients; i++)
        made->clients[i] = (struct series_client){-1, -1};
    return made;
}

void series_recorder_free(struct series_recorder *recorder)
{
    free(recorder);
}

bool series_has_holds(const struct series *series)
{
    for (int i = 0; i < series->parts_count; i++)
        if (series->holders[i])
            return true;
    return false;
}

int series_step(int64_t us)
{
    const int step = us < 1 ? 0 : 63 - __builtin_clzll((unsigned long long)us);
    return step < SERIES_STEPS ? step : SERIES_STEPS - 1;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void join_parts(struct series_recorder *recorder)
{
    struct series *made = &recorder->made;
    for (int i = 0; i < SERIES_PARTS_MAX / 2; i++) {
        struct series_part one = made->parts[2 * i], other = made->parts[2 * i + 1];
#define PART(name, member) one.member += other.member;
#include "run/series.def"
#undef PART
        made->parts[i] = one;
        made->memory_kb[i] = larger(made->memory_kb[2 * i], made->memory_kb[2 * i + 1]);
        made->holders[i] = larger(made->holders[2 * i], made->holders[2 * i + 1]);
        made->held_us[i] = made->held_us[2 * i] + made->held_us[2 * i + 1];
        if (i > 0)
            recorder->waits[i] = recorder->waits[2 * i];
        histogram_join(&recorder->waits[i], &recorder->waits[2 * i + 1]);
    }
    const size_t half = SERIES_PARTS_MAX / 2;
    memset(&made->parts[half], 0, half * sizeof *made->parts);
    memset(&recorder->waits[half], 0, half * sizeof *recorder->waits);
    memset(&made->memory_kb[half], 0, half * sizeof *made->memory_kb);
    memset(&made->holders[half], 0, half * sizeof *made->holders);
    memset(&made->held_us[half], 0, half * sizeof *made->held_us);
    made->parts_count = (made->parts_count + 1) / 2; /* there may be none yet at the end */
    made->part_us *= 2;
}

static int64_t violations_of(const struct checks *checks)
{
    int64_t count = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        count += checks_so_far(checks, (enum property)i)->count;
    return count;
}

/* Those that were found since belong to the part that was the last one until now. */
static void count_violations(struct series_recorder *recorder)
{
    const int64_t count = violations_of(recorder->checks);
    if (recorder->made.parts_count > 0)
        recorder->made.parts[recorder->made.parts_count - 1].violations +=
            count - recorder->violations;
    recorder->violations = count;
}

/* At the beginning of a part, and at the end of the run: reading it costs too much for each event.
 */
static void note_memory(struct series *made, int at)
{
    made->memory_kb[at] = larger(made->memory_kb[at], usage_memory_kb());
}

static int part_at(struct series_recorder *recorder, int64_t time_us)
{
    struct series *made = &recorder->made;
    if (time_us / made->part_us >= made->parts_count)
        count_violations(recorder);
    while (time_us / made->part_us >= SERIES_PARTS_MAX)
        join_parts(recorder);
    const int at = (int)(time_us / made->part_us);
    for (; at >= made->parts_count; made->parts_count++)
        note_memory(made, made->parts_count);
    return at;
}

/* Who held a lock until now did so in each part since; at: that of now, the last one. */
static void count_holds(struct series_recorder *recorder, int at, int64_t now_us)
{
    struct series *made = &recorder->made;
    int64_t since_us = recorder->held_until_us;
    for (int i = (int)(since_us / made->part_us); recorder->holders && i < at; i++) {
        const int64_t end_us = (i + 1) * made->part_us;
        made->held_us[i] += recorder->holders * (end_us - since_us);
        made->holders[i + 1] = larger(made->holders[i + 1], recorder->holders);
        since_us = end_us;
    }
    if (now_us > since_us)
        made->held_us[at] += recorder->holders * (now_us - since_us);
    recorder->held_until_us = larger(now_us, recorder->held_until_us);
    recorder->holders = checks_holders(recorder->checks);
    made->holders[at] = larger(made->holders[at], recorder->holders);
}

void series_event(struct series_recorder *recorder, const struct event *event)
{
    const int64_t now_us = larger(0, event->time_us);
    const int at = part_at(recorder, now_us);
    count_holds(recorder, at, now_us);
    struct series_part *part = &recorder->made.parts[at];
    struct series_client *client = event->client >= 0 ? &recorder->clients[event->client] : NULL;
    part->faults += event->kind == EVENT_FAULT && fault_is_strike(event->fault);
    if (!client)
        return;
    if (event->kind == EVENT_CALL && event->op == OP_ACQUIRE)
        client->called_us = event->time_us;
    if (event->kind == EVENT_CALL && event->op == OP_RELEASE && client->granted_us >= 0) {
        recorder->made.holds[series_step(event->time_us - client->granted_us)]++;
        client->granted_us = -1;
    }
    if (event->kind != EVENT_RETURN)
        return;
    part->operations++;
    if (event->op != OP_ACQUIRE || client->called_us < 0)
        return;
    const int64_t wait_us = event->time_us - client->called_us;
    client->called_us = -1;
    histogram_add(&recorder->waits[at], wait_us);
    recorder->made.waits[series_step(wait_us)]++;
    if (event->result == RESULT_GRANTED) {
        part->grants++;
        client->granted_us = event->time_us;
    }
}

void series_fill(struct series_recorder *recorder, struct series *series)
{
    count_violations(recorder);
    if (recorder->made.parts_count > 0)
        note_memory(&recorder->made, recorder->made.parts_count - 1);
    *series = recorder->made;
    for (int i = 0; i < series->parts_count; i++) {
        series->parts[i].p50_us = histogram_at(&recorder->waits[i], 500);
        series->parts[i].p99_us = histogram_at(&recorder->waits[i], 990);
    }
}
