/* shrink.c - see shrink.h. */
#include "explore/shrink.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One path being shrunk. */
struct shrinking {
    struct stage *stage;
    struct path *path;
    enum property property;
    uint32_t (*states)[WORDS_MAX]; /* before each deed */
    bool *is_dropped;              /* by deed: of the candidate in hand */
    struct path rest, made;
};

/* Where the path leads, state by state. */
static void states_fill(struct shrinking *it)
{
    struct stage *stage = it->stage;
    stage_start(stage);
    for (int i = 0; i < it->path->count; i++) {
        const struct step_taken *step = stage_find(stage, &it->path->deeds[i]);
        assert(step);
        memcpy(it->states[i], stage->words, sizeof stage->words);
        stage_go(stage, step->words);
    }
}

/* Is the path without what is dropped still a way to the violation? Then it becomes that. What can
 * no longer be done goes with it. */
static bool try_it(struct shrinking *it)
{
    const struct path *path = it->path;
    int same = 0;
    while (same < path->count && !it->is_dropped[same])
        same++;
    if (same == path->count)
        return false;
    it->made.count = it->rest.count = 0;
    for (int i = 0; i < path->count; i++)
        if (!it->is_dropped[i])
            path_add(i < same ? &it->made : &it->rest, &path->deeds[i]);
    memset(it->is_dropped, 0, (size_t)path->count);
    stage_go(it->stage, it->states[same]);
    if (!path_walk(it->stage, it->rest.deeds, it->rest.count, it->property, &it->made) ||
        !path_is_shorter(&it->made, path))
        return false;
    path_copy(it->path, &it->made);
    states_fill(it);
    return true;
}

/* --- what can be dropped --- */

/* The last word, what is left of the budgets, apart: a loop may have cost a fault. */
static bool is_loop(const struct shrinking *it, int from, int to)
{
    size_t words = (size_t)space_words(&it->stage->space) - 1;
    return memcmp(it->states[from], it->states[to], words * sizeof(uint32_t)) == 0;
}

static bool cut_loops(struct shrinking *it)
{
    bool is_shorter = false;
    for (int from = 0; from < it->path->count; from++) {
        int to = it->path->count - 1;
        while (to > from && !is_loop(it, from, to))
            to--;
        memset(it->is_dropped + from, true, (size_t)(to - from));
        is_shorter |= try_it(it);
    }
    return is_shorter;
}

static bool drop_actors(struct shrinking *it)
{
    bool is_shorter = false;
    for (int actor = 0; actor < ACTORS; actor++) {
        for (int i = 0; i < it->path->count; i++)
            it->is_dropped[i] = deed_actor(&it->path->deeds[i]) == actor;
        is_shorter |= try_it(it);
    }
    return is_shorter;
}

static bool drop_faults(struct shrinking *it)
{
    bool is_shorter = false;
    for (int i = 0; i < it->path->count; i++) {
        it->is_dropped[i] = deed_is_fault(&it->path->deeds[i]);
        is_shorter |= try_it(it);
    }
    return is_shorter;
}

/* So many of an actor's own events from that one on; false: it has not so many. */
static bool mark_block(struct shrinking *it, int actor, int first, int length)
{
    int own = 0;
    for (int i = 0; i < it->path->count; i++) {
        if (deed_actor(&it->path->deeds[i]) != actor)
            continue;
        it->is_dropped[i] = own >= first && own < first + length;
        own++;
    }
    return first + length <= own;
}

static bool drop_blocks_of(struct shrinking *it, int actor)
{
    bool is_shorter = false;
    for (int length = it->path->count; length > 0; length--)
        for (int first = 0; mark_block(it, actor, first, length); first++)
            is_shorter |= try_it(it);
    memset(it->is_dropped, 0, (size_t)it->path->count);
    return is_shorter;
}

static bool drop_blocks(struct shrinking *it)
{
    bool is_shorter = false;
    for (int actor = 0; actor < ACTORS; actor++)
        is_shorter |= drop_blocks_of(it, actor);
    return is_shorter;
}

static void open(struct shrinking *it, struct stage *stage, struct path *path,
                 enum property property)
{
    *it = (struct shrinking){.stage = stage, .path = path, .property = property};
    it->states = memory_new((size_t)path->count, sizeof *it->states);
    it->is_dropped = memory_new((size_t)path->count, sizeof *it->is_dropped);
}

static void shut(struct shrinking *it)
{
    free(it->states);
    free(it->is_dropped);
    path_close(&it->rest);
    path_close(&it->made);
}

void shrink(struct stage *stage, struct path *path, enum property property)
{
    static bool (*const passes[])(struct shrinking *) = {cut_loops, drop_actors, drop_faults,
                                                         drop_blocks};
    enum { PASSES = sizeof passes / sizeof *passes };
    struct shrinking it;
    open(&it, stage, path, property);
    states_fill(&it);
    /* The cheap ones again before a dear one. */
    for (int pass = 0; pass < PASSES; pass++)
        if (passes[pass](&it))
            pass = -1;
    shut(&it);
}

/* --- names --- */

/* The next name for who has none yet; -1 stays nobody. */
static int rename_one(int *names, int *count, int who)
{
    if (who < 0)
        return who;
    if (names[who] < 0)
        names[who] = (*count)++;
    return names[who];
}

void shrink_rename(struct stage *stage, struct path *path, enum property property)
{
    int clients[EXPLORE_CLIENTS_MAX], servers[SERVERS_MAX], clients_count = 0, servers_count = 0;
    struct path renamed = {0};
    memset(clients, 0xff, sizeof clients);
    memset(servers, 0xff, sizeof servers);
    path_copy(&renamed, path);
    for (int i = 0; i < path->count; i++) {
        struct deed *deed = &renamed.deeds[i];
        deed->client = rename_one(clients, &clients_count, deed->client);
        deed->server = rename_one(servers, &servers_count, deed->server);
    }
    /* Clients are interchangeable, and so are servers, as far as a scheme treats them alike. */
    if (path_follows(stage, &renamed, property))
        path_copy(path, &renamed);
    path_close(&renamed);
}

/* --- order --- */

/* How much stands together: the squares of the lengths of all that one actor does in a row, so that
 * moving one event of two is worth something already. */
static int togetherness(const struct path *path)
{
    int sum = 0, length = 0;
    for (int i = 0; i < path->count; i++) {
        bool goes_on = i > 0 && deed_actor(&path->deeds[i]) == deed_actor(&path->deeds[i - 1]);
        length = goes_on ? length + 1 : 1;
        sum += 2 * length - 1;
    }
    return sum;
}

static void move_deed(struct path *path, int from, int to)
{
    struct deed kept = path->deeds[from];
    for (int i = from; i > to; i--)
        path->deeds[i] = path->deeds[i - 1];
    for (int i = from; i < to; i++)
        path->deeds[i] = path->deeds[i + 1];
    path->deeds[to] = kept;
}

/* Moves one event to where it is in better company, and the schedule is still one. */
static bool gather_once(struct stage *stage, struct path *path, struct path *tried,
                        enum property property)
{
    int together = togetherness(path);
    for (int from = 0; from < path->count; from++) {
        for (int to = 0; to < path->count; to++) {
            path_copy(tried, path);
            move_deed(tried, from, to);
            if (togetherness(tried) <= together || !path_follows(stage, tried, property))
                continue;
            path_copy(path, tried);
            return true;
        }
    }
    return false;
}

void shrink_gather(struct stage *stage, struct path *path, enum property property)
{
    struct path tried = {0};
    while (gather_once(stage, path, &tried, property))
        ;
    path_close(&tried);
}
