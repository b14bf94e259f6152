/* standing_owner.c - see standing.h: how an ownership ends, and how the next one begins. */
#include "checks/standing_parts.h"

#include "base/memory.h"

#include <string.h>

/* --- ways --- */

/* The same is used in the other one, or more, but of that nothing except acquires: the one may use
 * them yet, and where they are answered the other one is no way any more. */
static bool uses_no_more(const struct lock_way *one, const struct lock_way *other)
{
    int at = 0;
    for (int i = 0; i < other->used_count; i++) {
        const struct used *used = &other->used[i];
        if (at < one->used_count && one->used[at].client == used->client &&
            one->used[at].how == used->how)
            at++;
        else if (used->how != USED_ACQUIRE)
            return false;
    }
    return at == one->used_count;
}

/* Whatever the other one of that owner can come to, this one can. */
static bool is_as_good(const struct lock_way *one, const struct lock_way *other)
{
    return one->from_us <= other->from_us &&
           (one->owner != FORMER || one->former == other->former || one->former == FREE) &&
           (one->owner == FREE ? one->until_us >= other->until_us
                               : one->ends_us <= other->ends_us) &&
           one->spent <= other->spent && one->used_count <= other->used_count &&
           uses_no_more(one, other);
}

void ways_add(struct ways *ways, const struct lock_way *way)
{
    for (int i = ways->count - 1; i >= 0; i--) {
        if (ways->rows[i].owner != way->owner)
            continue;
        if (is_as_good(&ways->rows[i], way))
            return; /* it would have been as good as what was dropped, too */
        if (is_as_good(way, &ways->rows[i]))
            ways->rows[i] = ways->rows[--ways->count];
    }
    if (ways->count == WAYS_MAX) {
        ways->is_full = true;
        return;
    }
    if (ways->count == ways->size) {
        ways->size = ways->size ? 2 * ways->size : 2;
        ways->rows = memory_resize(ways->rows, (size_t)ways->size, sizeof *ways->rows);
    }
    ways->rows[ways->count++] = *way;
}

unsigned standing_used(const struct lock_way *way, int client)
{
    for (int i = 0; i < way->used_count; i++)
        if (way->used[i].client == client)
            return way->used[i].how;
    return 0;
}

bool standing_use(struct lock_way *way, int client, unsigned how)
{
    int at = 0;
    while (at < way->used_count && way->used[at].client < client)
        at++;
    bool is_there = at < way->used_count && way->used[at].client == client;
    struct used *here = &way->used[at];
    size_t behind = (size_t)(way->used_count - at - is_there) * sizeof *here;
    if (!how && is_there) {
        memmove(here, here + 1, behind);
        way->used_count--;
    }
    if (!how)
        return true;
    if (!is_there && way->used_count == USED_MAX)
        return false;
    if (!is_there) {
        memmove(here + 1, here, behind);
        way->used_count++;
    }
    *here = (struct used){.client = (uint16_t)client, .how = (uint16_t)how};
    return true;
}

/* --- an ownership begins --- */

static int64_t lease_end(const struct lock_answers *lock, int64_t began_us)
{
    return lock->room->lease_us ? began_us + lock->room->lease_us : INT64_MAX;
}

/* Of one that is told. */
static int64_t ownership_end(const struct lock_answers *lock, const struct lock_way *way)
{
    if (lock->room->is_quorum && way->owner >= 0)
        return later(way->from_us, lease_end(lock, lock->room->askers[way->owner].called_us));
    return lease_end(lock, way->from_us);
}

void standing_own(const struct lock_answers *lock, struct lock_way *way, int client,
                  int64_t since_us)
{
    way->is_untold = client < 0 || asker_may_have(&lock->room->askers[client]);
    way->owner = client;
    way->from_us = later(way->from_us, since_us);
    way->ends_us = way->is_untold ? way->from_us : ownership_end(lock, way);
    way->until_us = 0;
}

void standing_tell(const struct lock_answers *lock, struct lock_way *way)
{
    if (way->is_untold)
        way->ends_us =
            lock->room->is_quorum ? ownership_end(lock, way) : lease_end(lock, way->ends_us);
    way->is_untold = false;
}

void standing_lengthen(const struct lock_answers *lock, struct lock_way *way, int64_t since_us)
{
    standing_tell(lock, way);
    way->from_us = later(way->from_us, since_us);
    way->ends_us = later(way->ends_us, lease_end(lock, since_us)); /* of the last renewal */
}

