/* ghost_fences.c - see ghost_fences.h. */
#include "explore/model/ghost_fences.h"

#include "explore/model/ghost.h"

#include <assert.h>
#include <string.h>

enum { ENTRIES_MAX = 2 * EXPLORE_CLIENTS_MAX };

/* --- ranks --- */

static int list_entries(struct ghost_fences *fences, int clients, struct fence_entry **entries)
{
    int count = 0;
    for (int i = 0; i < clients; i++) {
        entries[count++] = &fences->last[i];
        entries[count++] = &fences->before[i];
    }
    return count;
}

static uint8_t newest_rank(struct ghost_fences *fences, int clients)
{
    struct fence_entry *entries[ENTRIES_MAX];
    uint8_t newest = 0;
    int count = list_entries(fences, clients, entries);
    for (int i = 0; i < count; i++)
        newest = entries[i]->rank > newest ? entries[i]->rank : newest;
    return newest;
}

static void entry_begin(struct ghost_fences *fences, int clients, struct fence_entry *entry,
                        unsigned flags)
{
    entry->rank = 0;
    entry->rank = (uint8_t)(newest_rank(fences, clients) + 1);
    entry->flags = (uint8_t)flags;
    entry->above = fences->fence;
    entry->below = 0;
}

/* Counts the ranks anew, from 1. */
static void count_ranks(struct ghost_fences *fences, int clients)
{
    struct fence_entry *entries[ENTRIES_MAX];
    unsigned used = 0;
    int count = list_entries(fences, clients, entries);
    for (int i = 0; i < count; i++)
        used |= 1u << entries[i]->rank;
    for (int i = 0; i < count; i++) {
        int rank = 0;
        for (int lower = 1; lower <= entries[i]->rank; lower++)
            rank += (int)(used >> lower & 1);
        entries[i]->rank = (uint8_t)rank;
    }
}

/* --- the resource --- */

static void supersede(struct ghost_fences *fences, int clients, int rank)
{
    struct fence_entry *entries[ENTRIES_MAX];
    int count = list_entries(fences, clients, entries);
    for (int i = 0; i < count; i++) {
        entries[i]->flags &= (uint8_t)~FENCE_OF_BEFORE;
        if (entries[i]->rank != 0 && entries[i]->rank < rank)
            entries[i]->flags |= FENCE_SUPERSEDED;
    }
}

static bool follow_write(struct ghost_fences *fences, int clients, const struct fence_step *step)
{
    bool is_before = step->observed & WRITE_OF_BEFORE;
    const struct fence_entry entry =
        is_before ? fences->before[step->client] : fences->last[step->client];
    bool is_superseded = entry.flags & FENCE_SUPERSEDED;
    if (!(entry.flags & FENCE_OWNED))
        return false;
    if (step->observed & WRITE_REFUSED)
        return !is_superseded && !(entry.flags & FENCE_OF_BEFORE);
    if (is_superseded)
        return is_before || entry.flags & FENCE_DISOWNED;
    supersede(fences, clients, entry.rank);
    return false;
}

static void forget(struct ghost_fences *fences, int clients)
{
    struct fence_entry *entries[ENTRIES_MAX];
    int count = list_entries(fences, clients, entries);
    for (int i = 0; i < count; i++) {
        entries[i]->flags &= (uint8_t)~FENCE_SUPERSEDED;
        entries[i]->flags |= entries[i]->flags & FENCE_OWNED ? FENCE_OF_BEFORE : 0;
    }
}

/* --- grants --- */

static void follow_owner(struct ghost_fences *fences, int clients, const struct fence_step *step,
                         int client)
{
    const struct fence_client *now = &step->clients[client];
    struct fence_entry *entry = &fences->last[client];
    if (now->has_swapped)
        entry_begin(fences, clients, entry, FENCE_SWAPPED);
    if (!now->is_owner) {
        entry->flags |= entry->flags & FENCE_OWNED ? FENCE_DISOWNED : 0;
        return;
    }
    if (step->forgets)
        return;
    if (!(entry->flags & (FENCE_OWNED | FENCE_SWAPPED)))
        entry_begin(fences, clients, entry, 0);
    entry->flags |= FENCE_OWNED;
    entry->flags &= (uint8_t) ~(FENCE_SWAPPED | FENCE_DISOWNED);
}

/* --- fences --- */

/* A grant told: its fence against those of all that were told before it. */
static bool follow_grant(struct ghost_fences *fences, int clients, const struct fence_step *step)
{
    struct fence_entry *mine = &fences->last[step->client];
    if (mine->rank == 0) /* told of what no server granted: ordered by that */
        entry_begin(fences, clients, mine, 0);
    const struct fence_entry told = *mine;
    uint16_t fence = (uint16_t)step->fence;
    mine->above = mine->below = 0;
    assert(step->fence >= 0 && step->fence <= FENCE_MAX);
    if (fence == 0)
        return false;
    for (int i = 0; i < clients; i++) {
        struct fence_entry *other = &fences->last[i];
        if (i == step->client || other->rank == 0 || !step->clients[i].may_hold)
            continue;
        if (other->rank > told.rank && other->above < fence)
            other->above = fence;
        if (other->rank < told.rank && (other->below == 0 || other->below > fence))
            other->below = fence;
    }
    if (fences->fence < fence)
        fences->fence = fence;
    return fence <= told.above || (told.below != 0 && fence >= told.below);
}

/* What can no longer matter is zero. */
static void settle(struct ghost_fences *fences, int clients, const struct fence_step *step)
{
    for (int i = 0; i < clients; i++) {
        const struct fence_client *now = &step->clients[i];
        bool is_owned = fences->last[i].flags & FENCE_OWNED;
        if (!now->may_hold && !(now->may_write && is_owned))
            memset(&fences->last[i], 0, sizeof fences->last[i]);
        if (!now->may_write_before || !(fences->before[i].flags & FENCE_OWNED))
            memset(&fences->before[i], 0, sizeof fences->before[i]);
    }
    count_ranks(fences, clients);
}

bool ghost_fences_follow(struct ghost_fences *fences, int clients, const struct fence_step *step)
{
    bool is_violated = false;
    if (step->begins) {
        fences->before[step->client] =
            (struct fence_entry){.rank = fences->last[step->client].rank,
                                 .flags = fences->last[step->client].flags &
                                          (FENCE_OWNED | FENCE_SUPERSEDED | FENCE_OF_BEFORE)};
        memset(&fences->last[step->client], 0, sizeof fences->last[step->client]);
    }
    if (step->observed & (WRITE_ACCEPTED | WRITE_REFUSED))
        is_violated |= follow_write(fences, clients, step);
    if (step->forgets)
        forget(fences, clients);
    for (int i = 0; i < clients; i++)
        follow_owner(fences, clients, step, i);
    if (step->is_granted)
        is_violated |= follow_grant(fences, clients, step);
    settle(fences, clients, step);
    return is_violated;
}

void ghost_fences_rename(struct ghost_fences *fences, const uint8_t *new_position)
{
    const struct ghost_fences old = *fences;
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++) {
        fences->last[new_position[i]] = old.last[i];
        fences->before[new_position[i]] = old.before[i];
    }
}
