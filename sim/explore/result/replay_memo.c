/* replay_memo.c - see replay_memo.h. */
#include "explore/result/replay_memo.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct replayed {
    struct replayed *next;
    struct run run;
    struct choice *choices;
    int choices_count;
    struct finding findings[PROPERTY_COUNT];
    bool lacks_command;
    char *file; /* or NULL */
};

struct replay_memo {
    struct replayed *last;
};

struct replay_memo *replay_memo_new(void)
{
    return memory_new(1, sizeof(struct replay_memo));
}

void replay_memo_free(struct replay_memo *memo)
{
    while (memo && memo->last) {
        struct replayed *replayed = memo->last;
        memo->last = replayed->next;
        free(replayed->choices);
        free(replayed->file);
        free(replayed);
    }
    free(memo);
}

static bool is_same_run(const struct run *one, const struct run *other)
{
    return one->clients == other->clients && one->servers == other->servers &&
           one->lease_us == other->lease_us && one->seed == other->seed &&
           one->same_token == other->same_token && one->has_replica == other->has_replica;
}

static bool is_same_way(const struct replayed *replayed, const struct explore_finding *way)
{
    bool is_same = replayed->choices_count == way->choices_count;
    for (int i = 0; i < way->choices_count && is_same; i++)
        is_same = choice_is_same(&replayed->choices[i], &way->choices[i]);
    return is_same;
}

static const struct replayed *find(const struct replay_memo *memo, const struct run *run,
                                   const struct explore_finding *way)
{
    for (const struct replayed *replayed = memo->last; replayed; replayed = replayed->next)
        if (is_same_run(&replayed->run, run) && is_same_way(replayed, way))
            return replayed;
    return NULL;
}

const struct finding *replay_memo_find(const struct replay_memo *memo, const struct run *run,
                                       const struct explore_finding *way, bool *lacks_command)
{
    const struct replayed *replayed = find(memo, run, way);
    if (replayed && lacks_command)
        *lacks_command = replayed->lacks_command;
    return replayed ? replayed->findings : NULL;
}

const char *replay_memo_file(const struct replay_memo *memo, const struct run *run,
                             const struct explore_finding *way)
{
    const struct replayed *replayed = find(memo, run, way);
    return replayed ? replayed->file : NULL;
}

void replay_memo_put(struct replay_memo *memo, const struct run *run,
                     const struct explore_finding *way, const struct finding *findings,
                     bool lacks_command, char *file)
{
    struct replayed *replayed = memory_new(1, sizeof *replayed);
    replayed->next = memo->last;
    replayed->run = *run;
    replayed->choices = memory_new((size_t)way->choices_count + 1, sizeof *replayed->choices);
    for (int i = 0; i < way->choices_count; i++)
        replayed->choices[i] = way->choices[i];
    replayed->choices_count = way->choices_count;
    memcpy(replayed->findings, findings, sizeof replayed->findings);
    replayed->lacks_command = lacks_command;
    replayed->file = file;
    memo->last = replayed;
}