/* --- and ends --- */

static void add_freed(const struct standing_room *room, struct ways *ways, struct lock_way way,
                      int client, unsigned how, int64_t from_us)
{
    way.owner = FREE;
    way.ends_us = 0;
    way.from_us = later(way.from_us, from_us);
    way.until_us = room->now_us;
    if (how && !standing_use(&way, client, how))
        ways->is_full = true;
    else
        ways_add(ways, &way);
}

void standing_expire(struct lock_answers *lock, struct ways *ways, const struct lock_way *way)
{
    bool was_told = way->owner < 0 || !asker_may_have(&lock->room->askers[way->owner]);
    if (way->ends_us <= lock->room->now_us)
        add_freed(lock->room, ways, *way, way->owner, was_told ? 0 : USED_ACQUIRE, way->ends_us);
}

static void release_early(struct lock_answers *lock, const struct lock_way *way)
{
    const struct asker *asker = &lock->room->askers[way->owner];
    bool owes_answer = asker->release == ASKED_OPEN && !asker->is_release_excused;
    unsigned how = (asker_may_have(asker) ? USED_ACQUIRE : 0u) | (owes_answer ? USED_RELEASE : 0u);
    if (asker_may_release(asker))
        add_freed(lock->room, &lock->room->freed, *way, way->owner, how, asker->release_us);
}

/* Somebody who was never told may have had the lock and have released it, and be told of that. */
static void pass_over(struct lock_answers *lock, struct lock_way way, int but)
{
    const struct standing_room *room = lock->room;
    for (int i = 0; i < room->rivals_count; i++) {
        const struct rival *rival = &room->rivals[i];
        if (rival->is_releasing && rival->client != but && !standing_used(&way, rival->client))
            add_freed(room, &lock->room->freed, way, rival->client, USED_ACQUIRE | USED_RELEASE,
                      later(rival->acquire_us, room->askers[rival->client].release_us));
    }
}

/* How the lock may have become free by now: lock->room->freed. but: an answer to that client is in
 * hand. */
static void list_freed(struct lock_answers *lock, const struct lock_way *way, int but)
{
    struct ways *freed = &lock->room->freed;
    freed->count = 0;
    if (way->owner == FREE) {
        ways_add(freed, way);
    } else {
        standing_expire(lock, freed, way);
        if (way->owner >= 0)
            release_early(lock, way);
    }
    /* What is added is not as good as what is there: it has used more. */
    for (int i = 0; lock->room->releasing_count > 0 && i < freed->count; i++)
        pass_over(lock, freed->rows[i], but);
}

void standing_give(struct lock_answers *lock, const struct lock_way *way, int client)
{
    const struct ways *freed = &lock->room->freed;
    list_freed(lock, way, client);
    for (int i = 0; i < freed->count; i++) {
        struct lock_way made = freed->rows[i];
        standing_own(lock, &made, client, lock->room->askers[client].acquire_us);
        ways_add(&lock->room->next, &made);
    }
}

void standing_give_until_expired(struct lock_answers *lock, const struct lock_way *way, int client)
{
    const struct ways *freed = &lock->room->freed;
    list_freed(lock, way, client);
    for (int i = 0; i < freed->count; i++) {
        struct lock_way made = freed->rows[i];
        standing_own(lock, &made, client, lock->room->askers[client].acquire_us);
        standing_expire(lock, &lock->room->next, &made);
    }
}

void standing_give_back(struct lock_answers *lock, const struct lock_way *way, int client)
{
    const struct asker *asker = &lock->room->askers[client];
    const struct ways *freed = &lock->room->freed;
    list_freed(lock, way, client);
    for (int i = 0; i < freed->count; i++)
        add_freed(lock->room, &lock->room->next, freed->rows[i], client, 0,
                  later(asker->acquire_us, asker->release_us));
}

/* --- a refusal --- */

/* Since when the next of those that were left can have had it; false: none is left. */
static bool next_left(const struct left_calls *left, int64_t spent, int64_t from_us,
                      int64_t *since_us)
{
    int64_t low = 0, high = left->count;
    while (low < high) { /* the first that was called later */
        int64_t middle = low + (high - low) / 2;
        if (left->calls_us[middle] <= from_us)
            low = middle + 1;
        else
            high = middle;
    }
    *since_us = spent < low || low == left->count ? from_us : left->calls_us[low];
    return spent < low || low < left->count;
}

