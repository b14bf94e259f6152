/* worker_replays.c - see worker_replays.h. */
#include "run/worker_replays.h"

#include "base/memory.h"
#include "history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct worker_replays {
    struct worker_program *program;
    struct kept_workers *kept; /* NULL: nothing runs */
    struct replay_memo *memo;
    char *folder;                  /* NULL: nothing is kept */
    int files;                     /* in it, by number */
    struct history_writer *writer; /* of the replay that goes on */
    struct replay_recorder recorder;
};

struct worker_replays *worker_replays_new(struct worker_program *program)
{
    struct worker_replays *replays = memory_new(1, sizeof *replays);
    replays->program = program;
    replays->memo = replay_memo_new();
    return replays;
}

static char *file_of(const struct worker_replays *replays, int number)
{
    return memory_format("%s/.replay-%d", replays->folder, number);
}

void worker_replays_free(struct worker_replays *replays)
{
    if (!replays)
        return;
    for (int i = 0; i < replays->files; i++) {
        char *path = file_of(replays, i);
        (void)unlink(path);
        free(path);
    }
    free(replays->folder);
    kept_workers_free(replays->kept);
    replay_memo_free(replays->memo);
    free(replays);
}

/* --- histories --- */

static bool begin_file(void *context, const struct history_head *given, struct event_sink *sink)
{
    struct worker_replays *replays = context;
    struct history_head head = *given;
    struct failure failure;
    (void)snprintf(head.scenario, sizeof head.scenario, "explore");
    char *path = file_of(replays, replays->files);
    const bool is_begun = !history_writer_new(&replays->writer, path, &head, &failure);
    free(path);
    if (is_begun)
        *sink = history_writer_sink(replays->writer);
    return is_begun;
}

static char *end_file(void *context, enum fail fail)
{
    struct worker_replays *replays = context;
    struct failure failure;
    if (fail)
        history_writer_abandon(replays->writer);
    else if (!history_writer_close(replays->writer, &failure))
        return file_of(replays, replays->files++);
    return NULL;
}

void worker_replays_record(struct worker_replays *replays, const char *folder)
{
    replays->folder = memory_text(folder);
    (void)mkdir(folder, 0777);
    replays->recorder =
        (struct replay_recorder){.begin = begin_file, .end = end_file, .context = replays};
}

bool worker_replays_link(const struct worker_replays *replays, const struct run *run,
                         const struct explore_finding *way, const char *path)
{
    const char *file = replays->folder ? replay_memo_file(replays->memo, run, way) : NULL;
    return file && link(file, path) == 0;
}

/* --- worlds --- */

static enum fail open_world(void *context, const struct run *run, struct world **world,
                            struct failure *failure)
{
    struct worker_replays *replays = context;
    if (replays->kept && !kept_workers_suit(replays->kept, run)) {
        kept_workers_free(replays->kept);
        replays->kept = NULL;
    }
    if (!replays->kept && kept_workers_new(&replays->kept, replays->program, run, failure))
        return failure->code;
    return kept_workers_world(replays->kept, world, run, true, failure);
}

/* Behind a replay that came to no end nothing is used again. */
static void end_world(void *context, enum fail fail)
{
    const struct worker_replays *replays = context;
    if (fail && replays->kept)
        kept_workers_drop(replays->kept);
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
