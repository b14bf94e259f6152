/* worker_replays.c - see worker_replays.h. */
#include "run/worker_replays.h"

#include "base/memory.h"

#include <stdlib.h>

struct worker_replays {
    struct worker_program *program;
    struct kept_workers *kept; /* NULL: nothing runs */
    struct replay_memo *memo;
};

struct worker_replays *worker_replays_new(struct worker_program *program)
{
    struct worker_replays *replays = memory_new(1, sizeof *replays);
    replays->program = program;
    replays->memo = replay_memo_new();
    return replays;
}

void worker_replays_free(struct worker_replays *replays)
{
    kept_workers_free(replays->kept);
    replay_memo_free(replays->memo);
    free(replays);
}

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
                                  .memo = replays->memo};
}
