/* canon.c - see canon.h. */
#include "explore/canon.h"

#include <string.h>

static const uint8_t counted[8] = {0, 1, 2, 3, 4, 5, 6, 7};

_Static_assert(EXPLORE_CLIENTS_MAX <= 8 && SERVERS_MAX <= 8, "counted is too short");

static void identity(uint8_t *to, int count)
{
    memcpy(to, counted, (size_t)count);
}

/* Sorts count places by their keys; false when they were sorted already. order[new] = old. */
static bool sort_places(const uint64_t *keys, int count, uint8_t *order)
{
    bool has_moved = false;
    identity(order, count);
    for (int i = 1; i < count; i++) {
        uint8_t it = order[i];
        int at = i;
        for (; at > 0 && keys[order[at - 1]] > keys[it]; at--)
            order[at] = order[at - 1];
        order[at] = it;
        has_moved |= at != i;
    }
    return has_moved;
}

static void sort_servers(struct space *space, uint32_t *words, uint8_t *new_number)
{
    const struct setting *setting = &space->setting;
    uint32_t *posts = words + setting->clients;
    uint64_t keys[SERVERS_MAX];
    /* What critical sections guard is at the first server: that one stays where it is. */
    bool has_first = setting->section != SECTION_NOTHING;
    uint8_t order[SERVERS_MAX];
    for (int s = 0; s < setting->servers; s++) {
        /* Equal keys for unequal columns only cost a tie. */
        uint64_t hash = 0;
        for (int i = 0; i < setting->clients; i++)
            hash = memo_mix(hash ^ space_slice(space, words[i], s));
        keys[s] = has_first && s == 0 ? 0 : (uint64_t)posts[s] << 40 | hash >> 24;
    }
    if (!sort_places(keys, setting->servers, order))
        return;
    uint32_t sorted[SERVERS_MAX];
    identity(new_number, SERVERS_MAX);
    for (int i = 0; i < setting->servers; i++) {
        sorted[i] = posts[order[i]];
        new_number[order[i]] = (uint8_t)i;
    }
    memcpy(posts, sorted, (size_t)setting->servers * sizeof *posts);
    for (int i = 0; i < setting->clients; i++)
        words[i] = space_renumber_local(space, words[i], new_number);
}

static void sort_clients(struct space *space, uint32_t *words, uint8_t *new_position)
{
    const struct setting *setting = &space->setting;
    uint64_t keys[EXPLORE_CLIENTS_MAX];
    uint8_t order[EXPLORE_CLIENTS_MAX];
    for (int i = 0; i < setting->clients; i++) {
        uint64_t mentions = 0;
        for (int s = 0; s < setting->servers; s++) {
            unsigned told = space_note(space, words[setting->clients + s])->mentions[i];
            mentions = setting->servers == 1 ? told : memo_mix(mentions ^ told);
        }
        if (space_has_roll(space))
            mentions =
                memo_mix(mentions ^ space_roll_mentions(space, *space_roll_of(space, words), i));
        keys[i] = (uint64_t)words[i] << 32 | (mentions & 0xffffffff);
    }
    if (!sort_places(keys, setting->clients, order))
        return;
    uint32_t sorted[EXPLORE_CLIENTS_MAX];
    identity(new_position, EXPLORE_CLIENTS_MAX);
    for (int i = 0; i < setting->clients; i++) {
        sorted[i] = words[order[i]];
        new_position[order[i]] = (uint8_t)i;
    }
    for (int i = 0; i < setting->clients; i++) {
        bool has_mentions = space_place(space, sorted[i])->has_mentions;
        words[i] = has_mentions ? space_rename_local(space, sorted[i], new_position) : sorted[i];
    }
    for (int s = 0; s < setting->servers; s++) {
        uint32_t *post = &words[setting->clients + s];
        *post = space_rename_post(space, *post, new_position);
    }
    if (space_has_roll(space)) {
        uint32_t *roll = space_roll_of(space, words);
        *roll = space_rename_roll(space, *roll, new_position);
    }
}

void canon_none(uint8_t *new_position, uint8_t *new_number)
{
    identity(new_position, EXPLORE_CLIENTS_MAX);
    identity(new_number, SERVERS_MAX);
}

void canon_sort(struct space *space, unsigned reductions, uint32_t *words, uint8_t *new_position,
                uint8_t *new_number)
{
    canon_none(new_position, new_number);
    if (reductions & REDUCE_SERVERS && space->setting.servers > 1)
        sort_servers(space, words, new_number);
    if (reductions & REDUCE_CLIENTS)
        sort_clients(space, words, new_position);
}
