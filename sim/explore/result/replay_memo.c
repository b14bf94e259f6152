/* replay_memo.c - see replay_memo.h. */
#include "explore/result/replay_memo.h"

#include "base/bytes.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Of one way in one run. */
struct replayed {
    struct replayed *next;
    struct run run;
    struct choice *choices;
    int choices_count;
    int how;                                 /* it was retimed; REPLAYED: it was replayed */
    struct finding findings[PROPERTY_COUNT]; /* replayed: */
    bool lacks_command;
    char *file; /* or NULL */
    struct retimed_way retimed;
};

enum { REPLAYED = 0 };

struct replay_memo {
    struct replayed *last, *packed; /* packed: the last one that was */
};

struct replay_memo *replay_memo_new(void)
{
    return memory_new(1, sizeof(struct replay_memo));
}

static void free_one(struct replayed *replayed)
{
    free(replayed->choices);
    free(replayed->retimed.choices);
    free(replayed->file);
    free(replayed);
}

static void free_list(struct replayed *first)
{
    while (first) {
        struct replayed *next = first->next;
        free_one(first);
        first = next;
    }
}

void replay_memo_free(struct replay_memo *memo)
{
    if (memo)
        free_list(memo->last);
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
                                   const struct explore_finding *way, int how)
{
    for (const struct replayed *replayed = memo->last; replayed; replayed = replayed->next)
        if (replayed->how == how && is_same_run(&replayed->run, run) && is_same_way(replayed, way))
            return replayed;
    return NULL;
}

const struct finding *replay_memo_find(const struct replay_memo *memo, const struct run *run,
                                       const struct explore_finding *way, bool *lacks_command)
{
    const struct replayed *replayed = find(memo, run, way, REPLAYED);
    if (replayed && lacks_command)
        *lacks_command = replayed->lacks_command;
    return replayed ? replayed->findings : NULL;
}

const char *replay_memo_file(const struct replay_memo *memo, const struct run *run,
                             const struct explore_finding *way)
{
    const struct replayed *replayed = find(memo, run, way, REPLAYED);
    return replayed ? replayed->file : NULL;
}

static struct choice *copy_of(const struct choice *choices, int count)
{
    struct choice *copy = memory_new((size_t)count + 1, sizeof *copy);
    for (int i = 0; i < count; i++)
        copy[i] = choices[i];
    return copy;
}

static struct replayed *put(struct replay_memo *memo, const struct run *run,
                            const struct explore_finding *way, int how)
{
    struct replayed *replayed = memory_new(1, sizeof *replayed);
    *replayed = (struct replayed){.next = memo->last,
                                  .run = *run,
                                  .choices = copy_of(way->choices, way->choices_count),
                                  .choices_count = way->choices_count,
                                  .how = how};
    memo->last = replayed;
    return replayed;
}

void replay_memo_put(struct replay_memo *memo, const struct run *run,
                     const struct explore_finding *way, const struct finding *findings,
                     bool lacks_command, char *file)
{
    struct replayed *replayed = put(memo, run, way, REPLAYED);
    memcpy(replayed->findings, findings, sizeof replayed->findings);
    replayed->lacks_command = lacks_command;
    replayed->file = file;
}

bool replay_memo_find_retimed(const struct replay_memo *memo, const struct run *run,
                              const struct explore_finding *way, int how,
                              struct retimed_way *retimed)
{
    const struct replayed *replayed = find(memo, run, way, how);
    if (replayed)
        *retimed = replayed->retimed;
    return replayed;
}

void replay_memo_put_retimed(struct replay_memo *memo, const struct run *run,
                             const struct explore_finding *way, int how,
                             const struct retimed_way *retimed)
{
    struct replayed *replayed = put(memo, run, way, how);
    replayed->retimed = *retimed;
    replayed->retimed.choices = copy_of(retimed->choices, retimed->choices_count);
}

/* --- as bytes: each as it is, and behind it what it points to --- */

char *replay_memo_pack(struct replay_memo *memo, size_t *size)
{
    struct bytes packed = {0};
    bytes_add(&packed, NULL, 0); /* of nothing, too, there is something to free */
    for (const struct replayed *it = memo->last; it != memo->packed; it = it->next) {
        bytes_add(&packed, it, sizeof *it);
        bytes_add(&packed, it->choices, (size_t)it->choices_count * sizeof *it->choices);
        bytes_add(&packed, it->retimed.choices,
                  (size_t)it->retimed.choices_count * sizeof *it->retimed.choices);
        bytes_add(&packed, it->file ? it->file : "", it->file ? strlen(it->file) + 1 : 1);
    }
    memo->packed = memo->last;
    *size = packed.length;
    return packed.at;
}

struct unpacked {
    const char *bytes;
    size_t left;
};

/* NULL: so many are not there. */
static const char *take(struct unpacked *from, size_t size)
{
    const char *taken = size <= from->left ? from->bytes : NULL;
    from->bytes += taken ? size : 0;
    from->left -= taken ? size : 0;
    return taken;
}

static struct choice *take_choices(struct unpacked *from, int count)
{
    const char *bytes = count < 0 ? NULL : take(from, (size_t)count * sizeof(struct choice));
    struct choice *choices = bytes ? memory_new((size_t)count + 1, sizeof *choices) : NULL;
    if (bytes)
        memcpy(choices, bytes, (size_t)count * sizeof *choices);
    return choices;
}

/* "": NULL. */
static char *take_text(struct unpacked *from)
{
    const char *end = memchr(from->bytes, '\0', from->left);
    const char *text = end ? take(from, (size_t)(end - from->bytes) + 1) : NULL;
    return text && *text ? memory_text(text) : NULL;
}

static struct replayed *unpack_one(struct unpacked *from)
{
    const char *bytes = take(from, sizeof(struct replayed));
    if (!bytes)
        return NULL;
    struct replayed *it = memory_new(1, sizeof *it);
    memcpy(it, bytes, sizeof *it);
    it->run.names = NULL; /* of the other process */
    it->choices = take_choices(from, it->choices_count);
    it->retimed.choices = take_choices(from, it->retimed.choices_count);
    const bool is_whole =
        it->choices && it->retimed.choices && memchr(from->bytes, '\0', from->left);
    it->file = is_whole ? take_text(from) : NULL;
    if (is_whole)
        return it;
    free_one(it);
    return NULL;
}

/* Those that were put last come first, as they stand in the memo. */
bool replay_memo_unpack(struct replay_memo *memo, const char *bytes, size_t size)
{
    struct unpacked from = {.bytes = bytes, .left = size};
    struct replayed *first = NULL, **next = &first;
    while (from.left) {
        struct replayed *it = unpack_one(&from);
        *next = it;
        if (!it) {
            free_list(first);
            return false;
        }
        next = &it->next;
        *next = NULL;
    }
    *next = memo->last;
    memo->last = first;
    return true;
}
