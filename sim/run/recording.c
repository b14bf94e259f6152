/* recording.c - see recording.h. */
#include "run/recording.h"

#include "base/memory.h"
#include "run/walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void recording_take(void *context, const struct event *event)
{
    struct recording *recording = context;
    recording->events++;
    recording->last_us = event->time_us;
    if (recording->writer && recording->events == 1)
        history_writer_replace(recording->writer); /* it has begun */
    recording->has_executed |= event->kind == EVENT_EXECUTE && event->op != OP_ACCESS;
    checks_event(recording->checks, event);
    ungranted_event(&recording->ungranted, event, checks_holders(recording->checks));
    if (recording->series)
        series_event(recording->series, event);
    if (recording->writer) {
        struct event_sink file = history_writer_sink(recording->writer);
        file.take(file.context, event);
    }
}

static void recording_choice(void *context, const struct choice *choice)
{
    struct recording *recording = context;
    schedule_add(recording->schedule, choice);
}

struct event_sink recording_sink(struct recording *recording)
{
    if (recording->thread)
        return sink_thread_sink(recording->thread);
    return (struct event_sink){.take = recording_take, .context = recording};
}

void recording_begin_thread(struct recording *recording)
{
    recording->thread = sink_thread_new(recording_sink(recording));
}

void recording_settle(struct recording *recording)
{
    sink_thread_settle(recording->thread);
}

struct choice_sink recording_choices(struct recording *recording)
{
    return (struct choice_sink){.take = recording_choice, .context = recording};
}

void recording_close(struct recording *recording)
{
    sink_thread_free(recording->thread);
    if (recording->writer)
        history_writer_abandon(recording->writer);
    if (recording->checks)
        checks_free(recording->checks);
    if (recording->schedule)
        schedule_free(recording->schedule);
    series_recorder_free(recording->series);
}

/* "histories/NAME-SCHEME.jsonl" in the run folder; makes the folder in between. */
static char *part_path(const struct runner *runner, const char *kind, const char *name,
                       const char *scheme, const char *ending)
{
    char *folder = memory_format("%s/%s", runner->folder, kind);
    if (mkdir(folder, 0777) && errno != EEXIST) {
        /* The file that goes there cannot be opened then: that failure names the path. */
    }
    free(folder);
    if (runner->round > 1)
        return memory_format("%s/%s-%s-%d.%s", kind, name, scheme, runner->round, ending);
    return memory_format("%s/%s-%s.%s", kind, name, scheme, ending);
}

enum fail recording_open(struct recording *recording, const struct runner *runner,
                         const struct scheme *scheme, struct result_row *row,
                         struct failure *failure)
{
    /* Of a worker only its history tells, here as in `picklock check`. */
    recording->checks = runner_is_worker(runner, scheme) ? checks_new_for(&recording->head, NULL)
                                                         : checks_new(&recording->head);
    if (!runner->folder)
        return FAIL_NONE;
    row->history = part_path(runner, "histories", row->subject, row->scheme, "jsonl");
    char *path = memory_format("%s/%s", runner->folder, row->history);
    enum fail fail = history_writer_new(&recording->writer, path, &recording->head, failure);
    free(path);
    if (fail || !recording->head.is_streamed)
        return fail;
    if (runner->piece_bytes)
        history_writer_rotate(recording->writer, runner->piece_bytes);
    history_writer_prove(recording->writer);
    return history_writer_show(recording->writer, failure);
}

static enum fail save_files(struct recording *recording, const struct runner *runner,
                            struct result_row *row, struct failure *failure)
{
    if (recording->writer) {
        struct history_writer *writer = recording->writer;
        recording->writer = NULL;
        history_writer_say_end(writer, &recording->end);
        if (history_writer_close(writer, failure))
            return failure->code;
    }
    if (!runner->folder || !recording->schedule)
        return FAIL_NONE;
    row->schedule = part_path(runner, "schedules", row->subject, row->scheme, "schedule");
    char *path = memory_format("%s/%s", runner->folder, row->schedule);
    enum fail fail = schedule_write(recording->schedule, path, failure);
    free(path);
    return fail;
}

enum fail recording_save(struct recording *recording, const struct runner *runner,
                         struct result_row *row, struct failure *failure)
{
    enum fail fail = save_files(recording, runner, row, failure);
    if (fail) {
        free(row->history);
        free(row->schedule);
        row->history = row->schedule = NULL;
    }
    return fail;
}

struct history_head recording_head(const struct runner *runner, const struct run *run,
                                   const char *scenario)
{
    struct history_head head = run_head(run, world_name(runner->world));
    snprintf(head.scenario, sizeof head.scenario, "%s", scenario);
    if (runner->world == WORLD_REDIS) {
        snprintf(head.server_version, sizeof head.server_version, "%s",
                 live_server_version(runner->live));
        head.clock_error_us = live_clock_error_us(runner->live);
    }
    if (runner_is_worker(runner, run->scheme))
        walk_describe(&runner->worker->program, &head);
    return head;
}
