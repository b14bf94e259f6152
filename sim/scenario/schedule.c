/* schedule.c - see schedule.h: schedules in memory, written and applied. schedule_reader.c reads
 * them. */
#include "scenario/schedule.h"

#include "base/memory.h"
#include "base/outfile.h"
#include "base/units.h"
#include "scenario/sentence.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct schedule *schedule_new(const struct run *run)
{
    assert(run->clients >= 1 && run->clients <= ACTORS_MAX);
    struct schedule *schedule = memory_new(1, sizeof *schedule);
    schedule->scheme = run->scheme;
    schedule->clients = run->clients;
    schedule->servers = run->servers;
    schedule->lease_us = run->lease_us;
    schedule->seed = run->seed;
    schedule->same_token = run->same_token;
    schedule->has_replica = run->has_replica;
    schedule->has_delex = run->has_delex;
    schedule->is_cluster = run->is_cluster;
    memcpy(schedule->names, run->names, (size_t)run->clients * sizeof schedule->names[0]);
    return schedule;
}

void schedule_add(struct schedule *schedule, const struct choice *choice)
{
    int count = schedule->choices_count;
    /* room doubles: full whenever the count is a power of two */
    if ((count & (count - 1)) == 0) {
        size_t room = count ? 2 * (size_t)count : 1;
        schedule->choices = memory_resize(schedule->choices, room, sizeof *schedule->choices);
        schedule->lines = memory_resize(schedule->lines, room, sizeof *schedule->lines);
    }
    schedule->choices[count] = *choice;
    schedule->lines[count] = 0;
    schedule->choices_count++;
    schedule->is_foreign |= choice->opaque[0] != '\0';
}

void schedule_free(struct schedule *schedule)
{
    if (!schedule)
        return;
    free(schedule->choices);
    free(schedule->lines);
    free(schedule->worker);
    free(schedule);
}

static void print_names(FILE *out, const struct schedule *schedule, const char *key, uint32_t mask)
{
    fprintf(out, "%s:", key);
    for (int i = 0; i < schedule->clients; i++)
        if (mask & 1u << i)
            fprintf(out, " %s", schedule->names[i]);
    fputc('\n', out);
}

static void print_schedule(FILE *out, const struct schedule *schedule)
{
    char text[UNITS_TEXT_MAX], line[SENTENCE_MAX];
    fprintf(out, "picklock schedule 1\nscheme: %s\nlease: %s\n", schedule->scheme->name,
            units_print_duration(schedule->lease_us, text));
    print_names(out, schedule, "clients", UINT32_MAX);
    fprintf(out, "servers: %d\nseed: %" PRIu64 "\n", schedule->servers, schedule->seed);
    if (schedule->same_token)
        print_names(out, schedule, "same-token", schedule->same_token);
    if (schedule->has_replica)
        fputs("replica: yes\n", out);
    if (schedule->is_cluster)
        fputs("cluster: yes\n", out);
    if (schedule->has_delex)
        fputs("delex: yes\n", out);
    if (schedule->is_foreign)
        fputs("foreign: yes\n", out);
    if (schedule->worker && !strpbrk(schedule->worker, "\r\n"))
        fprintf(out, "worker: %s\n", schedule->worker);
    if (schedule->wait_us)
        fprintf(out, "wait: %s\n", units_print_duration(schedule->wait_us, text));
    if (schedule->has_property)
        fprintf(out, "violates: %s\n", property_name(schedule->property));
    fputs("---\n", out);
    for (int i = 0; i < schedule->choices_count; i++)
        fprintf(out, "%s\n",
                choice_print(&schedule->choices[i], (const char(*)[64])schedule->names, line,
                             sizeof line));
    fputs("end\n", out);
}

enum fail schedule_write(const struct schedule *schedule, const char *path, struct failure *failure)
{
    struct outfile file;
    enum fail fail = outfile_open(&file, path, failure);
    if (fail)
        return fail;
    /* a write that fails is remembered by the stream, and told by the shut */
    print_schedule(file.stream, schedule);
    return outfile_shut(&file, failure);
}

enum fail schedule_apply(const struct schedule *schedule, const char *path, struct world *world,
                         struct failure *failure)
{
    for (int i = 0; i < schedule->choices_count; i++) {
        struct failure why = {.code = FAIL_UNKNOWN};
        char line[SENTENCE_MAX];
        enum fail fail = world->ops->can(world, schedule->choices[i].kind, &why);
        if (!fail)
            fail = world->ops->apply(world, &schedule->choices[i], &why);
        if (fail)
            return failure_set(failure, fail, "%.600s:%d: %s: %.900s", path ? path : "schedule",
                               schedule->lines[i] ? schedule->lines[i] : i + 1,
                               choice_print(&schedule->choices[i],
                                            (const char(*)[64])schedule->names, line, sizeof line),
                               why.text);
    }
    return FAIL_NONE;
}