/* Is a way there that is as good as the one in which, after that way, the owner has it? It is most
 * often, and a way is long. */
static bool is_there(const struct ways *ways, int owner, const struct lock_way *way,
                     int64_t began_us, int64_t from_us)
{
    for (int i = 0; i < ways->count; i++) {
        const struct lock_way *row = &ways->rows[i];
        if (row->owner == owner && row->ends_us <= began_us && row->from_us <= from_us &&
            row->spent <= way->spent && row->used_count <= way->used_count &&
            uses_no_more(row, way))
            return true;
    }
    return false;
}

/* That one had it when the client was refused; it may have asked in vain for more before. */
static void refuse_by(struct lock_answers *lock, const struct lock_way *way,
                      const struct rival *other, int64_t call_us)
{
    const struct asker *asker = &lock->room->askers[other->client];
    const int64_t began_us = later(way->from_us, other->acquire_us);
    struct lock_way made;
    if (!is_there(&lock->room->next, other->client, way, began_us, later(began_us, call_us))) {
        made = *way;
        standing_own(lock, &made, other->client, other->acquire_us);
        made.from_us = later(made.from_us, call_us);
        ways_add(&lock->room->next, &made);
    }
    if (!other->is_releasing && !other->is_renewing)
        return;
    made = *way;
    standing_own(lock, &made, other->client,
                 other->is_releasing ? asker->release_us : asker->renew_us);
    made.from_us = later(made.from_us, call_us);
    if (standing_use(&made, other->client, USED_IN_VAIN))
        ways_add(&lock->room->next, &made);
    else
        lock->room->next.is_full = true;
}

/* The lock became free after another way; somebody who may have had it by now had it when the
 * client was refused. Where the owner of the other way may have it yet, only who can have had it
 * before the call makes a difference; and where it need not have had it, only who asked after the
 * last that was refused by it: any other may have been in its place. */
static void refuse_by_another(struct lock_answers *lock, const struct lock_way *way, int client,
                              const struct lock_way *before)
{
    const int64_t call_us = lock->room->askers[client].acquire_us;
    const int64_t until_us = before->owner == FREE ? INT64_MAX : call_us;
    int64_t since_us = before->owner != FREE && before->is_untold ? before->from_us : INT64_MIN;
    const struct standing_room *room = lock->room;
    int count = 0;
    for (int i = 0; i < room->rivals_count; i++) {
        room->picked[count] = i;
        count += (room->rivals[i].acquire_us >= since_us) & (room->rivals[i].acquire_us < until_us);
    }
    for (int i = 0; i < count; i++) {
        const struct rival *other = &room->rivals[room->picked[i]];
        if (!standing_used(way, other->client))
            refuse_by(lock, way, other, call_us);
    }
    if (next_left(&lock->left, way->spent, way->from_us, &since_us)) {
        struct lock_way made = *way;
        standing_own(lock, &made, FORMER, since_us);
        made.former = FREE;
        made.spent++;
        made.from_us = later(made.from_us, call_us);
        ways_add(&lock->room->next, &made);
    }
}

/* It was owned at some time since the call. */
static bool was_owned(const struct lock_answers *lock, const struct lock_way *way, int client)
{
    return way->owner != FREE || way->until_us >= lock->room->askers[client].called_us;
}

bool standing_explains(const struct lock_answers *lock, const struct lock_way *way, int client)
{
    return was_owned(lock, way, client) && lock->room->askers[client].acquire_us <= way->from_us;
}

void standing_refuse(struct lock_answers *lock, const struct lock_way *way, int client)
{
    int64_t call_us = lock->room->askers[client].acquire_us;
    const struct ways *freed = &lock->room->freed;
    if (was_owned(lock, way, client)) {
        struct lock_way made = *way;
        made.from_us = later(way->from_us, call_us);
        ways_add(&lock->room->next, &made);
    }
    if (standing_explains(lock, way, client))
        return;
    list_freed(lock, way, client);
    for (int i = 0; i < freed->count; i++)
        if (way->owner == FREE || freed->rows[i].from_us < call_us)
            refuse_by_another(lock, &freed->rows[i], client, way);
}
