/* worker_replays.c - see worker_replays.h. */
#include "run/worker_replays.h"

#include "base/memory.h"
#include "history/history.h"
#include "run/cell_result.h"
#include "run/walk.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Those of servers with replicas, and of servers without. */
enum { KEPT_MAX = 2 };

struct worker_replays {
    struct worker_program *program;
    struct kept_workers *kept[KEPT_MAX]; /* NULL: nothing runs */
    struct kept_workers *last;           /* used last, of these */
    struct failure past;                 /* somebody went past the proxy, in one of them */
    struct replay_memo *memo;
    char *folder; /* NULL: nothing is kept */
    int files;    /* in it, by number */
    bool is_child;
    struct replay_recorder recorder;
};

struct worker_replays *worker_replays_new(struct worker_program *program)
{
    struct worker_replays *replays = memory_new(1, sizeof *replays);
    replays->program = program;
    replays->memo = replay_memo_new();
    return replays;
}

#define FILE_PREFIX ".replay-"

static char *file_of(const struct worker_replays *replays, int number)
{
    return memory_format("%s/" FILE_PREFIX "%s%d", replays->folder, replays->is_child ? "a" : "",
                         number);
}

/* A child's, too, however it has ended. */
static void remove_files(const char *folder)
{
    DIR *rows = opendir(folder);
    for (const struct dirent *row; rows && (row = readdir(rows));)
        if (strncmp(row->d_name, FILE_PREFIX, sizeof FILE_PREFIX - 1) == 0)
            (void)unlinkat(dirfd(rows), row->d_name, 0);
    if (rows)
        (void)closedir(rows);
}

void worker_replays_rest(struct worker_replays *replays)
{
    for (int i = 0; i < KEPT_MAX; i++)
        kept_workers_free(replays->kept[i]);
    memset(replays->kept, 0, sizeof replays->kept);
    replays->last = NULL;
}

void worker_replays_free(struct worker_replays *replays)
{
    if (!replays)
        return;
    if (replays->folder)
        remove_files(replays->folder);
    free(replays->folder);
    worker_replays_rest(replays);
    replay_memo_free(replays->memo);
    free(replays);
}

/* --- histories --- */

struct kept_replay {
    struct history_writer *writer;
    int number;
};

static void *begin_file(void *context, const struct history_head *given, struct event_sink *sink)
{
    struct worker_replays *replays = context;
    struct kept_replay *record = memory_new(1, sizeof *record);
    struct history_head head = *given;
    struct failure failure;
    (void)snprintf(head.scenario, sizeof head.scenario, "explore");
    record->number = replays->files++;
    char *path = file_of(replays, record->number);
    const bool is_begun = !history_writer_new(&record->writer, path, &head, &failure);
    free(path);
    if (is_begun)
        *sink = history_writer_sink(record->writer);
    else
        free(record);
    return is_begun ? record : NULL;
}

static char *end_file(void *context, void *begun, enum fail fail)
{
    const struct worker_replays *replays = context;
    struct kept_replay *record = begun;
    struct failure failure;
    char *file = NULL;
    if (fail)
        history_writer_abandon(record->writer);
    else if (!history_writer_close(record->writer, &failure))
        file = file_of(replays, record->number);
    free(record);
    return file;
}

void worker_replays_record(struct worker_replays *replays, const char *folder)
{
    replays->folder = memory_text(folder);
    (void)mkdir(folder, 0777);
    replays->recorder =
        (struct replay_recorder){.begin = begin_file, .end = end_file, .context = replays};
}

void worker_replays_begin_child(struct worker_replays *replays)
{
    replays->is_child = true;
}

bool worker_replays_link(const struct worker_replays *replays, const struct run *run,
                         const struct explore_finding *way, const char *path)
{
    const char *file = replays->folder ? replay_memo_file(replays->memo, run, way) : NULL;
    return file && link(file, path) == 0;
}

/* --- worlds --- */

/* Who does nothing in it needs no process of his own for that. */
static enum fail open_world(void *context, const struct run *run, unsigned acting,
                            struct world **world, struct failure *failure)
{
    struct worker_replays *replays = context;
    struct kept_workers **kept = &replays->kept[run->has_replica];
    if (*kept && !kept_workers_suit(*kept, run)) {
        kept_workers_free(*kept);
        *kept = NULL;
    }
    replays->last = NULL;
    if (!*kept && kept_workers_new(kept, replays->program, run, failure))
        return failure->code;
    replays->last = *kept;
    return kept_workers_world(*kept, world, run, acting, failure);
}

/* Behind a replay that came to no end nothing is used again. */
static void end_world(void *context, enum fail fail)
{
    struct worker_replays *replays = context;
    if (replays->last && !replays->past.code)
        (void)kept_workers_check_past(replays->last, &replays->past);
    if (fail && replays->last)
        kept_workers_drop(replays->last);
}

const struct failure *worker_replays_past(const struct worker_replays *replays)
{
    return &replays->past;
}

void worker_replays_note_past(struct worker_replays *replays, const struct failure *past)
{
    if (!replays->past.code)
        replays->past = *past;
}

struct replay_memo *worker_replays_memo(const struct worker_replays *replays)
{
    return replays->memo;
}

struct confirm_world worker_replays_world(struct worker_replays *replays,
                                          const struct history_head *head)
{
    return (struct confirm_world){.open = open_world,
                                  .ended = end_world,
                                  .context = replays,
                                  .foreign = head,
                                  .memo = replays->memo,
                                  .recorder = replays->folder ? &replays->recorder : NULL};
}

void worker_replays_finish(struct worker_replays *replays, struct cell *cell, struct cell_world *in)
{
    const struct explore_outcome *outcome = &cell->searches[cell->options.section].outcome;
    in->run = confirm_run(&cell->options, outcome, cell_clients);
    in->head = walk_head(&in->run, replays->program);
    in->world = worker_replays_world(replays, &in->head);
    cell->world = &in->world;
    cell_finish(cell);
    cell->world = NULL;
}
