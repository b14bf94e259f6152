/* roll.c - see roll.h. */
#include "explore/roll.h"

#include "explore/judge.h"

#include <assert.h>
#include <string.h>

enum { ENTRIES_MAX = 2 * EXPLORE_CLIENTS_MAX };

/* --- ranks --- */

static int list_entries(struct roll *roll, int clients, struct roll_entry **entries)
{
    int count = 0;
    for (int i = 0; i < clients; i++) {
        entries[count++] = &roll->last[i];
        entries[count++] = &roll->before[i];
    }
    return count;
}

static uint8_t newest_rank(struct roll *roll, int clients)
{
    struct roll_entry *entries[ENTRIES_MAX];
    uint8_t newest = 0;
    int count = list_entries(roll, clients, entries);
    for (int i = 0; i < count; i++)
        newest = entries[i]->rank > newest ? entries[i]->rank : newest;
    return newest;
}

static void entry_begin(struct roll *roll, int clients, struct roll_entry *entry, unsigned flags)
{
    entry->rank = 0;
    entry->rank = (uint8_t)(newest_rank(roll, clients) + 1);
    entry->flags = (uint8_t)flags;
    entry->above = roll->fence;
    entry->below = 0;
}

/* Counts the ranks anew, from 1. */
static void count_ranks(struct roll *roll, int clients)
{
    struct roll_entry *entries[ENTRIES_MAX];
    unsigned used = 0;
    int count = list_entries(roll, clients, entries);
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

static void supersede(struct roll *roll, int clients, int rank)
{
    struct roll_entry *entries[ENTRIES_MAX];
    int count = list_entries(roll, clients, entries);
    for (int i = 0; i < count; i++)
        if (entries[i]->rank != 0 && entries[i]->rank < rank)
            entries[i]->flags |= ROLL_SUPERSEDED;
}

static bool follow_write(struct roll *roll, int clients, const struct roll_step *step)
{
    bool is_before = step->judged & WRITE_OF_BEFORE;
    const struct roll_entry entry =
        is_before ? roll->before[step->client] : roll->last[step->client];
    bool is_superseded = entry.flags & ROLL_SUPERSEDED;
    if (!(entry.flags & ROLL_OWNED))
        return false;
    if (step->judged & WRITE_REFUSED)
        return !is_superseded;
    if (is_superseded)
        return is_before || entry.flags & ROLL_DISOWNED;
    supersede(roll, clients, entry.rank);
    return false;
}

static void forget(struct roll *roll, int clients)
{
    struct roll_entry *entries[ENTRIES_MAX];
    int count = list_entries(roll, clients, entries);
    for (int i = 0; i < count; i++)
        entries[i]->flags &= (uint8_t)~ROLL_SUPERSEDED;
}

/* --- grants --- */

static void follow_owner(struct roll *roll, int clients, const struct roll_step *step, int client)
{
    const struct roll_client *now = &step->clients[client];
    struct roll_entry *entry = &roll->last[client];
    if (now->has_swapped)
        entry_begin(roll, clients, entry, ROLL_SWAPPED);
    if (!now->is_owner) {
        entry->flags |= entry->flags & ROLL_OWNED ? ROLL_DISOWNED : 0;
        return;
    }
    if (step->forgets)
        return;
    if (!(entry->flags & (ROLL_OWNED | ROLL_SWAPPED)))
        entry_begin(roll, clients, entry, 0);
    entry->flags |= ROLL_OWNED;
    entry->flags &= (uint8_t) ~(ROLL_SWAPPED | ROLL_DISOWNED);
}

/* --- fences --- */

/* A grant told: its fence against those of all that were told before it. */
static bool follow_grant(struct roll *roll, int clients, const struct roll_step *step)
{
    struct roll_entry *mine = &roll->last[step->client];
    if (mine->rank == 0) /* told of what no server granted: ordered by that */
        entry_begin(roll, clients, mine, 0);
    const struct roll_entry told = *mine;
    uint16_t fence = (uint16_t)step->fence;
    mine->above = mine->below = 0;
    assert(step->fence >= 0 && step->fence <= ROLL_FENCE_MAX);
    if (fence == 0)
        return false;
    for (int i = 0; i < clients; i++) {
        struct roll_entry *other = &roll->last[i];
        if (i == step->client || other->rank == 0 || !step->clients[i].may_hold)
            continue;
        if (other->rank > told.rank && other->above < fence)
            other->above = fence;
        if (other->rank < told.rank && (other->below == 0 || other->below > fence))
            other->below = fence;
    }
    if (roll->fence < fence)
        roll->fence = fence;
    return fence <= told.above || (told.below != 0 && fence >= told.below);
}

/* What can no longer matter is zero. */
static void settle(struct roll *roll, int clients, const struct roll_step *step)
{
    for (int i = 0; i < clients; i++) {
        const struct roll_client *now = &step->clients[i];
        bool is_owned = roll->last[i].flags & ROLL_OWNED;
        if (!now->may_hold && !(now->may_write && is_owned))
            memset(&roll->last[i], 0, sizeof roll->last[i]);
        if (!now->may_write_before || !(roll->before[i].flags & ROLL_OWNED))
            memset(&roll->before[i], 0, sizeof roll->before[i]);
    }
    count_ranks(roll, clients);
}

bool roll_follow(struct roll *roll, int clients, const struct roll_step *step)
{
    bool is_violated = false;
    if (step->begins) {
        roll->before[step->client] = (struct roll_entry){.rank = roll->last[step->client].rank,
                                                         .flags = roll->last[step->client].flags &
                                                                  (ROLL_OWNED | ROLL_SUPERSEDED)};
        memset(&roll->last[step->client], 0, sizeof roll->last[step->client]);
    }
    if (step->judged & (WRITE_ACCEPTED | WRITE_REFUSED))
        is_violated |= follow_write(roll, clients, step);
    if (step->forgets)
        forget(roll, clients);
    for (int i = 0; i < clients; i++)
        follow_owner(roll, clients, step, i);
    if (step->is_granted)
        is_violated |= follow_grant(roll, clients, step);
    settle(roll, clients, step);
    return is_violated;
}

void roll_rename(struct roll *roll, const uint8_t *new_position)
{
    const struct roll old = *roll;
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++) {
        roll->last[new_position[i]] = old.last[i];
        roll->before[new_position[i]] = old.before[i];
    }
}
