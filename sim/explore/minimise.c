/* minimise.c - see minimise.h. */
#include "explore/minimise.h"

#include "explore/shrink.h"
#include "explore/witness.h"

#include <string.h>

struct minimising {
    /* What is to be undercut; events 0: nothing. */
    int faults[PROPERTY_COUNT], events[PROPERTY_COUNT];
    /* How far the search has come: with fewer faults, or with as many and less deep, all was seen.
     */
    int layer, depth;
};

/* All that is shorter was seen: the next step would make a way of depth + 1 events. */
static bool is_settled(const struct minimising *it, const struct search *search, int property)
{
    if (it->events[property] == 0 ||
        sighting_is_final(&search->sightings[property], it->layer, it->depth))
        return true;
    return it->layer > it->faults[property] ||
           (it->layer == it->faults[property] && it->depth + 1 >= it->events[property]);
}

static bool is_enough(void *context, const struct search *search, int faults, int depth)
{
    struct minimising *it = context;
    bool is_all = true;
    it->layer = faults;
    it->depth = depth;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        is_all &= is_settled(it, search, i);
    return is_all;
}

/* What the search met replaces what is longer. */
static void take_path(struct search *search, int property, struct path *path)
{
    const struct sighting *sighting = &search->sightings[property];
    struct path met = {0};
    if (sighting->state == VISITED_NONE)
        return;
    witness_path(search, sighting, &met);
    if (path->count == 0 || path_is_shorter(&met, path))
        path_copy(path, &met);
    path_close(&met);
}

/* One search below what there is. Returns a bit for each property whose path is proved to be the
 * shortest. */
static unsigned undercut(const struct explore_options *options, struct path paths[PROPERTY_COUNT],
                         uint64_t *states)
{
    struct minimising it = {0};
    struct search search;
    unsigned proved = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        it.faults[i] = path_faults(&paths[i]);
        it.events[i] = paths[i].count;
    }
    search_init(&search, options);
    search.is_enough = is_enough;
    search.context = &it;
    search_run(&search);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        bool is_sure = search.end == END_COMPLETE || is_settled(&it, &search, i);
        take_path(&search, i, &paths[i]);
        proved |= (unsigned)(is_sure && paths[i].count > 0) << i;
    }
    *states = search.visited.count;
    search_close(&search);
    return proved;
}

/* --- with those alone who take part --- */

/* Clients with the attempts that they make, and faults as often as they strike. The path names its
 * clients in order. */
static struct explore_options narrowed(const struct explore_options *given, const struct path *path)
{
    struct explore_options options = *given;
    int attempts[EXPLORE_CLIENTS_MAX] = {0};
    options.clients = options.rounds = 1;
    for (int i = 0; i < FAULT_COUNT; i++)
        if (fault_blame((enum fault)i) != FAULT_OF_RUN)
            options.budget[i] = 0;
    for (int i = 0; i < path->count; i++) {
        const struct deed *deed = &path->deeds[i];
        if (deed_is_fault(deed))
            options.budget[deed->fault]++;
        if (deed->client >= options.clients)
            options.clients = deed->client + 1;
        if (deed->kind == MOVE_ACQUIRE && ++attempts[deed->client] > options.rounds)
            options.rounds = attempts[deed->client];
    }
    if (options.rounds > given->rounds) /* a clean refusal is free */
        options.rounds = given->rounds;
    return options;
}

static bool is_narrower(const struct explore_options *options, const struct explore_options *than)
{
    return options->clients < than->clients || options->rounds < than->rounds ||
           memcmp(options->budget, than->budget, sizeof options->budget) != 0;
}

static void look_closer(struct stage *stage, const struct explore_options *given,
                        struct path paths[PROPERTY_COUNT], int property)
{
    struct path *path = &paths[property], met[PROPERTY_COUNT] = {0};
    uint64_t states;
    shrink_rename(stage, path, (enum property)property);
    const struct explore_options options = narrowed(given, path);
    if (!is_narrower(&options, given))
        return;
    path_copy(&met[property], path);
    undercut(&options, met, &states);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        bool is_better = paths[i].count == 0 || path_is_shorter(&met[i], &paths[i]);
        if (met[i].count > 0 && is_better && path_follows(stage, &met[i], (enum property)i))
            path_copy(&paths[i], &met[i]);
        path_close(&met[i]);
    }
}

unsigned minimise(struct stage *stage, const struct explore_options *given,
                  struct path paths[PROPERTY_COUNT], uint64_t *states)
{
    struct explore_options options = *given;
    options.skips_progress = true;
    if (options.states_max == 0)
        options.states_max = MINIMISE_STATES;
    unsigned proved = undercut(&options, paths, states);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (paths[i].count > 0 && !(proved >> i & 1))
            look_closer(stage, &options, paths, i);
    return proved;
}
